#include <algorithm>

#include "tests/integration/hooked_program/shapes.h"

namespace shapes {
namespace {
template <typename T>
__attribute__((noinline)) bool Less(const T& a, const T& b) {
  return a < b;
}
}  // namespace

std::vector<int> Sorted(std::vector<int> values) {
  std::sort(values.begin(), values.end(), Less<int>);
  return values;
}
}  // namespace shapes
