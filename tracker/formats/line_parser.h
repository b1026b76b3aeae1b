// The common part of the readers of mlmon.out and of the show-sources answer: texts of lines,
// numbers that say how many lines follow, one line of explanation on failure.
#ifndef ALLOMON_TRACKER_FORMATS_LINE_PARSER_H_
#define ALLOMON_TRACKER_FORMATS_LINE_PARSER_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace allomon::internal {

// Not thread safe; outlived by the text and the string it was given.
class LineParser {
 protected:
  // `end_message` is what to say when the text ends too early.
  LineParser(std::string_view text, const char* end_message, std::string* error)
      : rest_(text), end_message_(end_message), error_(error) {}

  // Always false, so that a parser can return it.
  bool Fail(std::string message);

  // Makes the next line, without its newline, the current one.  The last line of the text may lack
  // the newline.
  bool NextLine();

  bool AtEnd() const { return rest_.empty(); }
  std::string_view line() const { return line_; }

  // Reads the next line as a magic number; `none_message` if there is none in it.
  bool ParseMagic(const char* none_message, uint32_t* magic);

  // Reads the next line as a number of lines to come.  It is a claim: reserve no memory on the
  // strength of it.
  bool ParseLength(const char* what, uint32_t* length);

 private:
  std::string_view rest_;
  std::string_view line_;
  const char* end_message_;
  std::string* error_;
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_FORMATS_LINE_PARSER_H_
