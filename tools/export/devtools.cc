// Writes V8's sampling heap profile (.heapprofile), which Chrome's DevTools load: a tree of calls
// from the outermost function on, with the bytes of one metric.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tools/export/exporters.h"
#include "tools/heap/heap_profile.h"
#include "tools/heap/named_stacks.h"

namespace allomon::interchange {
namespace {

using heap::Metric;

// Writes a tree in the order of its text, so that the depth of stacks needs no recursion.
class Writer {
 public:
  Writer(const Stacks& stacks, Metric metric) : stacks_(stacks), metric_(metric) {}

  std::string Text() {
    text_ = "{\"head\":";
    Frame root;
    root.name = "(root)";
    Open(root, 0);
    for (const Stack* stack : Order()) Add(*stack);
    CloseTo(0);
    text_ += "]},\"samples\":[]}\n";
    return std::move(text_);
  }

 private:
  // Returns the stacks so that those of a subtree follow each other, the one that ends at its root
  // first.
  std::vector<const Stack*> Order() const {
    std::vector<const Stack*> order;
    for (const Stack& stack : stacks_.stacks) {
      if (stack[metric_].bytes > 0) order.push_back(&stack);
    }
    std::sort(order.begin(), order.end(),
              [](const Stack* a, const Stack* b) { return a->frames < b->frames; });
    return order;
  }

  void Add(const Stack& stack) {
    const auto differing =
        std::mismatch(open_.begin(), open_.end(), stack.frames.begin(), stack.frames.end());
    CloseTo(static_cast<size_t>(differing.first - open_.begin()));
    while (open_.size() < stack.frames.size()) {
      const uint32_t frame = stack.frames[open_.size()];
      open_.push_back(frame);
      const bool is_innermost = open_.size() == stack.frames.size();
      Open(stacks_.frames[frame], is_innermost ? stack[metric_].bytes : 0);
    }
  }

  void Open(const Frame& frame, int64_t self_bytes) {
    if (text_.back() == '}') text_ += ',';
    const Json call = {{"functionName", frame.name},
                       {"scriptId", "0"},
                       {"url", frame.file},
                       {"lineNumber", static_cast<int64_t>(frame.start_line) - 1},
                       {"columnNumber", -1}};
    text_ += "{\"callFrame\":" + call.dump(-1, ' ', false, Json::error_handler_t::replace) +
             ",\"selfSize\":" + std::to_string(self_bytes) + ",\"id\":" + std::to_string(++nodes_) +
             ",\"children\":[";
  }

  void CloseTo(size_t depth) {
    for (; open_.size() > depth; open_.pop_back()) text_ += "]}";
  }

  const Stacks& stacks_;
  const Metric metric_;
  std::string text_;
  std::vector<uint32_t> open_;  // frames of the nodes that are not closed
  size_t nodes_ = 0;
};

}  // namespace

Exported ToDevtools(const heap::HeapProfile& profile, Metric metric) {
  const Stacks stacks = StacksOf(profile, Detail::kFunctions);
  return OneFile(Writer(stacks, metric).Text());
}

}  // namespace allomon::interchange
