// Floating point of our own in the host's threads.
//
// A host may have exceptions trapped (feenableexcept), another direction of rounding, or subnormal
// numbers taken for 0, and may ask later which exceptions were raised.  Neither may our
// computations be seen there, nor may they be computed otherwise.
#ifndef ALLOMON_TRACKER_BASE_DEFAULT_FLOAT_H_
#define ALLOMON_TRACKER_BASE_DEFAULT_FLOAT_H_

#include <cstdint>

namespace allomon::internal {

// While one exists its thread computes as a program does that has just started; then the host's
// state is there again, flags included.  No code of a user runs inside: what it computes is the
// host's.
//
// Of x86-64 only the SSE unit is meant: nothing of ours uses the x87 unit.  (The kernel starts each
// signal handler with the defaults there, and puts the interrupted state back.)  Five instructions,
// some 10 ns; async-signal-safe.
//
// The compiler knows nothing of the state.  What is computed inside must be read from memory after
// the constructor, and be in memory before the destructor, as the fields of a session are.
class DefaultFloat {
 public:
#if defined(__x86_64__)
  // By a copy, so that the object itself may be in a register.
  DefaultFloat() {
    uint32_t host;
    asm volatile("stmxcsr %0" : "=m"(host) : : "memory");
    asm volatile("ldmxcsr %0" : : "m"(kDefault) : "memory");
    host_ = host;
  }
  ~DefaultFloat() {
    const uint32_t host = host_;
    asm volatile("ldmxcsr %0" : : "m"(host) : "memory");
  }
#elif defined(__aarch64__)
  DefaultFloat() {
    asm volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(control_), "=r"(status_) : : "memory");
    asm volatile("msr fpcr, %0" : : "r"(uint64_t{0}) : "memory");
  }
  ~DefaultFloat() {
    asm volatile("msr fpsr, %0\n\tmsr fpcr, %1" : : "r"(status_), "r"(control_) : "memory");
  }
#else
#error "the state of floating point of this processor is not known"
#endif
  // The same value, which the compiler has computed by here: for one that is returned.
  static double Computed(double value) {
#if defined(__x86_64__)
    asm volatile("" : "+x"(value));
#elif defined(__aarch64__)
    asm volatile("" : "+w"(value));
#endif
    return value;
  }

  DefaultFloat(const DefaultFloat&) = delete;
  DefaultFloat& operator=(const DefaultFloat&) = delete;

 private:
#if defined(__x86_64__)
  // All exceptions masked, to the nearest, no flag.
  static constexpr uint32_t kDefault = 0x1f80;
  uint32_t host_;
#elif defined(__aarch64__)
  uint64_t control_;
  uint64_t status_;
#endif
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_BASE_DEFAULT_FLOAT_H_
