// Protects our floating point computations in the host's threads.
//
// A host may have exceptions trapped (feenableexcept), another rounding mode, or subnormal numbers
// flushed to 0, and may read later which exceptions were raised.  Our computations must not be
// visible there, nor may the host's settings change their results.
#ifndef ALLOMON_TRACKER_BASE_DEFAULT_FLOAT_H_
#define ALLOMON_TRACKER_BASE_DEFAULT_FLOAT_H_

#include <cstdint>

namespace allomon::internal {

// While one exists its thread has the floating point state of a fresh program.  Afterwards the
// host's state is restored, flags included.  No user code runs inside: its computations belong to
// the host.
//
// On x86-64 only the SSE unit is covered, since our code does not use the x87 unit.  (The kernel
// starts each signal handler with the defaults there, and restores the interrupted state.) Five
// instructions, some 10 ns; async-signal-safe.
//
// The compiler does not know about this state.  Operands of computations inside must be read from
// memory after the constructor, and results must be in memory before the destructor, like the
// fields of a session.
class DefaultFloat {
 public:
#if defined(__x86_64__)
  // Uses a copy, so that the object itself may be in a register.
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
  // Returns the same value, which the compiler has computed before this point; for a result that is
  // returned.
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
  // All exceptions masked, rounding to nearest, no flag.
  static constexpr uint32_t kDefault = 0x1f80;
  uint32_t host_;
#elif defined(__aarch64__)
  uint64_t control_;
  uint64_t status_;
#endif
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_BASE_DEFAULT_FLOAT_H_
