#include "tracker/base/lazy_pages.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>

#include "tracker/base/large_object.h"
#include "tracker/base/sys/raw_calls.h"

namespace allomon::internal {

std::atomic<bool> later_pages_are_locked{false};

namespace {

constexpr size_t kLeastBytes = size_t{256} << 10;
constexpr size_t kMostRanges = 1024;
constexpr unsigned kLockOnFault = 1;  // MLOCK_ONFAULT

constexpr uintptr_t kFree = 0;
constexpr uintptr_t kTaken = 1;

// An end is stored before its begin, which is kFree or kTaken for a range that is none.
struct Range {
  std::atomic<uintptr_t> begin;
  std::atomic<uintptr_t> end;
};
ALLOMON_LARGE_ZEROS Range g_ranges[kMostRanges];
std::atomic<size_t> g_used{0};  // no range from there on

void Note(uintptr_t begin, size_t size_bytes) {
  for (size_t i = 0; i < kMostRanges; ++i) {
    uintptr_t free = kFree;
    // Acquire pairs with the release that freed the place: its end is no longer changed.
    const bool was_used = i < g_used.load(std::memory_order_relaxed);
    if ((was_used && g_ranges[i].begin.load(std::memory_order_relaxed) != kFree) ||
        !g_ranges[i].begin.compare_exchange_strong(free, kTaken, std::memory_order_acquire)) {
      continue;
    }
    g_ranges[i].end.store(begin + size_bytes, std::memory_order_relaxed);
    // Pairs with the acquire in FirstLazyPart(): the end belongs to this begin.
    g_ranges[i].begin.store(begin, std::memory_order_release);
    size_t used = g_used.load(std::memory_order_relaxed);
    // Pairs with the acquire of those that walk the ranges: this one is filled.
    while (used <= i && !g_used.compare_exchange_weak(used, i + 1, std::memory_order_release)) {
    }
    return;
  }
}

// Pages without access are not made resident, and neither are those that a mapping has before it is
// locked.
void* MapUnlocked(void* at, size_t size_bytes, int flags, int fd) {
  void* const pages = sys::Mmap(at, size_bytes, PROT_NONE, flags, fd, 0);
  if (!sys::IsAddress(pages)) return pages;
  sys::SystemCall(SYS_munlock, pages, size_bytes);
  // Refused under limits of mappings and of data.
  if (const int error = sys::Mprotect(pages, size_bytes, PROT_READ | PROT_WRITE); error != 0) {
    sys::Munmap(pages, size_bytes);
    return reinterpret_cast<void*>(intptr_t{error});
  }
  sys::SystemCall(SYS_mlock2, pages, size_bytes, kLockOnFault);
  // munlockall() by another thread may have come in between: it clears this before it unlocks.
  if (!later_pages_are_locked.load(std::memory_order_relaxed)) {
    sys::SystemCall(SYS_munlock, pages, size_bytes);
  }
  return pages;
}

}  // namespace

void* MapPagesOnFault(void* at, size_t size_bytes, int flags, int fd) {
  if (size_bytes >= kLeastBytes && later_pages_are_locked.load(std::memory_order_relaxed)) {
    return MapUnlocked(at, size_bytes, flags, fd);
  }
  return sys::Mmap(at, size_bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
}

void* MapLazyPages(void* at, size_t size_bytes, int flags, int fd) {
  void* const pages = MapPagesOnFault(at, size_bytes, flags, fd);
  if (size_bytes >= kLeastBytes && sys::IsAddress(pages)) {
    Note(reinterpret_cast<uintptr_t>(pages), size_bytes);
  }
  return pages;
}

void ForgetLazyPages(const void* pages, size_t size_bytes) {
  const auto begin = reinterpret_cast<uintptr_t>(pages);
  // Pairs with the release in Note().
  const size_t used = g_used.load(std::memory_order_acquire);
  for (size_t i = 0; i < used; ++i) {
    // Pairs with the release in Note(): the end is that of this begin.
    const uintptr_t first = g_ranges[i].begin.load(std::memory_order_acquire);
    if (first <= kTaken) continue;
    const uintptr_t end = g_ranges[i].end.load(std::memory_order_relaxed);
    if (begin >= end || begin + size_bytes <= first) continue;
    // What is left of it lies before or after; both do not happen.
    const uintptr_t kept_end = begin > first ? begin : end;
    const uintptr_t kept_begin = begin > first ? first : begin + size_bytes;
    g_ranges[i].end.store(kept_end, std::memory_order_relaxed);
    // Release: a place that gets free may be taken by a thread that acquires it in Note().
    g_ranges[i].begin.store(kept_begin < kept_end ? kept_begin : kFree, std::memory_order_release);
  }
}

AddressPart FirstLazyPart(uintptr_t begin, uintptr_t end) {
  AddressPart part = {end, end};
  // Pairs with the release in Note().
  const size_t used = g_used.load(std::memory_order_acquire);
  for (size_t i = 0; i < used; ++i) {
    const uintptr_t first = g_ranges[i].begin.load(std::memory_order_acquire);
    if (first <= kTaken || first >= part.begin) continue;
    const uintptr_t last = g_ranges[i].end.load(std::memory_order_relaxed);
    if (last <= begin) continue;
    part = {std::max(first, begin), std::min(last, end)};
  }
  return part;
}

}  // namespace allomon::internal
