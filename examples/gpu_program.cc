// A program that knows nothing of Allomon, with buffers on a GPU and on the host: gpu_memory.cc
// shows both in one report.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

extern "C" int cudaMalloc(void** buffer, size_t size_bytes);
extern "C" int cudaFree(void* buffer);

namespace {

constexpr size_t kMiB = size_t{1} << 20;

__attribute__((noinline)) void* LoadWeights() {
  void* weights = nullptr;
  return cudaMalloc(&weights, 512 * kMiB) == 0 ? weights : nullptr;
}

// Each step's buffer is freed, but that of the last.
__attribute__((noinline)) void* RunSteps() {
  void* buffer = nullptr;
  for (int step = 0; step < 10; ++step) {
    cudaFree(buffer);
    if (cudaMalloc(&buffer, 64 * kMiB) != 0) return nullptr;
  }
  return buffer;
}

__attribute__((noinline)) std::vector<std::unique_ptr<char[]>> ReadBatch() {
  std::vector<std::unique_ptr<char[]>> images;
  for (int i = 0; i < 256; ++i) images.push_back(std::make_unique<char[]>(32 * 1024));
  return images;
}

}  // namespace

int main() {
  const auto batch = ReadBatch();
  const void* const weights = LoadWeights();
  const void* const last = RunSteps();
  void* none = nullptr;
  if (weights == nullptr || last == nullptr || cudaMalloc(&none, 100 * 1024 * kMiB) == 0) return 1;
  printf("%zu images\n", batch.size());
  fflush(stdout);
  _Exit(0);  // the buffers live to the end
}
