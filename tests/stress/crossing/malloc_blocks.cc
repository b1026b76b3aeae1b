// Blocks of malloc, in every column.
#include <cstdlib>
#include <cstring>

#include "tests/stress/crossing/column.h"

namespace crossing {

// Blocks that malloc refuses, as it may below a limit, count as if they existed.
uint64_t AllocateByMalloc(unsigned seed) {
  constexpr size_t kSizes[] = {1, 24, 64, 200, 1000, 5000};
  uint64_t sum = 0;
  char* kept[6] = {};
  for (unsigned i = 0; i < 6; ++i) {
    const size_t size = kSizes[(seed + i) % 6];
    kept[i] = static_cast<char*>(malloc(size));
    if (kept[i] != nullptr) memset(kept[i], static_cast<int>(seed), size);
    sum += size;
  }
  for (unsigned i = 0; i < 6; ++i) {
    const size_t size = kSizes[(seed + i) % 6];
    if (kept[i] != nullptr) {
      sum += kept[i][size - 1] == static_cast<char>(seed) ? 1 : 1000000;
    } else {
      ++sum;
    }
    if (i == 2 && kept[i] != nullptr) {
      char* const grown = static_cast<char*>(realloc(kept[i], 2 * size));
      if (grown != nullptr) kept[i] = grown;
    }
    free(kept[i]);
  }
  return sum;
}

}  // namespace crossing
