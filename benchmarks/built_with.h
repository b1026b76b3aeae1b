// The key of a program's golden tables (golden_tables.py): its compiler, and the backend of its
// malloc.
#ifndef ALLOMON_BENCHMARKS_BUILT_WITH_H_
#define ALLOMON_BENCHMARKS_BUILT_WITH_H_

#include <cstdio>

#include "allomon_backend.h"

namespace allomon::benchmarks {

#ifdef MI_MALLOC_VERSION

// 2.0.9 is 209, and 3.4.3 is 30403.
struct MimallocVersion {
  static constexpr bool kOneDigitEach = MI_MALLOC_VERSION < 10000;
  static constexpr int kBase = kOneDigitEach ? 10 : 100;
  static constexpr int kMajor = MI_MALLOC_VERSION / kBase / kBase;
  static constexpr int kMinor = MI_MALLOC_VERSION / kBase % kBase;
  static constexpr int kPatch = MI_MALLOC_VERSION % kBase;
};

inline void PrintBackend() {
  using Version = MimallocVersion;
  printf("mimalloc %d.%d.%d%s", Version::kMajor, Version::kMinor, Version::kPatch,
         ALLOMON_MIMALLOC_IS_INLINED ? "" : " by its functions");
}

#else

inline void PrintBackend() { printf("%s", backend::kName); }

#endif

// Prints a line such as "g++ 12.2.0, mimalloc 2.0.9", or "clang 14.0.6, mimalloc 3.4.3 by its
// functions".
inline void PrintBuiltWith() {
#ifdef __clang__
  printf("clang %d.%d.%d, ", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
  printf("g++ %d.%d.%d, ", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
  PrintBackend();
  puts("");
}

}  // namespace allomon::benchmarks

#endif  // ALLOMON_BENCHMARKS_BUILT_WITH_H_
