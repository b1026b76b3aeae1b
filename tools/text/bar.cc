#include "tools/text/bar.h"

#include <algorithm>
#include <cmath>

namespace allomon::report {
namespace {

// U+258F (one eighth) down to U+2588 (full).
constexpr const char* kEighths[] = {"",       "\u258f", "\u258e", "\u258d", "\u258c",
                                    "\u258b", "\u258a", "\u2589", "\u2588"};
constexpr const char* kLight = "\u2591";

std::string Repeated(const char* text, int times) {
  std::string repeated;
  for (int i = 0; i < times; ++i) repeated += text;
  return repeated;
}

int Rounded(double share, int steps) {
  return static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * steps));
}

int Steps(double share, int steps) { return share > 0 ? std::max(1, Rounded(share, steps)) : 0; }

std::string FineBar(double share, int columns) {
  const int eighths = Steps(share, 8 * columns);
  return Repeated(kEighths[8], eighths / 8) + kEighths[eighths % 8];
}

}  // namespace

std::string Bar(double own, double with_callees, int columns, Charset charset) {
  const bool ascii = charset == Charset::kAscii;
  if (!ascii && !(with_callees > own)) return FineBar(own, columns);
  const int all = Steps(std::max(own, with_callees), columns);
  const int solid = with_callees > own ? Rounded(own, columns) : all;
  return Repeated(ascii ? "#" : kEighths[8], solid) + Repeated(ascii ? "-" : kLight, all - solid);
}

}  // namespace allomon::report
