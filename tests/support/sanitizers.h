// The sanitizer of this build, for tests that do less under one.
//
// The thread sanitizer finds nothing in the work of one thread, and takes up to 25 times its time.
// A long case of one thread is skipped there.  A target of such cases has the tag one_thread
// instead.
#ifndef ALLOMON_TESTS_SUPPORT_SANITIZERS_H_
#define ALLOMON_TESTS_SUPPORT_SANITIZERS_H_

namespace allomon::testing {

#if defined(__SANITIZE_THREAD__)
inline constexpr bool kHasThreadSanitizer = true;
#else
inline constexpr bool kHasThreadSanitizer = false;
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kHasSanitizer = true;
#else
inline constexpr bool kHasSanitizer = false;
#endif

}  // namespace allomon::testing

#endif  // ALLOMON_TESTS_SUPPORT_SANITIZERS_H_
