#include <algorithm>
#include <stdexcept>

#include "tests/integration/hooked_program/shapes.h"

namespace shapes {
long Ackermann(long m, long n) {
  if (m == 0) return n + 1;
  if (n == 0) return Ackermann(m - 1, 1);
  return Ackermann(m - 1, Ackermann(m, n - 1));
}

// Each of the two functions calls the other as its last act.
bool IsEven(unsigned n) { return n == 0 || IsOdd(n - 1); }
bool IsOdd(unsigned n) { return n != 0 && IsEven(n - 1); }

int ParseOrThrow(const std::string& text) {
  if (text.empty() || text[0] < '0' || text[0] > '9') throw std::invalid_argument(text);
  return text[0] - '0';
}

int CountBad(const std::vector<std::string>& texts) {
  int bad = 0;
  for (const std::string& text : texts) {
    try {
      ParseOrThrow(text);
    } catch (const std::invalid_argument&) {
      ++bad;
    }
  }
  return bad;
}

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

void ForEachUpTo(int n, const std::function<void(int)>& visit) {
  for (int i = 0; i < n; ++i) visit(i);
}
}  // namespace shapes
