#include "low_pages.h"

#include <sys/auxv.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "mimalloc_version.h"
#include "tracker/base/lazy_pages.h"
#include "tracker/base/sys/raw_calls.h"

namespace allomon::backend {
namespace {

constexpr uintptr_t kStepBytes = uintptr_t{64} << 20;
constexpr uintptr_t kBegin = uintptr_t{2} << 40;
constexpr uintptr_t kRoomBytes = uintptr_t{28} << 40;

std::atomic<uintptr_t> g_next{0};

// Returns an offset from the kernel's random bytes for this process.
uintptr_t RandomOffset() {
  uint64_t bits = 0;
  const auto* bytes = reinterpret_cast<const void*>(getauxval(AT_RANDOM));
  if (bytes != nullptr) memcpy(&bits, bytes, sizeof(bits));
  return bits % (kRoomBytes / kStepBytes) * kStepBytes;
}

void* NextWish(size_t size_bytes) {
  const uintptr_t first = RandomOffset();
  const uintptr_t steps = (size_bytes + kStepBytes - 1) / kStepBytes;
  const uintptr_t offset = g_next.fetch_add(steps * kStepBytes, std::memory_order_relaxed);
  return reinterpret_cast<void*>(kBegin + (first + offset) % kRoomBytes);
}

}  // namespace
}  // namespace allomon::backend

void* allomon_map_low(void* address, size_t size_bytes, int protection, int flags, int descriptor,
                      off_t offset) {
  if (MI_MALLOC_VERSION >= 300 && address == nullptr) {
    address = allomon::backend::NextWish(size_bytes);
  }
  if (protection != (PROT_READ | PROT_WRITE) || (flags & MAP_FIXED) != 0 || offset != 0) {
    return mmap(address, size_bytes, protection, flags, descriptor, offset);
  }
  void* const pages = allomon::internal::MapPagesOnFault(address, size_bytes, flags, descriptor);
  if (allomon::internal::sys::IsAddress(pages)) return pages;
  errno = -static_cast<int>(reinterpret_cast<intptr_t>(pages));
  return MAP_FAILED;
}
