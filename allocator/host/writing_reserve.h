// Memory for writing the profile of a program that has none left.
//
// The writer is ordinary C++, which allocates by operator new.  Where the backend has no block for
// it, a block comes from a reserve that was mapped when the program started; where the reserve is
// used up, too, the writing is given up.  Nothing is thrown: a host in C has no runtime that could,
// and what a destructor throws at exit ends the program with another status than its own.
//
// One thread at a time writes.  IsInReserve() and Release: any thread.
#ifndef ALLOMON_ALLOCATOR_HOST_WRITING_RESERVE_H_
#define ALLOMON_ALLOCATOR_HOST_WRITING_RESERVE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace allomon::internal {

// Maps the reserve: 16 MiB, or a 32nd of `ulimit -v`.  Without one the writing is given up sooner.
// Once, before the first RunWriter().  Three system calls.
void MapWritingReserve();

// Calls work(argument).  Returns false if no memory was left in the middle of it: the rest of
// `work` has not run, nor have destructors of its frames, so it takes no lock under which it
// allocates.  Not nested.
bool RunWriter(void (*work)(void*), void* argument);

// For the library's own operator new, before the backend is asked: the first blocks of a writer are
// side by side in the reserve, while the backend would take two fresh pages for each class of sizes
// (a third of the page faults of a program that does nothing).  nullptr for others, and later.
void* AllocateFirstForWriter(size_t size_bytes, size_t alignment_bytes);
// For operator new, when the backend has given no block.  nullptr if the thread is not in
// RunWriter().  In it either a block of the reserve, or it does not return.
void* AllocateForWriter(size_t size_bytes, size_t alignment_bytes);
// The same for the nothrow forms: whether the thread is in RunWriter(), where no handler of the
// host's may be called.
bool IsWriter();

extern std::atomic<uintptr_t> writing_reserve_begin;  // 0: there is none
extern std::atomic<uintptr_t> writing_reserve_end;

// Whether free() was given a block of the reserve.  It has the high bit (high_reservation.h) set.
inline bool IsInReserve(const void* block) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(block);
  return writing_reserve_begin.load(std::memory_order_relaxed) <= address &&
         address < writing_reserve_end.load(std::memory_order_relaxed);
}
void ReleaseToReserve();

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_HOST_WRITING_RESERVE_H_
