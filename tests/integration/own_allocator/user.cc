#include "tests/integration/own_allocator/user.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

namespace {

// Before the constructors of preloaded libraries.
const bool g_has_early_thread = [] {
  if (getenv("EARLY_THREAD") == nullptr) return false;
  std::thread([] { pause(); }).detach();
  return true;
}();

// Sizes of each kind: short, long, and larger than the inlined sizes.
constexpr size_t kSizes[] = {1, 24, 100, 1000, 5000, 300000};

struct alignas(64) Wide {
  char bytes[64];
};

void UseC(size_t size_bytes) {
  free(malloc(size_bytes));
  free(calloc(3, size_bytes));
  free(realloc(realloc(nullptr, size_bytes), 2 * size_bytes));
  free(aligned_alloc(64, size_bytes / 64 * 64 + 64));
  void* aligned = nullptr;
  if (posix_memalign(&aligned, 128, size_bytes) == 0) free(aligned);
  free(strdup("the C library calls malloc, too"));
}

void UseOperators(size_t size_bytes) {
  operator delete(operator new(size_bytes), size_bytes);
  operator delete(operator new(size_bytes));
  operator delete(operator new(size_bytes, std::nothrow), std::nothrow);
  operator delete(operator new(size_bytes, std::nothrow));
  operator delete[](operator new[](size_bytes), size_bytes);
  operator delete[](operator new[](size_bytes));
  operator delete[](operator new[](size_bytes, std::nothrow));
  const std::align_val_t wide{64};
  operator delete(operator new(size_bytes, wide), size_bytes, wide);
  operator delete(operator new(size_bytes, wide, std::nothrow), wide);
  operator delete[](operator new[](size_bytes, wide), wide);
  operator delete[](operator new[](size_bytes, wide, std::nothrow), size_bytes, wide);
}

// Exceptions pass through whatever stands in front of operator new.
void UseTooMuch() {
  constexpr size_t kTooMuch = size_t{1} << 50;
  void* const kept = malloc(100);
  if (malloc(kTooMuch) != nullptr || realloc(kept, kTooMuch) != nullptr) abort();
  free(kept);
  try {
    operator delete(operator new(kTooMuch));
    abort();
  } catch (const std::bad_alloc&) {
  }
}

void UseTheLanguage() {
  delete new Kept;
  delete[] new Kept[30];
  delete new Wide;
  delete[] new Wide[3];
  delete new (std::nothrow) Kept;
  const auto shared = std::make_shared<std::string>(100, 'x');
  std::vector<std::string> strings(50, *shared);
  strings.emplace_back(1000, 'y');
}

}  // namespace

void UseEachForm() {
  for (int i = 0; i < 20; ++i) {
    for (const size_t size_bytes : kSizes) {
      UseC(size_bytes);
      UseOperators(size_bytes);
    }
    UseTheLanguage();
    UseTooMuch();
  }
}

char* StringOfTheLibrary() { return strdup("taken in the library"); }
Kept* NewInTheLibrary() { return new Kept; }
void DeleteInTheLibrary(Kept* kept) { delete kept; }

void LeakInTheLibrary(int blocks) {
  for (int i = 0; i < blocks; ++i) static_cast<char*>(malloc(1000))[0] = 1;
}
void FreeInTheLibrary(void* block) { free(block); }
