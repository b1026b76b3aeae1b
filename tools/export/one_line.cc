#include "tools/export/one_line.h"

namespace allomon::interchange {

std::string OneLine(std::string_view name) {
  std::string line;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    line += byte < ' ' || byte == 0x7f ? ' ' : c;
  }
  const size_t begin = line.find_first_not_of(' ');
  if (begin == line.npos) return "(unnamed)";
  return line.substr(begin, line.find_last_not_of(' ') + 1 - begin);
}

}  // namespace allomon::interchange
