// Graphs for the marshalling tests: one type of node with everything that can be written.
#ifndef ALLOMON_TESTS_RUNTIME_MARSHAL_GRAPHS_H_
#define ALLOMON_TESTS_RUNTIME_MARSHAL_GRAPHS_H_

#include <cstdint>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/heap.h"
#include "runtime/marshal.h"
#include "tests/support/sanitizers.h"

namespace allomon::gc::testing {

// A sanitizer is slower by this factor, so its workload is smaller by this factor.
inline constexpr int kSlower = allomon::testing::kHasSanitizer ? 16 : 1;

enum class Colour : uint8_t { kRed, kGreen };

struct Inner {
  char letter;
  double real;
};

// The type has padding after `letter`, `small` and `colour`.
struct Node {
  uint64_t id;
  Field<Node> left;
  bool flag;
  int small;
  Inner inner;
  Field<Array<Node>> many;
  Field<Bytes> text;
  Colour colour;
};

inline MarshalTypes NodeTypes() {
  MarshalTypes types;
  types.Add<Node>("node").Add<Array<Node>>("nodes").Add<Bytes>("bytes");
  return types;
}

// Makes `size` nodes that refer to each other at random, cycles included.  Nodes that the first one
// does not reach are dropped.
inline Local<Node> RandomGraph(std::mt19937_64& random, size_t size) {
  const auto pick = [&random](size_t n) { return random() % n; };
  std::vector<Local<Node>> nodes;
  for (size_t i = 0; i < size; ++i) {
    Local<Node> node = make<Node>();
    node->id = random();
    node->flag = pick(2) != 0;
    node->small = static_cast<int>(random());
    node->inner.letter = static_cast<char>(random());
    node->inner.real = static_cast<double>(random()) / 3;
    node->colour = static_cast<Colour>(pick(2));
    nodes.push_back(node);
  }
  for (const Local<Node>& node : nodes) {
    if (pick(4) != 0) node->left = nodes[pick(size)];
    if (pick(3) == 0) node->text = make_bytes(std::string(pick(40), static_cast<char>(random())));
    if (node != nodes[0] && pick(3) != 0) continue;
    node->many = make_array<Node>(pick(8) == 0 ? 1100 : 4 + pick(9));
    for (size_t i = 0; i < node->many->length(); ++i) {
      if (pick(3) != 0) node->many->at(i) = nodes[pick(size)];
    }
  }
  return nodes[0];
}

// Whether two graphs have the same shape and contents.  Walks both in parallel and pairs their
// nodes.  Allocates nothing in the heap.
class SameGraph {
 public:
  bool operator()(Handle<Node> a, Handle<Node> b) {
    const NoAllocation scope;
    bool same = Pair(scope.raw(a), scope.raw(b));
    while (same && !pending_.empty()) {
      const auto [x, y] = pending_.back();
      pending_.pop_back();
      same = SameNode(x, y);
    }
    return same;
  }
  size_t nodes() const { return partner_.size(); }

 private:
  bool Pair(Node* a, Node* b) {
    if (a == nullptr || b == nullptr) return a == b;
    const auto [at, is_new] = partner_.emplace(a, b);
    if (is_new) pending_.emplace_back(a, b);
    return at->second == b;
  }

  bool SameNode(Node* a, Node* b) {
    if (a->id != b->id || a->flag != b->flag || a->small != b->small) return false;
    if (a->inner.letter != b->inner.letter || a->inner.real != b->inner.real) return false;
    if (a->colour != b->colour || !Pair(a->left.operator->(), b->left.operator->())) return false;
    if (static_cast<bool>(a->text) != static_cast<bool>(b->text)) return false;
    if (a->text && a->text->view() != b->text->view()) return false;
    if (static_cast<bool>(a->many) != static_cast<bool>(b->many)) return false;
    if (!a->many) return true;
    if (a->many->length() != b->many->length()) return false;
    for (size_t i = 0; i < a->many->length(); ++i) {
      if (!Pair(a->many->at(i).operator->(), b->many->at(i).operator->())) return false;
    }
    return true;
  }

  std::unordered_map<Node*, Node*> partner_;
  std::vector<std::pair<Node*, Node*>> pending_;
};

}  // namespace allomon::gc::testing

#endif  // ALLOMON_TESTS_RUNTIME_MARSHAL_GRAPHS_H_
