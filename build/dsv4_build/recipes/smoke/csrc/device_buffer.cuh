// Device memory that frees itself, and CUDA errors as C++ exceptions.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <stdexcept>
#include <string>

namespace smoke {

inline void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) {
    throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
  }
}

class DeviceBuffer {
 public:
  explicit DeviceBuffer(std::size_t bytes) : bytes_(bytes) {
    check(cudaMalloc(&data_, bytes ? bytes : 1), "cudaMalloc");
  }
  DeviceBuffer(const void* host, std::size_t bytes) : DeviceBuffer(bytes) {
    check(cudaMemcpy(data_, host, bytes, cudaMemcpyHostToDevice), "copy to the GPU");
  }
  ~DeviceBuffer() { cudaFree(data_); }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  void read(void* host) const {
    check(cudaMemcpy(host, data_, bytes_, cudaMemcpyDeviceToHost), "copy from the GPU");
  }

 private:
  void* data_ = nullptr;
  std::size_t bytes_;
};

}  // namespace smoke
