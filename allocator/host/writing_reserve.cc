#include "allocator/host/writing_reserve.h"

#include <setjmp.h>
#include <sys/mman.h>

#include <algorithm>
#include <new>

#include "allocator/host/high_reservation.h"
#include "allocator/host/throw_bad_alloc.h"
#include "tracker/base/check.h"
#include "tracker/base/tls.h"

namespace allomon::internal {

std::atomic<uintptr_t> writing_reserve_begin{0};
std::atomic<uintptr_t> writing_reserve_end{0};

namespace {

constexpr size_t kMostReserveBytes = size_t{16} << 20;
constexpr size_t kLeastReserveBytes = size_t{64} << 10;
// Enough for the profile of a program with few samples.
constexpr size_t kFirstBytes = size_t{32} << 10;
// AllowedReservationBytes() is an eighth of the limit.
constexpr size_t kPartOfAllowed = 4;

size_t g_used_bytes = 0;  // bytes the writer has taken
std::atomic<size_t> g_blocks{0};

// The exit of this thread's writer when memory runs out.  nullptr: the thread does not write.
__thread jmp_buf* t_way_out __attribute__((ALLOMON_TLS_MODEL)) = nullptr;

// Gives the pages of a writer back when it has freed all its blocks.
void Reset() {
  if (g_used_bytes == 0 || g_blocks.load(std::memory_order_acquire) != 0) return;
  void* const begin = reinterpret_cast<void*>(writing_reserve_begin.load());
  madvise(begin, g_used_bytes, MADV_DONTNEED);
  g_used_bytes = 0;
}

void* TakeFromReserve(size_t size_bytes, size_t alignment_bytes) {
  const size_t alignment = std::max(alignment_bytes, size_t{16});
  const uintptr_t begin = writing_reserve_begin.load(std::memory_order_relaxed);
  const size_t reserve_bytes = writing_reserve_end.load(std::memory_order_relaxed) - begin;
  const size_t start = (g_used_bytes + alignment - 1) & ~(alignment - 1);
  // A block of no bytes has an address of its own inside the reserve, too.
  const size_t taken_bytes = std::max(size_bytes, size_t{1});
  if (start > reserve_bytes || taken_bytes > reserve_bytes - start) return nullptr;
  g_used_bytes = start + taken_bytes;
  ALLOMON_DCHECK("inv.reserve.inside",
                 IsInReserve(reinterpret_cast<const void*>(begin + g_used_bytes - 1)));
  g_blocks.fetch_add(1, std::memory_order_relaxed);
  return reinterpret_cast<void*>(begin + start);
}

// Also catches std::bad_alloc, which operator new throws in a program whose operator new is not
// ours.
bool RunUntilLeft(jmp_buf* way_out, void (*work)(void*), void* argument) {
  t_way_out = way_out;
  try {
    work(argument);
    return true;
  } catch (ALLOMON_BAD_ALLOC) {
    return false;
  }
}

}  // namespace

void MapWritingReserve() {
  if (writing_reserve_begin.load() != 0) return;
  const size_t bytes =
      std::min(kMostReserveBytes, AllowedReservationBytes() / kPartOfAllowed) & ~size_t{0xffff};
  if (bytes < kLeastReserveBytes) return;
  const uintptr_t begin = ReserveHigh(RandomBaseBesideRange(), bytes);
  if (begin == 0) return;
  if (mprotect(reinterpret_cast<void*>(begin), bytes, PROT_READ | PROT_WRITE) != 0) {
    return ReleaseHigh(begin, bytes);
  }
  writing_reserve_begin.store(begin);
  writing_reserve_end.store(begin + bytes);
}

bool RunWriter(void (*work)(void*), void* argument) {
  ALLOMON_DCHECK("inv.reserve.writer", !IsWriter());
  // The scope also ends when the thread ends itself in `work`: its last destructors are no writers.
  const struct Scope {
    ~Scope() {
      t_way_out = nullptr;
      Reset();
    }
  } scope;
  jmp_buf way_out;
  return _setjmp(way_out) == 0 && RunUntilLeft(&way_out, work, argument);
}

bool IsWriter() { return t_way_out != nullptr; }

void* AllocateFirstForWriter(size_t size_bytes, size_t alignment_bytes) {
  if (t_way_out == nullptr || size_bytes > kFirstBytes - std::min(kFirstBytes, g_used_bytes)) {
    return nullptr;
  }
  return TakeFromReserve(size_bytes, alignment_bytes);
}

void* AllocateForWriter(size_t size_bytes, size_t alignment_bytes) {
  if (t_way_out == nullptr) return nullptr;
  void* const block = TakeFromReserve(size_bytes, alignment_bytes);
  if (block == nullptr) _longjmp(*t_way_out, 1);
  return block;
}

// Release pairs with the acquire in Reset().
void ReleaseToReserve() {
  [[maybe_unused]] const size_t blocks = g_blocks.fetch_sub(1, std::memory_order_release);
  ALLOMON_DCHECK_NE("inv.reserve.blocks", blocks, 0u);
}

}  // namespace allomon::internal
