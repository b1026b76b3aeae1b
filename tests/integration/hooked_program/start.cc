#include "tests/integration/hooked_program/shapes.h"

namespace shapes {
namespace {
__attribute__((noinline)) int ComputeAtStart() {
  int sum = 0;
  ForEachUpTo(10, [&sum](int i) { sum += i; });
  return sum;
}
const int g_registered = ComputeAtStart();

struct AtExit {
  ~AtExit() {
    ForEachUpTo(3, [](int) {});
  }
} g_at_exit;
}  // namespace

int RegisteredAtStart() { return g_registered; }
}  // namespace shapes
