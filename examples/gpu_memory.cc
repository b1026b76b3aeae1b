// Counts the memory of a GPU among the program's own, by two functions in front of CUDA's.
//
// Built as a library, which is preloaded after liballomon.so.  The program and CUDA stay as they
// are: each call of cudaMalloc is passed on, and its bytes are reported with the program's stack.
//
//   LD_PRELOAD=liballomon.so:libgpu_memory.so ALLOMON_RECORD=gpu.rec train
//   allomon report --by=source gpu.rec
//
// It needs a program that links libcudart.so, not the static one.  This repository has no GPU: its
// test runs gpu_program over a stand-in for that library (gpu_stand_in.cc).
#include <allomon/custom_memory.h>
#include <dlfcn.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <unordered_map>

namespace {

using CudaError = int;  // an enumeration of C; 0: success

template <typename Function>
Function Next(const char* name) {
  void* const next = dlsym(RTLD_NEXT, name);
  if (next != nullptr) return reinterpret_cast<Function>(next);
  fprintf(stderr, "gpu_memory: no %s after this library\n", name);
  abort();
}

// The sampled buffers, which are few, by their addresses on the device.
class Buffers {
 public:
  void Add(void* buffer, allomon_custom_memory memory) {
    if (memory == 0) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    sampled_[buffer] = memory;
  }
  allomon_custom_memory Remove(void* buffer) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = sampled_.find(buffer);
    if (found == sampled_.end()) return 0;
    const allomon_custom_memory memory = found->second;
    sampled_.erase(found);
    return memory;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<void*, allomon_custom_memory> sampled_;
};

// Never destroyed: programs free buffers while they exit.
Buffers& TheBuffers() {
  static Buffers& buffers = *new Buffers();
  return buffers;
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) CudaError cudaMalloc(void** buffer, size_t size_bytes) {
  static const auto next = Next<CudaError (*)(void**, size_t)>("cudaMalloc");
  const CudaError error = next(buffer, size_bytes);
  if (error == 0) TheBuffers().Add(*buffer, allomon_custom_memory_report(size_bytes));
  return error;
}

__attribute__((visibility("default"))) CudaError cudaFree(void* buffer) {
  static const auto next = Next<CudaError (*)(void*)>("cudaFree");
  // Before the buffer is freed: another thread may be given its address at once.
  allomon_custom_memory_release(TheBuffers().Remove(buffer));
  return next(buffer);
}

}  // extern "C"
