// Decides when a copy is due, from the state of the recording, the limits, and the earlier copies.
//
// Times are nanoseconds since the recording's start, by CLOCK_MONOTONIC: that clock is never set,
// and does not count the time for which a machine sleeps.  If it goes backwards all the same (a
// virtual machine that was moved), no deadline is further away than its own period.
//
// Plain values, no locks; nothing here allocates or makes a system call.
#ifndef ALLOMON_TRACKER_TRIGGERS_RULES_H_
#define ALLOMON_TRACKER_TRIGGERS_RULES_H_

#include <cstdint>

#include "tracker/triggers/settings.h"

namespace allomon::triggers {

// Reasons by urgency.
enum class Reason { kNone, kLimit, kPeak, kAge, kEvery };

// Part of a file's name.
const char* NameOf(Reason reason);

// A smaller peak is not worth a file, since it comes from a few samples.
inline constexpr uint64_t kLeastPeakBytes = uint64_t{1} << 20;
// A new peak counts if it exceeds the saved one by this many standard errors of their difference.
//
// The live bytes of a program that churns at one size fluctuate by noise alone, and the largest of
// many moments is compared, not a single one.  Of a million independent moments (one for each
// turnover of the live blocks) the largest is 4.8 deviations above the mean, and in one run of a
// hundred 5.6.  PeakState compares fewer moments: its estimate changes only when one half of the
// samples is at a new maximum, which happens ln n times in n moments, and then to a draw of the
// other half, which is independent.  That is some 200 draws in any program's life.  The probability
// that one of them is 5 errors above the first is 6e-5 for a program.  It is 2e-3 if the halves
// have their peaks at different moments, which makes the variance a third larger than assumed.  In
// a simulation of 70,000 runs of 100 to 1,000 turnovers this happened once, with six samples to a
// half.  A threshold of 10 % alone made 0.3 to 2 more copies in each run.
inline constexpr double kPeakErrors = 5;
// Saving takes at most one part in this many of the time.  A copy at the limit waits only for other
// copies at the limit.
inline constexpr uint64_t kTimeShare = 20;
// The minimum time between two copies at the limit: memory that swings around the limit is not
// worth more copies.
inline constexpr uint64_t kLimitPauseNanos = 10'000'000'000;
inline constexpr uint64_t kFirstPauseNanos = 1'000'000'000;  // after a copy that failed
inline constexpr uint64_t kMostPauseNanos = 64 * kFirstPauseNanos;

struct Facts {
  uint64_t nanos = 0;
  uint64_t peak_bytes = 0;
  uint64_t used_bytes = 0;   // of the limit that is nearest
  uint64_t limit_bytes = 0;  // 0: there is none
  double peak_variance = 0;  // of peak_bytes; 0: they are exact
};

class Rules {
 public:
  // Called when a recording begins.
  void Begin(const Settings& settings);

  // Returns the trigger that is due, apart from ages.
  Reason Due(const Facts& facts);
  // Whether to search the live blocks.  If so, Reason::kAge depends on the birth of the oldest
  // block that was born from seen_nanos() on (UINT64_MAX: no block).
  bool IsAgeScanDue(uint64_t nanos);
  uint64_t seen_nanos() const { return seen_nanos_; }
  bool IsAgeDue(uint64_t nanos, uint64_t oldest_birth_nanos);

  void NoteSaved(Reason reason, const Facts& facts, uint64_t taken_nanos);
  void NoteFailed(uint64_t nanos);

  // Returns the bytes that may be allocated until the limit must be checked again; UINT64_MAX: any
  // number.
  uint64_t GapBytes(const Facts& facts) const;

 private:
  void ArmLimit(const Facts& facts);
  bool IsLimitDue(const Facts& facts) const;
  bool IsPeakDue(const Facts& facts) const;
  bool IsAboveNoise(const Facts& facts) const;
  void BoundDeadlines(uint64_t nanos);
  uint64_t LimitBytes(const Facts& facts) const;

  Settings settings_;
  uint64_t saved_peak_bytes_ = 0;  // 0: no peak was saved
  double saved_peak_variance_ = 0;
  uint64_t next_every_nanos_ = 0;
  uint64_t next_scan_nanos_ = 0;
  uint64_t seen_nanos_ = 0;  // blocks born earlier were in an age-triggered copy
  bool limit_is_armed_ = true;
  uint64_t limit_until_nanos_ = 0;  // after a copy at the limit
  uint64_t limit_pause_nanos_ = 0;
  // After a copy, or one that failed.
  uint64_t rest_until_nanos_ = 0;
  uint64_t rest_nanos_ = 0;
  uint64_t pause_until_nanos_ = 0;
  uint64_t pause_nanos_ = 0;
};

}  // namespace allomon::triggers

#endif  // ALLOMON_TRACKER_TRIGGERS_RULES_H_
