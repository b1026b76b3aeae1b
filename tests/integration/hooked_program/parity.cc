#include "tests/integration/hooked_program/shapes.h"

namespace shapes {
// Each of the two functions calls the other as its last act.
bool IsEven(unsigned n) { return n == 0 || IsOdd(n - 1); }
bool IsOdd(unsigned n) { return n != 0 && IsEven(n - 1); }
}  // namespace shapes
