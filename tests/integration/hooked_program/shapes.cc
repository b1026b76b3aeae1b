#include "tests/integration/hooked_program/shapes.h"

namespace shapes {
Shape::~Shape() = default;

namespace {
class Circle : public Shape {
 public:
  explicit Circle(double radius) : radius_(radius) {}
  double Area() const override { return 3 * radius_ * radius_; }

 private:
  const double radius_;
};
}  // namespace

std::unique_ptr<Shape> MakeCircle(double radius) { return std::make_unique<Circle>(radius); }

namespace {
class Square : public Shape {
 public:
  explicit Square(double side) : side_(side) {}
  double Area() const override { return side_ * side_; }

 private:
  const double side_;
};
}  // namespace

std::unique_ptr<Shape> MakeSquare(double side) { return std::make_unique<Square>(side); }

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
