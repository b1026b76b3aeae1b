#include "runtime/internal/object/check.h"

#include <cstdio>
#include <cstdlib>

namespace allomon::gc::internal {

void Fail(const char* rule) {
  fprintf(stderr, "allomon: managed heap: %s\n", rule);
  abort();
}

}  // namespace allomon::gc::internal
