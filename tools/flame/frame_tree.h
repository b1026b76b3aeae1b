// Merges heap profiles to one tree of frames, which the page draws.
//
// A tree can have two sides: the profiles that are shown, and those that they are compared with.  A
// node is a frame below a chain of callers; lines of one function are one node.  The classes have
// plain values and no locks.
#ifndef ALLOMON_TOOLS_FLAME_FRAME_TREE_H_
#define ALLOMON_TOOLS_FLAME_FRAME_TREE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tools/heap/heap_profile.h"
#include "tools/heap/interval.h"

namespace allomon::flame {

inline constexpr int32_t kSeveralLines = -1;

// Limits: a browser cannot hold more nodes.  Frames are limited since a few bytes of a hostile file
// can stand for very many inlined calls.
inline constexpr size_t kMostNodes = size_t{1} << 22;
inline constexpr size_t kMostFrames = size_t{1} << 25;

struct FrameFunction {
  std::string name;
  std::string file;         // empty: not known
  std::string module;       // last part of the path of its program or library; empty: not known
  uint32_t start_line = 0;  // 0: not known
};

// A frame in the tree.  The first node is the root, which is no frame.  Parents come before their
// children.
struct FrameNode {
  uint32_t parent = 0;
  uint32_t function = 0;
  bool inlined = false;
  int32_t line = 0;  // of the call; 0: not known; kSeveralLines
};

enum Side : uint8_t { kShown, kBefore };
inline constexpr size_t kSides = 2;

// A class of ages (heap::AgesOf): the power of two in nanoseconds, and the eighth of it.
using AgeClass = std::pair<uint8_t, uint8_t>;

// The amounts of a node's stack itself, without those of its callees.
struct Leaf {
  uint32_t node = 0;
  std::array<std::vector<heap::Estimate>, kSides> by_metric;  // as many as metrics, or empty
  std::map<AgeClass, heap::Estimate> births;  // of live blocks that are shown, if ages are kept
};

class FrameTree {
 public:
  // Counts only these metrics, in this order.  Functions of two builds are the same if
  // their names and the last parts of their files are: programs and folders have other names.
  enum class Builds { kOne, kTwo };
  explicit FrameTree(std::vector<heap::Metric> metrics, Builds builds = Builds::kOne);

  // Keeps live blocks by their ages as well.  Call it before Add().
  void KeepBirths() { keeps_births_ = true; }

  // Adds a profile.  Several profiles of a side add up, with variances by their own rates.  False
  // if the tree exceeds kMostNodes or kMostFrames; then it must not be used.
  bool Add(const heap::HeapProfile& profile, Side side);

  const std::vector<heap::Metric>& metrics() const { return metrics_; }
  const std::vector<FrameFunction>& functions() const { return functions_; }
  const std::vector<FrameNode>& nodes() const { return nodes_; }
  const std::vector<Leaf>& leaves() const { return leaves_; }

 private:
  // One frame of a location, ready for the tree.
  struct Step {
    uint32_t function;
    bool inlined;
    int32_t line;
  };
  using Steps = std::vector<Step>;

  std::vector<Steps> StepsOfLocations(const heap::HeapProfile& profile);
  Steps StepsOf(const heap::Location& location, const heap::HeapProfile& profile);
  std::string KeyOf(const FrameFunction& function) const;
  uint32_t FunctionOf(FrameFunction function);
  uint32_t ChildOf(uint32_t parent, const Step& step);
  uint32_t NodeOf(const std::vector<uint32_t>& stack, const std::vector<Steps>& steps);
  Leaf* LeafOf(uint32_t node);

  void AddSample(const heap::HeapProfile& profile, const heap::Sample& sample, Side side,
                 const std::vector<Steps>& steps);

  const Builds builds_;
  bool keeps_births_ = false;
  std::vector<heap::Metric> metrics_;
  std::vector<FrameFunction> functions_;
  std::vector<FrameNode> nodes_;
  std::vector<Leaf> leaves_;
  std::unordered_map<std::string, uint32_t> function_numbers_;  // by KeyOf()
  std::unordered_map<uint64_t, uint32_t> children_;             // by parent and frame
  std::unordered_map<uint32_t, uint32_t> leaf_numbers_;         // by node
  size_t frames_walked_ = 0;
};

}  // namespace allomon::flame

#endif  // ALLOMON_TOOLS_FLAME_FRAME_TREE_H_
