// The common part of the parsers of mlmon.out and of the show-sources answer: lines, numbers that
// tell how many lines follow, and an error of one line.
#ifndef ALLOMON_TRACKER_FORMATS_LINE_PARSER_H_
#define ALLOMON_TRACKER_FORMATS_LINE_PARSER_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace allomon::internal {

// Not thread safe.  The text and the error string must outlive it.
class LineParser {
 protected:
  // `end_message` is the error if the text ends too early.
  LineParser(std::string_view text, const char* end_message, std::string* error)
      : rest_(text), end_message_(end_message), error_(error) {}

  // Always false, so that a parser can return it.
  bool Fail(std::string message);

  // Makes the next line, without its newline, the current one.  The last line of the text may lack
  // the newline.
  bool NextLine();

  bool AtEnd() const { return rest_.empty(); }
  std::string_view line() const { return line_; }

  // Reads the next line as a magic number.  `none_message` is the error if it has no number.
  bool ParseMagic(const char* none_message, uint32_t* magic);

  // Reads the next line as a number of lines to come.  It is not trusted: do not reserve memory by
  // it.
  bool ParseLength(const char* what, uint32_t* length);

 private:
  std::string_view rest_;
  std::string_view line_;
  const char* end_message_;
  std::string* error_;
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_FORMATS_LINE_PARSER_H_
