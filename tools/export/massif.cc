// Writes valgrind's massif: bytes in use over time, and trees of the peak and of the end whose
// roots are the innermost functions.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "tools/export/exporters.h"
#include "tools/export/frames.h"
#include "tools/heap/named_stacks.h"

namespace allomon::interchange {
namespace {

using heap::HeapProfile;
using heap::Metric;

constexpr int64_t kThreshold = 1000;  // subtrees below a thousandth of the whole are one line
constexpr size_t kMostDepth = 200;    // frames; each level is indented by one more blank

// Replaces '#', because readers take the text after it for a comment.
std::string Label(std::string text) {
  std::replace(text.begin(), text.end(), '#', '@');
  return text;
}

// A tree over stacks that are sorted from the innermost frame on, so that a subtree is a range.
class Tree {
 public:
  Tree(const HeapProfile& profile, const Stacks& stacks, Metric metric)
      : profile_(profile), stacks_(stacks), metric_(metric) {
    for (const Stack& stack : stacks.stacks) {
      if (stack[metric].bytes > 0) order_.push_back(&stack);
    }
    std::sort(order_.begin(), order_.end(), [](const Stack* a, const Stack* b) {
      return std::lexicographical_compare(a->frames.rbegin(), a->frames.rend(), b->frames.rbegin(),
                                          b->frames.rend());
    });
    least_ = stacks.Total(metric).bytes / kThreshold;
  }

  std::string Text() {
    Write({0, order_.size(), stacks_.Total(metric_).bytes}, 0,
          "(heap allocation functions) malloc, new and their kin");
    return std::move(text_);
  }

 private:
  struct Range {
    size_t begin = 0;  // index in order_
    size_t end = 0;
    int64_t bytes = 0;
  };

  // Returns the frame that is `depth` calls from the innermost one.
  static uint32_t FrameAt(const Stack& stack, size_t depth) {
    return stack.frames[stack.frames.size() - 1 - depth];
  }

  // Groups the stacks of the range that have a frame at `depth` by that frame, the largest group
  // first.
  std::vector<Range> Children(const Range& range, size_t depth) const {
    std::vector<Range> children;
    for (size_t i = range.begin; i < range.end; ++i) {
      const Stack& stack = *order_[i];
      if (stack.frames.size() <= depth) continue;
      const bool is_new = children.empty() ||
                          FrameAt(*order_[children.back().begin], depth) != FrameAt(stack, depth);
      if (is_new) children.push_back({i, i, 0});
      children.back().end = i + 1;
      children.back().bytes += stack[metric_].bytes;
    }
    std::stable_sort(children.begin(), children.end(),
                     [](const Range& a, const Range& b) { return a.bytes > b.bytes; });
    return children;
  }

  void WriteLine(size_t depth, size_t children, int64_t bytes, const std::string& label) {
    text_ += std::string(depth, ' ') + "n" + std::to_string(children) + ": ";
    text_ += std::to_string(bytes) + " " + label + "\n";
  }

  void Write(const Range& range, size_t depth, const std::string& label) {
    std::vector<Range> children;
    if (depth < kMostDepth) children = Children(range, depth);
    const auto small = std::find_if(children.begin(), children.end(),
                                    [this](const Range& child) { return child.bytes < least_; });
    const std::vector<Range> rest(small, children.end());
    children.erase(small, children.end());
    WriteLine(depth, children.size() + (rest.empty() ? 0 : 1), range.bytes, label);
    for (const Range& child : children) {
      const uint32_t frame = FrameAt(*order_[child.begin], depth);
      Write(child, depth + 1, Label(FrameText(profile_, stacks_.frames[frame])));
    }
    if (!rest.empty()) WriteRest(rest, depth + 1);
  }

  void WriteRest(const std::vector<Range>& rest, size_t depth) {
    int64_t bytes = 0;
    for (const Range& range : rest) bytes += range.bytes;
    WriteLine(depth, 0, bytes,
              "in " + std::to_string(rest.size()) + (rest.size() == 1 ? " place" : " places, all") +
                  " below the threshold (0.10%)");
  }

  const HeapProfile& profile_;
  const Stacks& stacks_;
  const Metric metric_;
  std::vector<const Stack*> order_;
  int64_t least_ = 0;
  std::string text_;
};

struct Snapshot {
  int64_t millis = 0;
  int64_t bytes = 0;
  std::string tree = "empty\n";
};

int64_t Whole(double value) { return value > 0 && value < 9e15 ? std::llround(value) : 0; }

Snapshot Detailed(const HeapProfile& profile, const Stacks& stacks, Metric metric, double seconds) {
  const char* const kind = metric == Metric::kPeak ? "peak\n" : "detailed\n";
  return {Whole(seconds * 1e3), stacks.Total(metric).bytes,
          kind + Tree(profile, stacks, metric).Text()};
}

// Returns snapshots in the order of time.  Among those of one time, the ones with trees come last.
std::vector<Snapshot> SnapshotsOf(const HeapProfile& profile) {
  std::vector<Snapshot> snapshots;
  for (const heap::TimelinePoint& point : profile.timeline) {
    snapshots.push_back({Whole(point.seconds * 1e3), Whole(point.live_bytes)});
  }
  const Stacks stacks = StacksOf(profile, Detail::kLines);
  if (Has(profile, Metric::kPeak)) {
    snapshots.push_back(Detailed(profile, stacks, Metric::kPeak, profile.peak_seconds));
  }
  std::stable_sort(snapshots.begin(), snapshots.end(),
                   [](const Snapshot& a, const Snapshot& b) { return a.millis < b.millis; });
  if (Has(profile, Metric::kLive)) {
    Snapshot end = Detailed(profile, stacks, Metric::kLive, profile.duration_seconds);
    if (!snapshots.empty()) end.millis = std::max(end.millis, snapshots.back().millis);
    snapshots.push_back(std::move(end));
  }
  return snapshots;
}

std::string Text(const Snapshot& snapshot, size_t number) {
  return "#-----------\nsnapshot=" + std::to_string(number) +
         "\n#-----------\ntime=" + std::to_string(snapshot.millis) +
         "\nmem_heap_B=" + std::to_string(snapshot.bytes) +
         "\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=" + snapshot.tree;
}

}  // namespace

Exported ToMassif(const HeapProfile& profile, Metric metric) {
  if (metric != Metric::kLive && metric != Metric::kPeak) {
    return absl::InvalidArgumentError(
        "massif shows what is in use, live and peak; choose another format, such as callgrind");
  }
  const std::string& command = profile.command.empty() ? profile.program : profile.command;
  std::string text = "desc: allomon\ncmd: " + Label(OneLine(command)) + "\ntime_unit: ms\n";
  const std::vector<Snapshot> snapshots = SnapshotsOf(profile);
  for (size_t i = 0; i < snapshots.size(); ++i) text += Text(snapshots[i], i);
  return OneFile(std::move(text));
}

}  // namespace allomon::interchange
