#include "tests/integration/hooked_program/shapes.h"

namespace shapes {
void ForEachUpTo(int n, const std::function<void(int)>& visit) {
  for (int i = 0; i < n; ++i) visit(i);
}
}  // namespace shapes
