// Memory for writing the profile of a program that has none left.
//
// The writer is ordinary C++, which allocates by operator new.  If the backend has no block for it,
// a block comes from a reserve that was mapped when the program started; if the reserve is used up,
// too, the writing is given up.  Nothing is thrown: a host in C has no runtime for it, and an
// exception of a destructor at exit ends the program with another exit status.
//
// One thread at a time writes.  IsInReserve() and Release: any thread.
#ifndef ALLOMON_ALLOCATOR_HOST_WRITING_RESERVE_H_
#define ALLOMON_ALLOCATOR_HOST_WRITING_RESERVE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace allomon::internal {

// Maps the reserve: 16 MiB, or a 32nd of `ulimit -v`.  Without a reserve the writing is given up
// sooner. Called once, before the first RunWriter().  Cost: three system calls.
void MapWritingReserve();

// Calls work(argument).  Returns false if memory ran out during the call: the rest of `work` has
// not run, nor have the destructors of its frames, so `work` must not allocate while it holds a
// lock.  Not nested.
bool RunWriter(void (*work)(void*), void* argument);

// Called by the library's own operator new before it asks the backend.  The first blocks of a
// writer are adjacent in the reserve, while the backend would take two fresh pages for each size
// class (a third of the page faults of a program that does nothing).  Returns nullptr for threads
// that do not write, and for later blocks.
void* AllocateFirstForWriter(size_t size_bytes, size_t alignment_bytes);
// Called by operator new when the backend has given no block.  Returns nullptr if the thread is not
// in RunWriter().  In RunWriter() it returns a block of the reserve, or does not return.
void* AllocateForWriter(size_t size_bytes, size_t alignment_bytes);
// Whether the thread is in RunWriter(), where no handler of the host's may be called.  For the
// nothrow forms.
bool IsWriter();

extern std::atomic<uintptr_t> writing_reserve_begin;  // 0: no reserve
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
