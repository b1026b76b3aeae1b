// Finds the end of a request in a client's input.
#ifndef ALLOMON_TOOLS_SERVE_FRAME_H_
#define ALLOMON_TOOLS_SERVE_FRAME_H_

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

}  // namespace allomon::serve

#endif  // ALLOMON_TOOLS_SERVE_FRAME_H_
