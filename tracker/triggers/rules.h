// When a copy is due: a function of where the recording stands, of the limits, and of what was
// saved before.
//
// Times are nanoseconds since the recording's start, by CLOCK_MONOTONIC: nobody sets that clock,
// and the time for which a machine sleeps is not counted.  If it goes backwards all the same (a
// virtual machine that was moved), no deadline is further away than its own period.
//
// Plain values, no locks; nothing here allocates or makes a system call.
#ifndef ALLOMON_TRACKER_TRIGGERS_RULES_H_
#define ALLOMON_TRACKER_TRIGGERS_RULES_H_

#include <cstdint>

#include "tracker/triggers/settings.h"

namespace allomon::triggers {

// In the order of their urgency.
enum class Reason { kNone, kLimit, kPeak, kAge, kEvery };

// Part of a file's name.
const char* NameOf(Reason reason);

// A smaller peak is not worth a file: it comes from a few samples.
inline constexpr uint64_t kLeastPeakBytes = uint64_t{1} << 20;
// A new peak is news where it is so many standard errors of their difference above the saved one.
//
// A program that churns at one size has moments that differ by noise alone, and the largest of many
// is compared, not one.  Of a million independent moments (one for each turnover of what is live)
// it is 4.8 deviations above the mean, in one run of a hundred 5.6.  PeakState compares fewer: its
// estimate moves only where a half of the samples is at a new maximum, as ln n of n moments are,
// and then to a draw of the other half, which knows nothing of it.  That is some 200 draws in any
// program's life.  One of them is 5 errors above the first in 6e-5 of all programs; where the
// halves name different moments, which makes the variance a third larger than is counted, in 2e-3.
// By simulation of 70,000 runs of 100 to 1,000 turnovers it was one, of six samples to a half; 10 %
// alone made 0.3 to 2 copies more in each.
inline constexpr double kPeakErrors = 5;
// Saving takes at most this part of the time.  A copy at the limit waits for those at the limit
// alone.
inline constexpr uint64_t kTimeShare = 20;
// Between two copies at the limit, at least: memory that swings around it is no news.
inline constexpr uint64_t kLimitPauseNanos = 10'000'000'000;
inline constexpr uint64_t kFirstPauseNanos = 1'000'000'000;  // behind a copy that failed
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
  // For a recording that begins.
  void Begin(const Settings& settings);

  // What is due, without regard to ages.
  Reason Due(const Facts& facts);
  // Whether live blocks are to be looked through; then Reason::kAge is due or not by the birth of
  // the oldest one that was born from seen_nanos() on (UINT64_MAX: there is none).
  bool IsAgeScanDue(uint64_t nanos);
  uint64_t seen_nanos() const { return seen_nanos_; }
  bool IsAgeDue(uint64_t nanos, uint64_t oldest_birth_nanos);

  void NoteSaved(Reason reason, const Facts& facts, uint64_t taken_nanos);
  void NoteFailed(uint64_t nanos);

  // How many bytes may be allocated until the limit must be looked at again; UINT64_MAX: any
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
  uint64_t seen_nanos_ = 0;  // blocks born before were old when a copy was made
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
