#include "tests/integration/hooked_program/shapes.h"

namespace shapes {
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
}  // namespace shapes
