// Serves tracers that attach to the USDT probes of probes/probes.h.  While one is attached, a
// session samples blocks and calls the probes: `alloc` for each sampled block of malloc, `free`
// when one of these dies, `promote` for each sampled managed block that leaves the nursery.
//
// There is no thread and no signal.  A look at the semaphores (a load for each probe) starts and
// ends the session; it is made by the attendant, or by WatchProbes() at a sample of its own, about
// once in the 8 MiB that a thread allocates.  A process that does not allocate serves nobody.
//
// weighted_bytes is the block's size divided by the probability that it is sampled (estimate.h), so
// sums of it are unbiased.  It is rounded to whole bytes: an error of less than one in a million at
// the default distance.
//
// A child of fork goes on sampling.  It calls `free` for blocks of its own alone.
#ifndef ALLOMON_TRACKER_CONTROL_PROBE_SAMPLER_H_
#define ALLOMON_TRACKER_CONTROL_PROBE_SAMPLER_H_

#include <cstdint>
#include <optional>

namespace allomon::control {

// A thread's mean distance between looks, at the control page as well.
inline constexpr uint64_t kLookGapBytes = uint64_t{8} << 20;

// The mean distance between samples that OpenTelemetry's design names as its default.
inline constexpr uint64_t kProbeGapBytes = uint64_t{512} << 10;

struct ProbeOptions {
  uint64_t gap_bytes = kProbeGapBytes;  // at least 8
  std::optional<uint64_t> seed;         // default: random
};

// Call once, before LookAtProbes().  Any thread; fails never.
void SetProbes(const ProbeOptions& options);

// Starts sampling if a tracer is attached, ends it if none is.  Does nothing before SetProbes().
// Called inside a callback; any thread, and threads that come meanwhile go by.  If memory or a
// session is short, the next look tries again.
void LookAtProbes();

// Starts a session that calls look() inside a callback, once in kLookGapBytes of a thread on the
// average.  `seed`: default random.  Not inside malloc.  Returns nullptr, or an error and its
// remedy.
const char* StartLooking(void (*look)(), std::optional<uint64_t> seed);

// SetProbes(), and a session that looks.  For processes without an attendant.  Not inside malloc.
// Returns nullptr, or an error and its remedy.
const char* WatchProbes(const ProbeOptions& options);

}  // namespace allomon::control

#endif  // ALLOMON_TRACKER_CONTROL_PROBE_SAMPLER_H_
