// Attention forward for Hopper, named as FlashAttention-3's kernels are. The products of queries
// and keys go through wgmma, which exists in sm_90a and nowhere else: plain sm_90 does not
// assemble this file.

#include "../python_module.hpp"

#include "../device_buffer.cuh"

#include <cuda_fp16.h>

#include <cfloat>
#include <cstdint>
#include <vector>

namespace flash {

constexpr int kWarpGroup = 128;

// Shared-memory matrix descriptor of wgmma without swizzle: 8x8 core matrices of 128 bytes each,
// `leading` bytes apart along K and `stride` bytes apart along M or N.
__device__ inline std::uint64_t descriptor(const void* tile, std::uint32_t leading,
                                           std::uint32_t stride) {
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(tile));
  return static_cast<std::uint64_t>((address & 0x3FFFF) >> 4) |
         static_cast<std::uint64_t>(leading >> 4) << 16 |
         static_cast<std::uint64_t>(stride >> 4) << 32;
}

// d[64x64] += a[64x16] * b[64x16]^T, by one warpgroup.
__device__ inline void wgmma_m64n64k16(float (&d)[32], std::uint64_t a, std::uint64_t b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
      "%32, %33, 1, 1, 1, 0, 0;\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
        "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
        "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
        "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
        "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
      : "l"(a), "l"(b));
}

template <int kBlockM_, int kBlockN_, int kHeadDim_, typename Element_>
struct CollectiveMainloopFwdSm90 {
  static constexpr int kBlockM = kBlockM_;
  static constexpr int kBlockN = kBlockN_;
  static constexpr int kHeadDim = kHeadDim_;
  using Element = Element_;
};

template <typename CollectiveMainloop>
class FlashAttnFwdSm90 {
 public:
  using Element = typename CollectiveMainloop::Element;
  static constexpr int kBlockM = CollectiveMainloop::kBlockM;
  static constexpr int kBlockN = CollectiveMainloop::kBlockN;
  static constexpr int kHeadDim = CollectiveMainloop::kHeadDim;
  static constexpr int MaxThreadsPerBlock = kWarpGroup;
  static_assert(kBlockM == 64 && kBlockN == 64 && kHeadDim % 16 == 0, "shape of one wgmma");

  // All arrays are [batch * heads, sequence, kHeadDim].
  struct Params {
    const Element* q;
    const Element* k;
    const Element* v;
    float* out;
    int seqlen_q, seqlen_k;
    float scale;
    bool causal;
  };

  struct SharedStorage {
    alignas(128) Element q[kBlockM * kHeadDim];
    alignas(128) Element k[kBlockN * kHeadDim];
    Element v[kBlockN * kHeadDim];
    float scores[kBlockM][kBlockN + 1];
  };

  __device__ void operator()(const Params& params, char* memory) const {
    auto& shared = *reinterpret_cast<SharedStorage*>(memory);
    const int first_row = blockIdx.x * kBlockM;
    const long long q_base = static_cast<long long>(blockIdx.y) * params.seqlen_q * kHeadDim;
    const long long k_base = static_cast<long long>(blockIdx.y) * params.seqlen_k * kHeadDim;
    load_core_matrices(shared.q, params.q + q_base, first_row, params.seqlen_q);

    // Two threads share a row of the output; each keeps half of the head dimension.
    const int row = threadIdx.x / 2, half = threadIdx.x % 2;
    float accumulated[kHeadDim / 2] = {};
    float largest = -FLT_MAX, sum = 0.f;
    for (int first_key = 0; first_key < params.seqlen_k; first_key += kBlockN) {
      __syncthreads();
      load_core_matrices(shared.k, params.k + k_base, first_key, params.seqlen_k);
      load_rows(shared.v, params.v + k_base, first_key, params.seqlen_k);
      // Ordinary writes to shared memory have to be made visible to wgmma's own path to it.
      asm volatile("fence.proxy.async.shared::cta;\n" ::: "memory");
      __syncthreads();
      multiply(shared);
      __syncthreads();
      accumulate(shared, params, first_row + row, first_key, row, half, accumulated, largest, sum);
    }
    if (first_row + row >= params.seqlen_q) return;
    float* out = params.out + q_base + static_cast<long long>(first_row + row) * kHeadDim;
    for (int d = 0; d < kHeadDim / 2; ++d) {
      out[half * (kHeadDim / 2) + d] = sum > 0.f ? accumulated[d] / sum : 0.f;
    }
  }

 private:
  // 64 rows as 8x8 core matrices: eight along the rows for each of kHeadDim / 8 along K.
  static __device__ void load_core_matrices(Element* tile, const Element* rows, int first,
                                            int length) {
    for (int i = threadIdx.x; i < 64 * kHeadDim; i += kWarpGroup) {
      const int row = i / kHeadDim, d = i % kHeadDim;
      const int slot = ((d / 8) * 8 + row / 8) * 64 + (row % 8) * 8 + d % 8;
      const bool inside = first + row < length;
      tile[slot] = inside ? rows[static_cast<long long>(first + row) * kHeadDim + d] : Element(0.f);
    }
  }

  static __device__ void load_rows(Element* tile, const Element* rows, int first, int length) {
    for (int i = threadIdx.x; i < 64 * kHeadDim; i += kWarpGroup) {
      const bool inside = first + i / kHeadDim < length;
      tile[i] = inside ? rows[static_cast<long long>(first) * kHeadDim + i] : Element(0.f);
    }
  }

  static __device__ void multiply(SharedStorage& shared) {
    constexpr int kAlongK = 8 * 128, kAlongRows = 128;
    float d[32] = {};
    asm volatile("wgmma.fence.sync.aligned;\n" ::: "memory");
    for (int k = 0; k < kHeadDim / 16; ++k) {
      const int offset = k * 2 * 8 * 64;
      wgmma_m64n64k16(d, descriptor(shared.q + offset, kAlongK, kAlongRows),
                      descriptor(shared.k + offset, kAlongK, kAlongRows));
    }
    asm volatile("wgmma.commit_group.sync.aligned;\n" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;\n" ::: "memory");
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int i = 0; i < 32; ++i) {
      const int row = warp * 16 + lane / 4 + (i % 4 / 2) * 8;
      const int column = i / 4 * 8 + lane % 4 * 2 + i % 2;
      shared.scores[row][column] = d[i];
    }
  }

  static __device__ void accumulate(const SharedStorage& shared, const Params& params,
                                    int query, int first_key, int row, int half,
                                    float (&accumulated)[kHeadDim / 2], float& largest,
                                    float& sum) {
    // Bottom-right aligned causal mask: the last query sees every key.
    const int visible = params.causal ? query + params.seqlen_k - params.seqlen_q + 1
                                      : params.seqlen_k;
    const int keys = min(min(visible, params.seqlen_k) - first_key, kBlockN);
    float tile_max = largest;
    for (int j = 0; j < keys; ++j) tile_max = fmaxf(tile_max, shared.scores[row][j] * params.scale);
    const float rescale = __expf(largest - tile_max);
    sum *= rescale;
    for (float& value : accumulated) value *= rescale;
    for (int j = 0; j < keys; ++j) {
      const float weight = __expf(shared.scores[row][j] * params.scale - tile_max);
      sum += weight;
      for (int d = 0; d < kHeadDim / 2; ++d) {
        accumulated[d] +=
            weight * static_cast<float>(shared.v[j * kHeadDim + half * (kHeadDim / 2) + d]);
      }
    }
    largest = tile_max;
  }
};

}  // namespace flash

namespace cutlass {

template <typename Operator>
__global__ __launch_bounds__(Operator::MaxThreadsPerBlock) void device_kernel(
    const __grid_constant__ typename Operator::Params params) {
  extern __shared__ __align__(128) char memory[];
  Operator operation;
  operation(params, memory);
}

}  // namespace cutlass

namespace {

constexpr int kHeadDim = 64;
using Mainloop = flash::CollectiveMainloopFwdSm90<64, 64, kHeadDim, __half>;
using Kernel = flash::FlashAttnFwdSm90<Mainloop>;

PyObject* fwd(PyObject*, PyObject* args) {
  smoke::Bytes q, k, v;
  int batch_heads = 0, seqlen_q = 0, seqlen_k = 0, causal = 0;
  float scale = 0.f;
  if (!PyArg_ParseTuple(args, "y#y#y#iiifp", &q.data, &q.size, &k.data, &k.size, &v.data, &v.size,
                        &batch_heads, &seqlen_q, &seqlen_k, &scale, &causal)) {
    return nullptr;
  }
  return smoke::translate([&] {
    if (batch_heads < 1 || seqlen_q < 1 || seqlen_k < 1) {
      throw std::invalid_argument("sizes must be positive");
    }
    const long long queries = 1LL * batch_heads * seqlen_q * kHeadDim;
    const long long keys = 1LL * batch_heads * seqlen_k * kHeadDim;
    const smoke::DeviceBuffer dq(q.as<std::uint16_t>("q", queries), q.size);
    const smoke::DeviceBuffer dk(k.as<std::uint16_t>("k", keys), k.size);
    const smoke::DeviceBuffer dv(v.as<std::uint16_t>("v", keys), v.size);
    std::vector<float> out(queries);
    const smoke::DeviceBuffer result(out.size() * sizeof(float));
    const Kernel::Params params{dq.as<__half>(), dk.as<__half>(), dv.as<__half>(),
                                result.as<float>(), seqlen_q, seqlen_k, scale, causal != 0};
    const dim3 grid((seqlen_q + Kernel::kBlockM - 1) / Kernel::kBlockM, batch_heads);
    cutlass::device_kernel<Kernel>
        <<<grid, Kernel::MaxThreadsPerBlock, sizeof(Kernel::SharedStorage)>>>(params);
    smoke::check(cudaGetLastError(), "FlashAttnFwdSm90");
    result.read(out.data());
    return PyBytes_FromStringAndSize(reinterpret_cast<const char*>(out.data()),
                                     static_cast<Py_ssize_t>(out.size() * sizeof(float)));
  });
}

PyMethodDef methods[] = {
    {"fwd", fwd, METH_VARARGS,
     "fwd(q, k, v, batch_heads, seqlen_q, seqlen_k, scale, causal)\n\n"
     "Attention forward. q is float16 [batch * heads, seqlen_q, 64] and k, v float16\n"
     "[batch * heads, seqlen_k, 64], as C-ordered bytes. Returns float32 of q's shape as bytes."},
    {nullptr, nullptr, 0, nullptr}};

PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_fa3_C", nullptr, -1, methods,
                          nullptr,               nullptr,  nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__fa3_C() { return PyModule_Create(&definition); }
