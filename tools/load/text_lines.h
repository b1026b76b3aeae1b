// Iterates over the lines of a text, for readers whose errors name the line.
#ifndef ALLOMON_TOOLS_LOAD_TEXT_LINES_H_
#define ALLOMON_TOOLS_LOAD_TEXT_LINES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace allomon::interchange {

class TextLines {
 public:
  explicit TextLines(std::string_view text) : rest_(text) {}

  // Goes to the next line, without its newline and a carriage return before it.  False at the end.
  bool Next();

  std::string_view line() const { return line_; }
  absl::Status Error(const std::string& what) const;

 private:
  std::string_view rest_;
  std::string_view line_;
  size_t number_ = 0;
};

// Removes fields from the beginning of a line.
class Fields {
 public:
  explicit Fields(std::string_view line) : rest_(line) {}

  void SkipBlanks();
  bool Take(std::string_view word);   // skips blanks first
  bool TakeDecimal(uint64_t* value);  // skips blanks first; false on overflow, too
  bool TakeHexadecimal(uint64_t* value);
  bool AtEnd();  // true if only blanks are left
  std::string_view rest() const { return rest_; }

 private:
  bool TakeNumber(int base, uint64_t* value);

  std::string_view rest_;
};

}  // namespace allomon::interchange

#endif  // ALLOMON_TOOLS_LOAD_TEXT_LINES_H_
