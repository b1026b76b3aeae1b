#include "tools/snapshot/dominators.h"

#include <utility>

namespace allomon::snapshot {
namespace {

using Numbers = std::vector<uint32_t>;

// Vertices are numbers of a depth-first walk, from 1; 0 stands for no vertex.
class LengauerTarjan {
 public:
  explicit LengauerTarjan(const Snapshot& snapshot) : graph_(snapshot) {}

  Dominators Find() {
    Walk();
    FindPredecessors();
    FindSemidominators();
    return Result();
  }

 private:
  // Numbers the nodes in preorder.  `cursor` is the next edge of each node that the walk has
  // entered.
  void Walk() {
    number_.assign(graph_.n_nodes(), 0);
    vertex_.assign(1, 0);
    parent_.assign(1, 0);
    Numbers cursor(graph_.first_edge.begin(), graph_.first_edge.end() - 1);
    Enter(0, 0);
    for (uint32_t v = 1; v != 0;) {
      const uint32_t node = vertex_[v];
      const uint32_t next = NextNew(node, &cursor[node]);
      if (next == kNone) {
        v = parent_[v];
      } else {
        v = Enter(next, v);
      }
    }
  }

  uint32_t NextNew(uint32_t node, uint32_t* cursor) const {
    for (const uint32_t end = graph_.first_edge[node + 1]; *cursor != end;) {
      const uint32_t edge = (*cursor)++;
      if ((graph_.edge_flags[edge] & kRetains) == 0) continue;
      if (number_[graph_.edge_to[edge]] == 0) return graph_.edge_to[edge];
    }
    return kNone;
  }

  uint32_t Enter(uint32_t node, uint32_t parent) {
    const auto v = static_cast<uint32_t>(vertex_.size());
    number_[node] = v;
    vertex_.push_back(node);
    parent_.push_back(parent);
    return v;
  }

  uint32_t n() const { return static_cast<uint32_t>(vertex_.size() - 1); }

  template <typename Visit>
  void ForEachRetainingEdge(Visit visit) const {
    for (uint32_t v = 1; v <= n(); ++v) {
      const uint32_t node = vertex_[v];
      for (uint32_t e = graph_.first_edge[node]; e < graph_.first_edge[node + 1]; ++e) {
        if ((graph_.edge_flags[e] & kRetains) != 0) visit(v, number_[graph_.edge_to[e]]);
      }
    }
  }

  // Fills the lists of predecessors: the vertices with an edge to w are
  // predecessors_[first_predecessor_[w], ...[w + 1]).
  void FindPredecessors() {
    first_predecessor_.assign(n() + 2, 0);
    ForEachRetainingEdge([this](uint32_t, uint32_t w) { ++first_predecessor_[w]; });
    uint32_t sum = 0;
    for (uint32_t& first : first_predecessor_) first = sum += first;
    predecessors_.resize(sum);
    ForEachRetainingEdge(
        [this](uint32_t v, uint32_t w) { predecessors_[--first_predecessor_[w]] = v; });
  }

  void FindSemidominators() {
    semi_.resize(n() + 1);
    for (uint32_t v = 0; v <= n(); ++v) semi_[v] = v;
    label_ = semi_;
    ancestor_.assign(n() + 1, 0);
    dominator_.assign(n() + 1, 0);
    bucket_.assign(n() + 1, 0);
    for (uint32_t w = n(); w > 1; --w) {
      for (uint32_t i = first_predecessor_[w]; i < first_predecessor_[w + 1]; ++i) {
        const uint32_t u = Evaluate(predecessors_[i]);
        if (semi_[u] < semi_[w]) semi_[w] = semi_[u];
      }
      // While a vertex is in a bucket, its dominator_ is the next vertex of that bucket.
      dominator_[w] = std::exchange(bucket_[semi_[w]], w);
      ancestor_[w] = parent_[w];
      EmptyBucket(parent_[w]);
    }
    for (uint32_t w = 2; w <= n(); ++w) {
      if (dominator_[w] != semi_[w]) dominator_[w] = dominator_[dominator_[w]];
    }
  }

  void EmptyBucket(uint32_t parent) {
    for (uint32_t v = std::exchange(bucket_[parent], 0); v != 0;) {
      const uint32_t u = Evaluate(v);
      const uint32_t next = dominator_[v];
      dominator_[v] = semi_[u] < semi_[v] ? u : parent;
      v = next;
    }
  }

  uint32_t Evaluate(uint32_t v) {
    if (ancestor_[v] == 0) return v;
    Compress(v);
    return label_[v];
  }

  void Compress(uint32_t v) {
    for (; ancestor_[ancestor_[v]] != 0; v = ancestor_[v]) path_.push_back(v);
    for (; !path_.empty(); path_.pop_back()) {
      const uint32_t w = path_.back();
      const uint32_t above = ancestor_[w];
      if (semi_[label_[above]] < semi_[label_[w]]) label_[w] = label_[above];
      ancestor_[w] = ancestor_[above];
    }
  }

  // Sums retained sizes backwards, since a dominator has a smaller number than the vertices that it
  // dominates.
  Dominators Result() {
    Dominators result;
    predecessors_ = first_predecessor_ = semi_ = label_ = ancestor_ = bucket_ = parent_ = Numbers();
    result.dominator.assign(graph_.n_nodes(), kNone);
    for (uint32_t w = 2; w <= n(); ++w) result.dominator[vertex_[w]] = vertex_[dominator_[w]];
    dominator_ = Numbers();
    result.preorder.assign(vertex_.begin() + 1, vertex_.end());
    result.retained_bytes.assign(graph_.n_nodes(), 0);
    for (size_t i = result.preorder.size(); i-- > 0;) {
      const uint32_t node = result.preorder[i];
      result.retained_bytes[node] += graph_.self_bytes[node];
      const uint32_t dominator = result.dominator[node];
      if (dominator != kNone) result.retained_bytes[dominator] += result.retained_bytes[node];
    }
    return result;
  }

  const Snapshot& graph_;
  Numbers number_;  // by node
  Numbers vertex_;  // the node, by number
  Numbers parent_;
  Numbers first_predecessor_;
  Numbers predecessors_;
  Numbers semi_;
  Numbers label_;
  Numbers ancestor_;
  Numbers dominator_;
  Numbers bucket_;
  Numbers path_;
};

}  // namespace

Dominators FindDominators(const Snapshot& snapshot) { return LengauerTarjan(snapshot).Find(); }

// Walks the dominator tree depth first.  Skips nodes below another node of their class, whose
// retained size includes them.
std::vector<uint64_t> RetainedByClass(const Snapshot& snapshot, const Dominators& dominators) {
  Numbers first_child(snapshot.n_nodes(), kNone);
  Numbers next_sibling(snapshot.n_nodes(), kNone);
  for (size_t i = dominators.preorder.size(); i-- > 1;) {
    const uint32_t node = dominators.preorder[i];
    next_sibling[node] = std::exchange(first_child[dominators.dominator[node]], node);
  }
  std::vector<uint64_t> retained(snapshot.classes.size(), 0);
  Numbers open(snapshot.classes.size(), 0);
  uint32_t node = 0;
  for (;;) {
    const uint32_t its_class = snapshot.node_class[node];
    if (open[its_class]++ == 0) retained[its_class] += dominators.retained_bytes[node];
    if (first_child[node] != kNone) {
      node = first_child[node];
      continue;
    }
    while (node != 0 && next_sibling[node] == kNone) {
      --open[snapshot.node_class[node]];
      node = dominators.dominator[node];
    }
    if (node == 0) return retained;
    --open[snapshot.node_class[node]];
    node = next_sibling[node];
  }
}

}  // namespace allomon::snapshot
