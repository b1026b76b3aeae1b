// Invariants that are checked in debug builds: each check cites an invariant by its name in a
// README.md.
//
//   ALLOMON_DCHECK("inv.pin.lifo", pin_ == &thread.pins[thread.pins_used - 1]);
//   ALLOMON_DCHECK_EQ("inv.example.count", thread.counted_pins, 0);
//
// A build without NDEBUG (--config=dbg) evaluates the condition.  One that is false prints the
// invariant, the place and both operands as one line on standard error, and aborts.  A build with
// NDEBUG compiles the condition and never evaluates it: no instruction is left.
//
// Everything here may be used inside malloc, under a lock, in a callback and in a signal handler: a
// failure writes by write(2) and allocates nothing.
#ifndef ALLOMON_TRACKER_BASE_CHECK_H_
#define ALLOMON_TRACKER_BASE_CHECK_H_

#include <cstdint>
#include <type_traits>

namespace allomon::internal {

#ifdef NDEBUG
inline constexpr bool kDebugChecks = false;
#else
inline constexpr bool kDebugChecks = true;
#endif

struct CheckSite {
  const char* invariant;
  const char* condition;
  const char* file;
  int line;
};

[[noreturn]] void FailCheck(const CheckSite& site);
[[noreturn]] void FailCheckOfOperands(const CheckSite& site, uint64_t left, uint64_t right);

// Operands are printed as unsigned numbers: pointers as addresses, negative numbers modulo 2^64.
template <typename T>
uint64_t CheckOperand([[maybe_unused]] T value) {
  if constexpr (std::is_null_pointer_v<T>) {
    return 0;
  } else if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<uintptr_t>(value);
  } else {
    return static_cast<uint64_t>(value);
  }
}

}  // namespace allomon::internal

#define ALLOMON_CHECK_SITE(invariant, condition) \
  ::allomon::internal::CheckSite { invariant, condition, __FILE__, __LINE__ }

#define ALLOMON_DCHECK(invariant, condition)                                       \
  do {                                                                             \
    if constexpr (::allomon::internal::kDebugChecks) {                             \
      if (__builtin_expect(!(condition), 0)) {                                     \
        ::allomon::internal::FailCheck(ALLOMON_CHECK_SITE(invariant, #condition)); \
      }                                                                            \
    } else {                                                                       \
      static_cast<void>(sizeof(!(condition)));                                     \
    }                                                                              \
  } while (false)

#define ALLOMON_DCHECK_OPERANDS(invariant, left, comparison, right)          \
  do {                                                                       \
    if constexpr (::allomon::internal::kDebugChecks) {                       \
      const auto allomon_left = (left);                                      \
      const auto allomon_right = (right);                                    \
      if (__builtin_expect(!(allomon_left comparison allomon_right), 0)) {   \
        ::allomon::internal::FailCheckOfOperands(                            \
            ALLOMON_CHECK_SITE(invariant, #left " " #comparison " " #right), \
            ::allomon::internal::CheckOperand(allomon_left),                 \
            ::allomon::internal::CheckOperand(allomon_right));               \
      }                                                                      \
    } else {                                                                 \
      static_cast<void>(sizeof((left)comparison(right)));                    \
    }                                                                        \
  } while (false)

#define ALLOMON_DCHECK_EQ(invariant, left, right) \
  ALLOMON_DCHECK_OPERANDS(invariant, left, ==, right)
#define ALLOMON_DCHECK_NE(invariant, left, right) \
  ALLOMON_DCHECK_OPERANDS(invariant, left, !=, right)
#define ALLOMON_DCHECK_LT(invariant, left, right) ALLOMON_DCHECK_OPERANDS(invariant, left, <, right)
#define ALLOMON_DCHECK_LE(invariant, left, right) \
  ALLOMON_DCHECK_OPERANDS(invariant, left, <=, right)

#endif  // ALLOMON_TRACKER_BASE_CHECK_H_
