#include "tools/export/frames.h"

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/export/exporters.h"
#include "tools/heap/named_stacks.h"
#include "tools/text/numbers.h"

namespace allomon::interchange {
namespace {

std::string Place(const heap::HeapProfile& profile, const Frame& frame) {
  const std::string line = frame.line == 0 ? "" : ":" + std::to_string(frame.line);
  if (!frame.file.empty()) return " (" + frame.file + line + ")";
  if (frame.mapping == heap::kNone) return "";
  return " (in " + profile.mappings[frame.mapping].path + ")";
}

void AppendStack(const Stack& stack, const std::vector<std::string>& names, std::string* text) {
  for (uint32_t frame : stack.frames) *text += names[frame] + ";";
  text->back() = ' ';
}

}  // namespace

Functions FunctionsOf(const Stacks& stacks) {
  Functions functions;
  std::map<std::pair<std::string_view, std::string_view>, uint32_t> numbers;  // by name and file
  for (uint32_t i = 0; i < stacks.frames.size(); ++i) {
    const Frame& frame = stacks.frames[i];
    const auto next = static_cast<uint32_t>(functions.first_frame.size());
    const auto [at, is_new] = numbers.try_emplace({frame.name, frame.file}, next);
    if (is_new) functions.first_frame.push_back(i);
    functions.of_frame.push_back(at->second);
  }
  return functions;
}

std::string FrameText(const heap::HeapProfile& profile, const Frame& frame) {
  return OneLine("0x" + Hexadecimal(frame.address) + ": " + frame.name + Place(profile, frame));
}

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

Exported ToCollapsed(const heap::HeapProfile& profile, heap::Metric metric) {
  const Stacks stacks = StacksOf(profile, Detail::kFunctions);
  std::vector<std::string> names;
  for (const Frame& frame : stacks.frames) names.push_back(EscapedFrame(frame.name));
  std::string text;
  for (const Stack& stack : stacks.stacks) {
    if (stack[metric].bytes == 0) continue;
    AppendStack(stack, names, &text);
    text += std::to_string(stack[metric].bytes) + "\n";
  }
  return OneFile(std::move(text));
}

}  // namespace allomon::interchange
