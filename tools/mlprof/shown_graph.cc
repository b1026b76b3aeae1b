#include "tools/mlprof/shown_graph.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace allomon::mlprof {
namespace {

using Edges = std::vector<ShownEdge>;

// The calls of all sources in one array, the last call of each source first.  A search follows each
// call up to once for each shown function, so an array without pointers to chase is worth it.
class Calls {
 public:
  // The callee of a call: a hidden source, or the function that shows a shown source.
  struct Target {
    bool hidden;
    uint32_t index;
  };

  Calls(const ProfileView& view, const Selection& selection) {
    const uint32_t count = static_cast<uint32_t>(view.source_count());
    for (uint32_t source = 0; source < count; ++source) {
      begins_.push_back(targets_.size());
      const std::vector<uint32_t>& calls = view.Successors(source);
      std::for_each(calls.rbegin(), calls.rend(),
                    [&](uint32_t to) { targets_.push_back(TargetOf(to, selection)); });
    }
    begins_.push_back(targets_.size());
  }

  size_t Begin(uint32_t source) const { return begins_[source]; }
  size_t End(uint32_t source) const { return begins_[source + 1]; }
  Target operator[](size_t i) const { return targets_[i]; }

 private:
  static Target TargetOf(uint32_t source, const Selection& selection) {
    const int32_t function = selection.function_of_source[source];
    if (function == Selection::kHidden) return {true, source};
    return {false, static_cast<uint32_t>(function)};
  }

  std::vector<size_t> begins_;  // by source, and the end of the last one
  std::vector<Target> targets_;
};

// Finds edges in the order of mlprof's lists, to which everything is added at the front.  So
// sources and calls are visited last one first, and of several edges to the same function the
// newest remains.
class EdgeBuilder {
 public:
  EdgeBuilder(const ProfileView& view, const Selection& selection)
      : calls_(view, selection),
        function_of_source_(selection.function_of_source),
        edges_(selection.functions.size()),
        seen_(view.source_count(), 0),
        reached_(selection.functions.size(), 0) {}

  std::optional<ShownEdges> Build() {
    const uint32_t count = static_cast<uint32_t>(function_of_source_.size());
    for (uint32_t source = count; source-- > 0;) AddDirect(source);
    for (uint32_t source = 0; source < count; ++source) {
      AddPaths(source);
      if (dashed_count_ > kMaxDashedEdges) return std::nullopt;
    }
    for (Edges& edges : edges_) KeepNewest(&edges);
    return std::move(edges_);
  }

 private:
  // The state of the depth-first search within the calls of one source.
  struct Frame {
    size_t next;
    size_t end;
  };

  // The edges of the function that shows `source`; null for a hidden source.
  Edges* EdgesOf(uint32_t source) {
    const int32_t function = function_of_source_[source];
    return function == Selection::kHidden ? nullptr : &edges_[function];
  }

  void AddDirect(uint32_t source) {
    Edges* edges = EdgesOf(source);
    if (edges == nullptr) return;
    for (size_t i = calls_.Begin(source); i < calls_.End(source); ++i) {
      if (!calls_[i].hidden) edges->push_back({calls_[i].index, false});
    }
  }

  void AddPaths(uint32_t source) {
    Edges* edges = EdgesOf(source);
    if (edges == nullptr) return;
    ++search_;
    for (size_t i = calls_.Begin(source); i < calls_.End(source); ++i) {
      if (calls_[i].hidden) Search(calls_[i].index, edges);
    }
  }

  // Adds an edge to each shown function that the hidden `source` calls, directly or through other
  // hidden sources, unless this search has visited it.  `source` itself is not marked: it counts as
  // seen only when a call leads back to it.
  void Search(uint32_t source, Edges* edges) {
    stack_.push_back({calls_.Begin(source), calls_.End(source)});
    while (!stack_.empty()) {
      Frame& frame = stack_.back();
      if (frame.next == frame.end) {
        stack_.pop_back();
        continue;
      }
      const Calls::Target to = calls_[frame.next++];
      if (!to.hidden) {
        AddDashed(to.index, edges);
      } else if (Mark(&seen_[to.index])) {
        stack_.push_back({calls_.Begin(to.index), calls_.End(to.index)});
      }
    }
  }

  void AddDashed(uint32_t function, Edges* edges) {
    if (!Mark(&reached_[function])) return;
    edges->push_back({function, true});
    ++dashed_count_;
  }

  // True the first time in this search.
  bool Mark(uint32_t* mark) const {
    const bool first = *mark != search_;
    *mark = search_;
    return first;
  }

  void KeepNewest(Edges* edges) {
    ++search_;
    Edges newest;
    for (auto edge = edges->rbegin(); edge != edges->rend(); ++edge) {
      if (Mark(&reached_[edge->to])) newest.push_back(*edge);
    }
    std::reverse(newest.begin(), newest.end());
    *edges = std::move(newest);
  }

  const Calls calls_;
  const std::vector<int32_t>& function_of_source_;
  ShownEdges edges_;
  std::vector<uint32_t> seen_;     // by source: the last search that saw it
  std::vector<uint32_t> reached_;  // by function: the last search that reached it
  std::vector<Frame> stack_;       // empty between searches
  uint32_t search_ = 0;
  size_t dashed_count_ = 0;
};

}  // namespace

std::optional<ShownEdges> FindShownEdges(const ProfileView& view, const Selection& selection) {
  return EdgeBuilder(view, selection).Build();
}

}  // namespace allomon::mlprof
