// A small program of three files that knows nothing of profiling.  A compiler flag puts entry hooks
// into it, and its calls are compared with callgrind's.
#ifndef ALLOMON_TESTS_INTEGRATION_HOOKED_PROGRAM_SHAPES_H_
#define ALLOMON_TESTS_INTEGRATION_HOOKED_PROGRAM_SHAPES_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace shapes {

class Shape {
 public:
  virtual ~Shape();
  virtual double Area() const = 0;
};

std::unique_ptr<Shape> MakeCircle(double radius);
std::unique_ptr<Shape> MakeSquare(double side);

long Ackermann(long m, long n);
bool IsEven(unsigned n);
bool IsOdd(unsigned n);
int ParseOrThrow(const std::string& text);
int CountBad(const std::vector<std::string>& texts);
std::vector<int> Sorted(std::vector<int> values);
void ForEachUpTo(int n, const std::function<void(int)>& visit);
int RegisteredAtStart();

}  // namespace shapes

#endif  // ALLOMON_TESTS_INTEGRATION_HOOKED_PROGRAM_SHAPES_H_
