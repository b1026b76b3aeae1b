#include <stdexcept>

#include "tests/integration/hooked_program/shapes.h"

namespace shapes {
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
}  // namespace shapes
