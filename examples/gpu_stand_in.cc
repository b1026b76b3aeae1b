// A stand-in for CUDA's library, since machines that test this have no GPU: two functions of its
// names, over a table of made-up addresses of the device.  The addresses have no memory.
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace {

constexpr int kSuccess = 0;
constexpr int kInvalidValue = 1;
constexpr int kOutOfMemory = 2;
constexpr uintptr_t kBegin = uintptr_t{0x7} << 40;
constexpr size_t kDeviceBytes = size_t{8} << 30;

std::mutex g_mutex;
std::map<uintptr_t, size_t> g_buffers;
size_t g_used_bytes = 0;

uintptr_t FirstFree(size_t size_bytes) {
  uintptr_t at = kBegin;
  for (const auto& [begin, bytes] : g_buffers) {
    if (begin - at >= size_bytes) break;
    at = begin + bytes;
  }
  return at;
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int cudaMalloc(void** buffer, size_t size_bytes) {
  const std::lock_guard<std::mutex> lock(g_mutex);
  if (size_bytes > kDeviceBytes - g_used_bytes) return kOutOfMemory;
  const uintptr_t at = FirstFree(size_bytes);
  g_buffers[at] = size_bytes;
  g_used_bytes += size_bytes;
  *buffer = reinterpret_cast<void*>(at);
  return kSuccess;
}

__attribute__((visibility("default"))) int cudaFree(void* buffer) {
  if (buffer == nullptr) return kSuccess;
  const std::lock_guard<std::mutex> lock(g_mutex);
  const auto found = g_buffers.find(reinterpret_cast<uintptr_t>(buffer));
  if (found == g_buffers.end()) return kInvalidValue;
  g_used_bytes -= found->second;
  g_buffers.erase(found);
  return kSuccess;
}

}  // extern "C"
