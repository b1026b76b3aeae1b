// The trackers' text about one block, in a fixed place, for the report of a memory error: the
// signal handler that writes the report cannot call a tracker.
#ifndef ALLOMON_TRACKER_BLOCK_NOTE_H_
#define ALLOMON_TRACKER_BLOCK_NOTE_H_

#include <cstddef>
#include <cstring>
#include <string_view>

namespace allomon {

struct BlockNote {
  // Room for a request's name and a number or two.  Longer text is cut.
  static constexpr size_t kMaxBytes = 120;

  // Appends to the text that is there, separated by "; ".
  void Append(std::string_view more) {
    if (more.empty()) return;
    if (length_bytes > 0) AppendBytes("; ");
    AppendBytes(more);
  }

  std::string_view view() const { return {text, length_bytes}; }

  size_t length_bytes = 0;
  char text[kMaxBytes];

 private:
  void AppendBytes(std::string_view more) {
    const size_t room = kMaxBytes - length_bytes;
    const size_t taken = more.size() < room ? more.size() : room;
    memcpy(text + length_bytes, more.data(), taken);
    length_bytes += taken;
  }
};

}  // namespace allomon

#endif  // ALLOMON_TRACKER_BLOCK_NOTE_H_
