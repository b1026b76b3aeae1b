#ifndef ALLOMON_TOOLS_TEXT_HEXADECIMAL_H_
#define ALLOMON_TOOLS_TEXT_HEXADECIMAL_H_

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <string>

namespace allomon::interchange {

// In lower case, without a prefix.
inline std::string Hexadecimal(uint64_t value) {
  char text[20];
  snprintf(text, sizeof text, "%" PRIx64, value);
  return text;
}

}  // namespace allomon::interchange

#endif  // ALLOMON_TOOLS_TEXT_HEXADECIMAL_H_
