#include "tracker/triggers/rules.h"

#include <algorithm>

#include "tracker/base/check.h"

namespace allomon::triggers {
namespace {

// The limit trigger is ready again when memory is below its share by this percentage of the limit.
constexpr uint32_t kRearmPercent = 5;
constexpr uint64_t kLeastGapBytes = uint64_t{128} << 10;
// A search of all live blocks is late by at most one part in this many of the age.
constexpr uint64_t kScansPerAge = 16;

// Limits reach up to 2^63.
uint64_t Share(uint64_t bytes, uint32_t percent) {
  return bytes / 100 * percent + bytes % 100 * percent / 100;
}

}  // namespace

const char* NameOf(Reason reason) {
  switch (reason) {
    case Reason::kLimit:
      return "limit";
    case Reason::kPeak:
      return "peak";
    case Reason::kAge:
      return "age";
    case Reason::kEvery:
      return "every";
    case Reason::kNone:
      break;
  }
  return "";
}

void Rules::Begin(const Settings& settings) {
  *this = Rules();
  settings_ = settings;
  next_every_nanos_ = settings.every_nanos;
  next_scan_nanos_ = settings.age_nanos;
}

void Rules::BoundDeadlines(uint64_t nanos) {
  ALLOMON_DCHECK_LE("inv.save.pause", pause_nanos_, kMostPauseNanos);
  next_every_nanos_ = std::min(next_every_nanos_, nanos + settings_.every_nanos);
  next_scan_nanos_ = std::min(next_scan_nanos_, nanos + settings_.age_nanos);
  rest_until_nanos_ = std::min(rest_until_nanos_, nanos + rest_nanos_);
  limit_until_nanos_ = std::min(limit_until_nanos_, nanos + limit_pause_nanos_);
  pause_until_nanos_ = std::min(pause_until_nanos_, nanos + pause_nanos_);
}

uint64_t Rules::LimitBytes(const Facts& facts) const {
  return Share(facts.limit_bytes, settings_.limit_percent);
}

// The trigger fires once, and again after memory was freed in between.
void Rules::ArmLimit(const Facts& facts) {
  const uint64_t rearm_bytes = Share(facts.limit_bytes, kRearmPercent);
  if (facts.used_bytes + rearm_bytes < LimitBytes(facts)) limit_is_armed_ = true;
}

bool Rules::IsLimitDue(const Facts& facts) const {
  if (settings_.limit_percent == 0 || facts.limit_bytes == 0) return false;
  return limit_is_armed_ && facts.used_bytes >= LimitBytes(facts) &&
         facts.nanos >= limit_until_nanos_;
}

bool Rules::IsPeakDue(const Facts& facts) const {
  if (settings_.peak_percent == 0 || facts.peak_bytes < kLeastPeakBytes) return false;
  return facts.peak_bytes >= saved_peak_bytes_ + Share(saved_peak_bytes_, settings_.peak_percent) &&
         facts.peak_bytes > saved_peak_bytes_ && IsAboveNoise(facts);
}

// The blocks that are live at both peaks are the same samples, so the variance of the difference is
// smaller than the sum of both.  Without a saved peak there is no noise, since its sample is empty.
bool Rules::IsAboveNoise(const Facts& facts) const {
  if (saved_peak_bytes_ == 0) return true;
  ALLOMON_DCHECK_LT("inv.save.peak", saved_peak_bytes_, facts.peak_bytes);
  const auto growth = static_cast<double>(facts.peak_bytes - saved_peak_bytes_);
  const double variance = facts.peak_variance + saved_peak_variance_;
  ALLOMON_DCHECK("inv.save.peak", variance >= 0);
  return growth * growth >= kPeakErrors * kPeakErrors * variance;
}

Reason Rules::Due(const Facts& facts) {
  BoundDeadlines(facts.nanos);
  ArmLimit(facts);
  if (facts.nanos < pause_until_nanos_) return Reason::kNone;
  if (IsLimitDue(facts)) return Reason::kLimit;
  if (facts.nanos < rest_until_nanos_) return Reason::kNone;
  if (IsPeakDue(facts)) return Reason::kPeak;
  const bool every = settings_.every_nanos != 0 && facts.nanos >= next_every_nanos_;
  return every ? Reason::kEvery : Reason::kNone;
}

bool Rules::IsAgeScanDue(uint64_t nanos) {
  return settings_.age_nanos != 0 && nanos >= next_scan_nanos_ && nanos >= rest_until_nanos_ &&
         nanos >= pause_until_nanos_ && nanos >= settings_.age_nanos;
}

bool Rules::IsAgeDue(uint64_t nanos, uint64_t oldest_birth_nanos) {
  const uint64_t age = settings_.age_nanos;
  ALLOMON_DCHECK_LE("inv.save.age", age, nanos);
  if (oldest_birth_nanos <= nanos - age) return true;
  const uint64_t old_at = oldest_birth_nanos == UINT64_MAX ? nanos + age : oldest_birth_nanos + age;
  next_scan_nanos_ = std::max(old_at, nanos + age / kScansPerAge);
  return false;
}

void Rules::NoteSaved(Reason reason, const Facts& facts, uint64_t taken_nanos) {
  const uint64_t end_nanos = facts.nanos + taken_nanos;
  rest_nanos_ = taken_nanos * (kTimeShare - 1);
  rest_until_nanos_ = end_nanos + rest_nanos_;
  pause_nanos_ = pause_until_nanos_ = 0;
  if (reason == Reason::kLimit) {
    limit_is_armed_ = false;
    limit_pause_nanos_ = std::max(kLimitPauseNanos, rest_nanos_);
    limit_until_nanos_ = end_nanos + limit_pause_nanos_;
  }
  if (reason == Reason::kPeak) {
    ALLOMON_DCHECK_LE("inv.save.peak", saved_peak_bytes_, facts.peak_bytes);
    saved_peak_bytes_ = facts.peak_bytes;
    saved_peak_variance_ = facts.peak_variance;
  }
  if (reason == Reason::kEvery) next_every_nanos_ = facts.nanos + settings_.every_nanos;
  if (reason == Reason::kAge) {
    ALLOMON_DCHECK_LE("inv.save.age", settings_.age_nanos, facts.nanos);
    seen_nanos_ = facts.nanos - settings_.age_nanos + 1;
    next_scan_nanos_ = facts.nanos + settings_.age_nanos;
  }
}

void Rules::NoteFailed(uint64_t nanos) {
  pause_nanos_ = std::clamp(2 * pause_nanos_, kFirstPauseNanos, kMostPauseNanos);
  ALLOMON_DCHECK_LT("inv.save.pause", uint64_t{0}, pause_nanos_);
  pause_until_nanos_ = nanos + pause_nanos_;
}

// Half of the distance to the limit, so checks become more frequent as the limit gets nearer.
uint64_t Rules::GapBytes(const Facts& facts) const {
  if (settings_.limit_percent == 0 || facts.limit_bytes == 0 || !limit_is_armed_ ||
      facts.nanos < limit_until_nanos_) {
    return UINT64_MAX;
  }
  const uint64_t limit = LimitBytes(facts);
  ALLOMON_DCHECK_LE("inv.save.limit", limit, facts.limit_bytes);
  const uint64_t left = limit > facts.used_bytes ? limit - facts.used_bytes : 0;
  return std::max(left / 2, std::max(kLeastGapBytes, facts.limit_bytes / 512));
}

}  // namespace allomon::triggers
