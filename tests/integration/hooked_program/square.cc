#include "tests/integration/hooked_program/shapes.h"

namespace shapes {
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
}  // namespace shapes
