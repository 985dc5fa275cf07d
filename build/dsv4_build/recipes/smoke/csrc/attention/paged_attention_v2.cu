// Partitioned attention over a paged key/value cache, named and laid out as vLLM's family is:
// one kernel computes a softmax over each partition of the keys, a second one combines them.

#include "../python_module.hpp"

#include "../device_buffer.cuh"

#include <cfloat>
#include <cmath>
#include <vector>

namespace vllm {

constexpr int kWarp = 32;

template <int NUM_THREADS>
__device__ float block_sum(float value) {
  __shared__ float partial[NUM_THREADS / kWarp];
  for (int offset = kWarp / 2; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, offset);
  }
  __syncthreads();
  if (threadIdx.x % kWarp == 0) partial[threadIdx.x / kWarp] = value;
  __syncthreads();
  float total = 0.f;
  for (int warp = 0; warp < NUM_THREADS / kWarp; ++warp) total += partial[warp];
  return total;
}

template <int NUM_THREADS>
__device__ float block_max(float value) {
  __shared__ float partial[NUM_THREADS / kWarp];
  for (int offset = kWarp / 2; offset > 0; offset /= 2) {
    value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, offset));
  }
  __syncthreads();
  if (threadIdx.x % kWarp == 0) partial[threadIdx.x / kWarp] = value;
  __syncthreads();
  float largest = partial[0];
  for (int warp = 1; warp < NUM_THREADS / kWarp; ++warp) largest = fmaxf(largest, partial[warp]);
  return largest;
}

// Grid: heads, sequences, partitions. The caches are [blocks, BLOCK_SIZE, kv heads, HEAD_SIZE].
template <typename scalar_t, int HEAD_SIZE, int BLOCK_SIZE, int NUM_THREADS, int PARTITION_SIZE>
__global__ void paged_attention_v2_kernel(
    float* __restrict__ exp_sums, float* __restrict__ max_logits, float* __restrict__ tmp_out,
    const scalar_t* __restrict__ query, const scalar_t* __restrict__ key_cache,
    const scalar_t* __restrict__ value_cache, const int* __restrict__ block_tables,
    const int* __restrict__ seq_lens, int num_kv_heads, int max_blocks_per_seq, float scale) {
  const int head = blockIdx.x, num_heads = gridDim.x;
  const int seq = blockIdx.y;
  const int partition = blockIdx.z, num_partitions = gridDim.z;
  const int first = partition * PARTITION_SIZE;
  const int tokens = min(seq_lens[seq] - first, PARTITION_SIZE);
  if (tokens <= 0) return;

  __shared__ float logits[PARTITION_SIZE];
  const int kv_head = head / (num_heads / num_kv_heads);
  const int* table = block_tables + seq * max_blocks_per_seq;
  const scalar_t* q = query + (static_cast<long long>(seq) * num_heads + head) * HEAD_SIZE;
  auto row = [&](int token) {
    const long long block = table[token / BLOCK_SIZE];
    return ((block * BLOCK_SIZE + token % BLOCK_SIZE) * num_kv_heads + kv_head) * HEAD_SIZE;
  };

  float largest = -FLT_MAX;
  for (int i = threadIdx.x; i < tokens; i += NUM_THREADS) {
    const scalar_t* k = key_cache + row(first + i);
    float dot = 0.f;
    for (int d = 0; d < HEAD_SIZE; ++d) dot += static_cast<float>(q[d]) * static_cast<float>(k[d]);
    logits[i] = dot * scale;
    largest = fmaxf(largest, logits[i]);
  }
  largest = block_max<NUM_THREADS>(largest);
  float sum = 0.f;
  for (int i = threadIdx.x; i < tokens; i += NUM_THREADS) {
    logits[i] = __expf(logits[i] - largest);
    sum += logits[i];
  }
  sum = block_sum<NUM_THREADS>(sum);

  const long long slot =
      (static_cast<long long>(seq) * num_heads + head) * num_partitions + partition;
  if (threadIdx.x == 0) {
    max_logits[slot] = largest;
    exp_sums[slot] = sum;
  }
  for (int d = threadIdx.x; d < HEAD_SIZE; d += NUM_THREADS) {
    float value = 0.f;
    for (int i = 0; i < tokens; ++i) {
      value += logits[i] * static_cast<float>(value_cache[row(first + i) + d]);
    }
    tmp_out[slot * HEAD_SIZE + d] = value / sum;
  }
}

// Grid: heads, sequences. Weighs the partitions by their share of the whole softmax.
template <typename scalar_t, int HEAD_SIZE, int NUM_THREADS, int PARTITION_SIZE>
__global__ void paged_attention_v2_reduce_kernel(
    scalar_t* __restrict__ out, const float* __restrict__ exp_sums,
    const float* __restrict__ max_logits, const float* __restrict__ tmp_out,
    const int* __restrict__ seq_lens, int max_num_partitions) {
  const int head = blockIdx.x, num_heads = gridDim.x;
  const int seq = blockIdx.y;
  const int partitions = (seq_lens[seq] + PARTITION_SIZE - 1) / PARTITION_SIZE;
  const long long base = (static_cast<long long>(seq) * num_heads + head);
  const float* maxima = max_logits + base * max_num_partitions;
  const float* sums = exp_sums + base * max_num_partitions;
  const float* parts = tmp_out + base * max_num_partitions * HEAD_SIZE;

  float largest = -FLT_MAX;
  for (int p = 0; p < partitions; ++p) largest = fmaxf(largest, maxima[p]);
  float total = 0.f;
  for (int p = 0; p < partitions; ++p) total += sums[p] * __expf(maxima[p] - largest);
  for (int d = threadIdx.x; d < HEAD_SIZE; d += NUM_THREADS) {
    float value = 0.f;
    for (int p = 0; p < partitions; ++p) {
      value += parts[p * HEAD_SIZE + d] * sums[p] * __expf(maxima[p] - largest);
    }
    out[base * HEAD_SIZE + d] = static_cast<scalar_t>(total > 0.f ? value / total : 0.f);
  }
}

}  // namespace vllm

namespace {

constexpr int kHeadSize = 64;
constexpr int kBlockSize = 16;
constexpr int kThreads = 128;
constexpr int kPartition = 512;

struct Shape {
  int num_seqs, num_heads, num_kv_heads, num_blocks, max_blocks_per_seq;
};

void validate(const Shape& shape, const int* block_tables, const int* seq_lens) {
  if (shape.num_seqs < 1 || shape.num_kv_heads < 1 || shape.num_blocks < 1 ||
      shape.max_blocks_per_seq < 1 || shape.num_heads % shape.num_kv_heads != 0) {
    throw std::invalid_argument("sizes must be positive, heads a multiple of kv heads");
  }
  for (int seq = 0; seq < shape.num_seqs; ++seq) {
    if (seq_lens[seq] < 0 || seq_lens[seq] > shape.max_blocks_per_seq * kBlockSize) {
      throw std::invalid_argument("a sequence is longer than its block table");
    }
    for (int i = 0; i * kBlockSize < seq_lens[seq]; ++i) {
      const int block = block_tables[seq * shape.max_blocks_per_seq + i];
      if (block < 0 || block >= shape.num_blocks) {
        throw std::invalid_argument("a block table names a block that does not exist");
      }
    }
  }
}

std::vector<float> attend(const Shape& shape, const float* query, const float* key_cache,
                          const float* value_cache, const int* block_tables, const int* seq_lens,
                          float scale) {
  const int partitions =
      (shape.max_blocks_per_seq * kBlockSize + kPartition - 1) / kPartition;
  const std::size_t rows = static_cast<std::size_t>(shape.num_seqs) * shape.num_heads;
  const std::size_t cache = static_cast<std::size_t>(shape.num_blocks) * kBlockSize *
                            shape.num_kv_heads * kHeadSize * sizeof(float);
  std::vector<float> out(rows * kHeadSize);
  const smoke::DeviceBuffer q(query, out.size() * sizeof(float));
  const smoke::DeviceBuffer k(key_cache, cache), v(value_cache, cache);
  const smoke::DeviceBuffer tables(
      block_tables, static_cast<std::size_t>(shape.num_seqs) * shape.max_blocks_per_seq * sizeof(int));
  const smoke::DeviceBuffer lens(seq_lens, shape.num_seqs * sizeof(int));
  const smoke::DeviceBuffer sums(rows * partitions * sizeof(float));
  const smoke::DeviceBuffer maxima(rows * partitions * sizeof(float));
  const smoke::DeviceBuffer parts(rows * partitions * kHeadSize * sizeof(float));
  const smoke::DeviceBuffer result(out.size() * sizeof(float));

  const dim3 grid(shape.num_heads, shape.num_seqs, partitions);
  vllm::paged_attention_v2_kernel<float, kHeadSize, kBlockSize, kThreads, kPartition>
      <<<grid, kThreads>>>(sums.as<float>(), maxima.as<float>(), parts.as<float>(), q.as<float>(),
                           k.as<float>(), v.as<float>(), tables.as<int>(), lens.as<int>(),
                           shape.num_kv_heads, shape.max_blocks_per_seq, scale);
  smoke::check(cudaGetLastError(), "paged_attention_v2_kernel");
  vllm::paged_attention_v2_reduce_kernel<float, kHeadSize, kThreads, kPartition>
      <<<dim3(shape.num_heads, shape.num_seqs), kThreads>>>(
          result.as<float>(), sums.as<float>(), maxima.as<float>(), parts.as<float>(),
          lens.as<int>(), partitions);
  smoke::check(cudaGetLastError(), "paged_attention_v2_reduce_kernel");
  result.read(out.data());
  return out;
}

PyObject* paged_attention_v2(PyObject*, PyObject* args) {
  smoke::Bytes query, key_cache, value_cache, block_tables, seq_lens;
  Shape shape{};
  float scale = 0.f;
  if (!PyArg_ParseTuple(args, "y#y#y#y#y#iiiiif", &query.data, &query.size, &key_cache.data,
                        &key_cache.size, &value_cache.data, &value_cache.size, &block_tables.data,
                        &block_tables.size, &seq_lens.data, &seq_lens.size, &shape.num_seqs,
                        &shape.num_heads, &shape.num_kv_heads, &shape.num_blocks,
                        &shape.max_blocks_per_seq, &scale)) {
    return nullptr;
  }
  return smoke::translate([&] {
    const long long seqs = shape.num_seqs;
    const long long cache = 1LL * shape.num_blocks * kBlockSize * shape.num_kv_heads * kHeadSize;
    const int* tables = block_tables.as<int>("block_tables", seqs * shape.max_blocks_per_seq);
    const int* lens = seq_lens.as<int>("seq_lens", seqs);
    validate(shape, tables, lens);
    const std::vector<float> out =
        attend(shape, query.as<float>("query", seqs * shape.num_heads * kHeadSize),
               key_cache.as<float>("key_cache", cache),
               value_cache.as<float>("value_cache", cache), tables, lens, scale);
    return PyBytes_FromStringAndSize(reinterpret_cast<const char*>(out.data()),
                                     static_cast<Py_ssize_t>(out.size() * sizeof(float)));
  });
}

PyMethodDef methods[] = {
    {"paged_attention_v2", paged_attention_v2, METH_VARARGS,
     "paged_attention_v2(query, key_cache, value_cache, block_tables, seq_lens, num_seqs,\n"
     "                   num_heads, num_kv_heads, num_blocks, max_blocks_per_seq, scale)\n\n"
     "One decoding step. All arrays are C-ordered bytes: float32 query [seqs, heads, 64], float32\n"
     "caches [blocks, 16, kv heads, 64], int32 block_tables [seqs, max_blocks_per_seq] and\n"
     "seq_lens [seqs]. Returns float32 [seqs, heads, 64] as bytes."},
    {nullptr, nullptr, 0, nullptr}};

PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_C", nullptr, -1, methods,
                          nullptr,               nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__C() { return PyModule_Create(&definition); }
