#include <cstdio>

#include "tests/integration/hooked_program/shapes.h"

int main() {
  double area = 0;
  for (int i = 0; i < 20; ++i) {
    area += (i % 3 == 0 ? shapes::MakeCircle(i) : shapes::MakeSquare(i))->Area();
  }
  std::vector<int> values;
  shapes::ForEachUpTo(500, [&values](int i) { values.push_back(i * 7919 % 503); });
  const std::vector<int> sorted = shapes::Sorted(values);
  const int bad = shapes::CountBad({"1", "x", "", "7", "?"});
  printf("%.0f %d %d %ld %d %d\n", area, sorted.front(), bad, shapes::Ackermann(2, 9),
         shapes::IsEven(1001), shapes::RegisteredAtStart());
}
