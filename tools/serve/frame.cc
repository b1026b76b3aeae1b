#include "tools/serve/frame.h"

#include <algorithm>
#include <optional>

#include "tools/options/values.h"

namespace allomon::serve {
namespace {

constexpr std::string_view kEnd = "\r\n\r\n";

Frame Refused(int status) {
  Frame frame;
  frame.state = Frame::State::kRefused;
  frame.status = status;
  return frame;
}

// True if the input may begin with a method, which is in capital letters.  The first three bytes
// suffice.
bool BeginsLikeHttp(std::string_view input) {
  const std::string_view first = input.substr(0, std::min<size_t>(input.size(), 3));
  return std::all_of(first.begin(), first.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}

std::string_view TakeLine(std::string_view* rest) {
  const size_t end = std::min(rest->find('\n'), rest->size());
  std::string_view line = rest->substr(0, end);
  rest->remove_prefix(std::min(end + 1, rest->size()));
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

// Returns the value of a header; nullopt if the line is another header.
std::optional<std::string_view> ValueOf(std::string_view line, std::string_view name) {
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view found = Trimmed(line.substr(0, colon));
  if (!EqualsInAnyCase(found, name)) return std::nullopt;
  return Trimmed(line.substr(colon + 1));
}

// The facts in a head about the length of the body.
struct BodyFacts {
  int lengths = 0;
  size_t bytes = 0;
  bool is_bad = false;
  bool has_encoding = false;
};

BodyFacts FactsOf(std::string_view head) {
  BodyFacts facts;
  while (!head.empty()) {
    const std::string_view line = TakeLine(&head);
    if (ValueOf(line, "Transfer-Encoding")) facts.has_encoding = true;
    const auto length = ValueOf(line, "Content-Length");
    if (!length) continue;
    ++facts.lengths;
    if (!options::ParseNumber(*length, &facts.bytes)) facts.is_bad = true;
  }
  return facts;
}

Frame FrameOfHead(std::string_view head, size_t input_bytes) {
  const BodyFacts facts = FactsOf(head);
  if (facts.is_bad || facts.lengths > 1) return Refused(400);
  if (facts.has_encoding) return Refused(411);
  if (facts.bytes > kMostBodyBytes) return Refused(413);
  Frame frame;
  frame.head_bytes = head.size();
  frame.body_bytes = facts.bytes;
  const bool is_whole = input_bytes >= head.size() + facts.bytes;
  frame.state = is_whole ? Frame::State::kWhole : Frame::State::kMore;
  return frame;
}

}  // namespace

Frame FrameOf(std::string_view input) {
  if (!BeginsLikeHttp(input)) return Refused(400);
  const size_t end = input.substr(0, kMostHeadBytes).find(kEnd);
  if (end != std::string_view::npos) {
    return FrameOfHead(input.substr(0, end + kEnd.size()), input.size());
  }
  return input.size() < kMostHeadBytes ? Frame() : Refused(431);
}

}  // namespace allomon::serve
