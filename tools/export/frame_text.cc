#include "tools/export/frame_text.h"

#include "tools/export/one_line.h"
#include "tools/text/hexadecimal.h"

namespace allomon::interchange {
namespace {

std::string Place(const heap::HeapProfile& profile, const Frame& frame) {
  if (!frame.file.empty()) return " (" + frame.file + ":" + std::to_string(frame.line) + ")";
  if (frame.mapping == heap::kNone) return "";
  return " (in " + profile.mappings[frame.mapping].path + ")";
}

}  // namespace

std::string FrameText(const heap::HeapProfile& profile, const Frame& frame) {
  return OneLine("0x" + Hexadecimal(frame.address) + ": " + frame.name + Place(profile, frame));
}

}  // namespace allomon::interchange
