// Writes collapsed stacks: "outermost;...;innermost BYTES", one per line.
#include <string>
#include <utility>
#include <vector>

#include "tools/export/exporters.h"
#include "tools/heap/named_stacks.h"
#include "tools/text/notation.h"

namespace allomon::interchange {
namespace {

void AppendStack(const Stack& stack, const std::vector<std::string>& names, std::string* text) {
  for (uint32_t frame : stack.frames) *text += names[frame] + ";";
  text->back() = ' ';
}

}  // namespace

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
