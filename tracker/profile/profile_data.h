// A unit of profiling data: bytes by source function, estimated from samples.
//
// As MLton.Profile.Data: a program may keep several units, switch between them while it
// runs, and write each to a file of its own.
//
// Add() may be called inside malloc, on any thread; it allocates from malloc, which is
// allowed in callbacks.  Everything else: any thread, not inside malloc.
#ifndef ALLOMON_TRACKER_PROFILE_PROFILE_DATA_H_
#define ALLOMON_TRACKER_PROFILE_PROFILE_DATA_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "tracker/allocation.h"
#include "tracker/estimate.h"
#include "tracker/profile/source_function.h"

namespace allomon {

// Cells by a dense id, made as they are needed.  Lock free.
class CellTable {
 public:
  CellTable() = default;
  ~CellTable();
  CellTable(const CellTable&) = delete;
  CellTable& operator=(const CellTable&) = delete;

  // Loses the estimate if memory runs out or the id is beyond four million.
  void Add(uint32_t id, const Estimate& bytes);

  // Forgets all that was added.  No other thread may be adding.
  void Clear();

  // Calls visit(id, bytes) for every id that was added to, in order.
  void ForEach(const std::function<void(uint32_t, const Estimate&)>& visit) const;

 private:
  struct Cell {
    std::atomic<double> value;
    std::atomic<double> variance;
  };
  static constexpr size_t kSegmentCells = 1024;
  static constexpr size_t kSegments = 4096;

  Cell* Find(uint32_t id);

  std::atomic<Cell*> segments_[kSegments] = {};
};

class ProfileData {
 public:
  // Charges the function in whose scope the thread is, else the call stack.
  void Add(const Allocation& allocation, const SourceFunction* function);

  // No other thread may be adding: for a forked child.
  void Clear();

  const CellTable& by_function() const { return by_function_; }  // SourceFunction::id
  const CellTable& by_stack() const { return by_stack_; }        // Callstack::id

 private:
  CellTable by_function_;
  CellTable by_stack_;
};

// Of this thread; the default unit if none was chosen.
ProfileData& CurrentProfileData();
ProfileData& DefaultProfileData();

// Makes `data` this thread's unit until the end of the scope.  Not owned; must outlive
// the scope and the allocations of the thread within it.
class ScopedProfileData {
 public:
  explicit ScopedProfileData(ProfileData* data);
  ~ScopedProfileData();
  ScopedProfileData(const ScopedProfileData&) = delete;
  ScopedProfileData& operator=(const ScopedProfileData&) = delete;

 private:
  ProfileData* const outer_;
};

}  // namespace allomon

#endif  // ALLOMON_TRACKER_PROFILE_PROFILE_DATA_H_
