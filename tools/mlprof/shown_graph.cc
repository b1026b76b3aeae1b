#include "tools/mlprof/shown_graph.h"

#include <algorithm>
#include <cstddef>

namespace allomon::mlprof {
namespace {

using Edges = std::vector<ShownEdge>;

// The order of edges is that of mlprof's lists, to which everything is added at
// the front: sources and calls are visited last one first, the newest of
// several edges to the same function survives.
class EdgeBuilder {
 public:
  EdgeBuilder(const ProfileView& view, const Selection& selection)
      : view_(view),
        function_of_source_(selection.function_of_source),
        edges_(selection.functions.size()),
        seen_(view.source_count(), 0),
        reached_(selection.functions.size(), 0) {}

  std::vector<Edges> Build() {
    const uint32_t count = static_cast<uint32_t>(view_.source_count());
    for (uint32_t source = count; source-- > 0;) AddDirect(source);
    for (uint32_t source = 0; source < count; ++source) AddPaths(source);
    for (Edges& edges : edges_) KeepNewest(&edges);
    return std::move(edges_);
  }

 private:
  // Where the depth-first search stands: calls of `source` up to `left` are to
  // do.
  struct Frame {
    uint32_t source;
    size_t left;
  };

  bool IsHidden(uint32_t source) const {
    return function_of_source_[source] == Selection::kHidden;
  }

  template <typename Visit>
  void ForEachCallLastFirst(uint32_t source, Visit visit) const {
    const std::vector<uint32_t>& calls = view_.Successors(source);
    std::for_each(calls.rbegin(), calls.rend(), visit);
  }

  void AddDirect(uint32_t source) {
    if (IsHidden(source)) return;
    Edges& edges = edges_[function_of_source_[source]];
    ForEachCallLastFirst(source, [&](uint32_t to) {
      if (!IsHidden(to)) edges.push_back({function_of_source_[to], false});
    });
  }

  void AddPaths(uint32_t source) {
    if (IsHidden(source)) return;
    ++search_;
    Edges& edges = edges_[function_of_source_[source]];
    ForEachCallLastFirst(source, [&](uint32_t to) {
      if (IsHidden(to)) Search(to, &edges);
    });
  }

  // Adds an edge to each shown function that is called from the hidden `source`
  // or from hidden functions behind it, except those this search has been at.
  void Search(uint32_t source, Edges* edges) {
    std::vector<Frame> stack = {{source, view_.Successors(source).size()}};
    while (!stack.empty()) {
      Frame& frame = stack.back();
      if (frame.left == 0) {
        stack.pop_back();
        continue;
      }
      const uint32_t to = view_.Successors(frame.source)[--frame.left];
      if (!Mark(&seen_[to])) continue;
      if (IsHidden(to)) {
        stack.push_back({to, view_.Successors(to).size()});
      } else if (Mark(&reached_[function_of_source_[to]])) {
        edges->push_back({function_of_source_[to], true});
      }
    }
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

  const ProfileView& view_;
  const std::vector<int32_t>& function_of_source_;
  std::vector<Edges> edges_;
  std::vector<uint32_t> seen_;     // by source, the last search that saw it
  std::vector<uint32_t> reached_;  // by function
  uint32_t search_ = 0;
};

}  // namespace

std::vector<std::vector<ShownEdge>> ShownEdges(const ProfileView& view,
                                               const Selection& selection) {
  return EdgeBuilder(view, selection).Build();
}

}  // namespace allomon::mlprof
