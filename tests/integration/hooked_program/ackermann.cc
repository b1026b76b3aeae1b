#include "tests/integration/hooked_program/shapes.h"

namespace shapes {
long Ackermann(long m, long n) {
  if (m == 0) return n + 1;
  if (n == 0) return Ackermann(m - 1, 1);
  return Ackermann(m - 1, Ackermann(m, n - 1));
}
}  // namespace shapes
