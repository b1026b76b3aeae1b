#include "tests/guard/misuse.h"

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#define NOT_INLINED __attribute__((noinline, optimize("no-optimize-sibling-calls")))

namespace misuse {

NOT_INLINED void* TakeByMalloc(size_t size_bytes) { return malloc(size_bytes); }
NOT_INLINED void FreeByFree(void* block) { free(block); }
NOT_INLINED char* TakeByNewArray(size_t size_bytes) { return new char[size_bytes]; }
NOT_INLINED void FreeByDeleteArray(char* block) { delete[] block; }
NOT_INLINED void Write(char* address) { *static_cast<volatile char*>(address) = 1; }
NOT_INLINED char Read(const char* address) { return *static_cast<const volatile char*>(address); }

}  // namespace misuse

namespace allomon::testing {
namespace {

// A test that cannot start its guard must not pass, so the process ends with 98.
void Insist(bool holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "%s\n", what);
  _exit(98);
}

template <typename Accept>
char* TakeUntil(size_t size_bytes, Accept accept) {
  for (int i = 0; i < 100; ++i) {
    char* block = misuse::TakeByNewArray(size_bytes);
    if (accept(reinterpret_cast<uintptr_t>(block))) return block;
    misuse::FreeByDeleteArray(block);
  }
  Insist(false, "no block was placed so");
  return nullptr;
}

}  // namespace

void GuardEverything(bool goes_on) {
  GuardOptions options;
  options.one_in = 1;
  options.seed = 1;
  options.goes_on = goes_on;
  const char* error = "";
  Insist(StartGuard(options, &error), error);
  StartOptions start;
  start.seed = 1;
  Insist(Tracker::start(1, NotingTracker{"kept by a test"}, start).ok(), "no tracker");
}

char* TakeAtPageEnd(size_t size_bytes) {
  const size_t extent = (size_bytes + 15) & ~size_t{15};
  return TakeUntil(size_bytes, [&](uintptr_t block) { return (block + extent) % kPageBytes == 0; });
}

char* TakeAtPageStart(size_t size_bytes) {
  return TakeUntil(size_bytes, [](uintptr_t block) { return block % kPageBytes == 0; });
}

}  // namespace allomon::testing
