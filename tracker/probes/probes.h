// USDT probes: places in the code at which a tracer outside of the process (bpftrace,
// OpenTelemetry's eBPF profiler) may ask to be called, with arguments.
//
// Each probe is one nop, and a note in the ELF file that names the nop's address, the places of the
// arguments and a semaphore.  A tracer that attaches replaces the nop by a breakpoint, and makes
// the kernel add 1 to the semaphore in each process that has mapped the file.  The format is
// Systemtap's (https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation, version 3).
//
// Any thread, inside malloc, under any lock and in signal handlers.  Nothing here fails or calls
// anything.  Cost while no tracer is attached: IsAttached() is one load and one comparison.
#ifndef ALLOMON_TRACKER_PROBES_PROBES_H_
#define ALLOMON_TRACKER_PROBES_PROBES_H_

#include <cstdint>

namespace allomon::probes {

// The only table of names, arguments and their order.  All arguments have 8 bytes.  The first two
// are the contract of OpenTelemetry's eBPF profiler (its design document 00003, "USDT contract"):
// `alloc` for each sampled allocation, `free` when a block that `alloc` has named is freed.
//
//   X(provider, name, function, number of arguments)
#define ALLOMON_PROBES(X)                                                                 \
  X(otel_memory, alloc, FireAlloc, 3) /* address, size_bytes, weighted_bytes */           \
  X(otel_memory, free, FireFree, 1)   /* address */                                       \
  X(allomon, promote, FirePromote, 2) /* size_bytes, weighted_bytes of a managed block */ \
  X(allomon, peak, FirePeak, 1)       /* live_bytes: a recording has a new peak */

// Places of the semaphores, which only the kernel and tracers change.  C names, since the notes
// refer to them.
extern "C" {
#define ALLOMON_PROBE_SEMAPHORE(provider, name, function, count) \
  extern uint16_t provider##_##name##_semaphore __attribute__((visibility("hidden")));
ALLOMON_PROBES(ALLOMON_PROBE_SEMAPHORE)
#undef ALLOMON_PROBE_SEMAPHORE
}

// Relaxed: the semaphore orders nothing.  A tracer that attaches or detaches meanwhile misses or
// gets one call.
inline bool IsAttached(const uint16_t& semaphore) {
  return __atomic_load_n(&semaphore, __ATOMIC_RELAXED) != 0;
}

void FireAlloc(uint64_t address, uint64_t size_bytes, uint64_t weighted_bytes);
void FireFree(uint64_t address);
void FirePromote(uint64_t size_bytes, uint64_t weighted_bytes);
void FirePeak(uint64_t live_bytes);

}  // namespace allomon::probes

#endif  // ALLOMON_TRACKER_PROBES_PROBES_H_
