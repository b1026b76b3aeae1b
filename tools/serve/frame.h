// Finds the end of a request in a client's input.
#ifndef ALLOMON_TOOLS_SERVE_FRAME_H_
#define ALLOMON_TOOLS_SERVE_FRAME_H_

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace allomon::serve {

inline constexpr size_t kMostHeadBytes = size_t{8} << 10;   // of request line and headers
inline constexpr size_t kMostBodyBytes = size_t{16} << 10;  // of a POST
inline constexpr size_t kMostRequestBytes = kMostHeadBytes + kMostBodyBytes;

struct Frame {
  enum class State { kMore, kWhole, kRefused };
  State state = State::kMore;
  size_t head_bytes = 0;
  size_t body_bytes = 0;
  int status = 0;  // status of the refusal
};

// Returns the frame of the input so far.  Refuses input that is not HTTP or is too large, as soon
// as that is known.  Also refuses input that could be read in two ways: two lengths, or a length
// beside an encoding.  A pure function; linear in the size of the head.
Frame FrameOf(std::string_view input);

// ---- Helpers for texts of headers, which are ASCII.

inline char LowerCase(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

inline bool EqualsInAnyCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return LowerCase(x) == LowerCase(y); });
}

// Returns the text without blanks and line ends around it.
inline std::string_view Trimmed(std::string_view text) {
  constexpr char kBlanks[] = " \t\r\n";
  const size_t begin = std::min(text.find_first_not_of(kBlanks), text.size());
  text.remove_prefix(begin);
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

}  // namespace allomon::serve

#endif  // ALLOMON_TOOLS_SERVE_FRAME_H_
