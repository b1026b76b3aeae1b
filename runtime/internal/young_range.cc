#include "runtime/internal/young_range.h"

#include "runtime/internal/memory.h"
#include "runtime/internal/poison.h"
#include "tracker/base/address_space.h"
#include "tracker/base/mutex.h"

namespace allomon::gc::internal {

YoungRange young_range = {1, 0};

namespace {

constexpr size_t kMostBytes = size_t{4} << 30;
constexpr size_t kLeastBytes = size_t{16} << 20;

using allomon::internal::Mutex;
using allomon::internal::MutexHolder;

Mutex g_mutex;
bool g_taken[kMostBytes / kSliceBytes] ALLOMON_GUARDED_BY(g_mutex);  // by slice

bool ReserveRange() ALLOMON_REQUIRES(g_mutex) {
  if (young_range.size_bytes != 0) return true;
  // If the address space has a limit, the range takes an eighth of it at most, as the range of
  // sampled blocks does; the rest is the host's.
  const size_t allowed_bytes = allomon::internal::AddressSpacePartBytes(8);
  for (size_t bytes = kMostBytes; bytes >= kLeastBytes; bytes /= 2) {
    if (bytes > allowed_bytes && bytes > kLeastBytes) continue;
    void* start = ReserveMemory(bytes);
    if (start == nullptr) continue;
    young_range = {reinterpret_cast<uintptr_t>(start), bytes};
    return true;
  }
  return false;
}

// First fit; returns the number of slices in the range if there is no such run.
size_t FindRun(size_t wanted) ALLOMON_REQUIRES(g_mutex) {
  const size_t slices = young_range.size_bytes / kSliceBytes;
  size_t run = 0;
  for (size_t i = 0; i < slices; ++i) {
    run = g_taken[i] ? 0 : run + 1;
    if (run == wanted) return i + 1 - wanted;
  }
  return slices;
}

void Mark(size_t first, size_t count, bool taken) ALLOMON_REQUIRES(g_mutex) {
  for (size_t i = first; i < first + count; ++i) g_taken[i] = taken;
}

}  // namespace

char* TakeYoungSlice(size_t size_bytes) {
  const MutexHolder hold(g_mutex);
  if (!ReserveRange()) return nullptr;
  const size_t count = size_bytes / kSliceBytes;
  const size_t first = FindRun(count);
  if (first * kSliceBytes == young_range.size_bytes) return nullptr;
  Mark(first, count, true);
  return reinterpret_cast<char*>(young_range.start) + first * kSliceBytes;
}

void ReturnYoungSlice(char* start, size_t size_bytes) {
  ALLOMON_GC_UNPOISON(start, size_bytes);
  ForgetMemory(start, size_bytes);
  const MutexHolder hold(g_mutex);
  Mark((reinterpret_cast<uintptr_t>(start) - young_range.start) / kSliceBytes,
       size_bytes / kSliceBytes, false);
}

void LockYoungRangeAroundFork() ALLOMON_NO_THREAD_SAFETY_ANALYSIS {  // held across functions
  g_mutex.lock();
}
void UnlockYoungRangeAfterFork() ALLOMON_NO_THREAD_SAFETY_ANALYSIS { g_mutex.unlock(); }

}  // namespace allomon::gc::internal
