#include "tests/integration/hooked_program/shapes.h"

namespace shapes {
Shape::~Shape() = default;
}  // namespace shapes
