#include "tools/load/recording/ended_scopes.h"

#include <algorithm>
#include <tuple>

#include "tools/heap/born.h"
#include "tools/heap/labels.h"
#include "tracker/base/check.h"

namespace allomon::recording {
namespace {

constexpr size_t kNoNode = SIZE_MAX;
constexpr uint64_t kOpen = UINT64_MAX;
// Steps outwards from a block's time.  A writer nests no more scopes than a block has labels.
constexpr int kMostSteps = 64;

struct LabelText {
  std::string_view key;
  std::string_view value;
};

// Returns the label number `place` of a text of the recording; both are empty if it is not there.
LabelText LabelAt(std::string_view text, uint32_t place) {
  for (uint32_t i = 0; !text.empty(); ++i) {
    const size_t key = text.find('\0');
    const size_t value = key == text.npos ? text.npos : text.find('\0', key + 1);
    if (value == text.npos) return {};
    if (i == place) return {text.substr(0, key), text.substr(key + 1, value - key - 1)};
    text.remove_prefix(value + 1);
  }
  return {};
}

std::string Joined(std::string_view key, std::string_view value) {
  std::string joined(key);
  joined += '\0';
  return joined.append(value);
}

// Whether a block's label is that of the scope.  Its value may have found no room in the set of the
// block alone.
bool IsOf(const heap::Label& label, std::string_view key, std::string_view value) {
  return label.key == key && (label.value == value || label.value == heap::kOtherLabels);
}

std::tuple<uint32_t, bool, uint8_t, uint8_t> Place(const heap::OutlivedCell& cell) {
  return {cell.label, cell.is_innermost, cell.since_end.log2_nanos, cell.since_end.eighth};
}

}  // namespace

EndedScopes::EndedScopes(const Process& process) : now_nanos_(process.record.last_nanos) {
  for (const Scope& scope : process.scopes) {
    if (scope.thread == 0) continue;
    const LabelText label = LabelAt(process.TextOf(scope.labels), scope.label);
    if (label.key.empty() && label.value.empty()) continue;
    if (scope.thread == kEveryThread) {
      uint64_t& end = ends_[Joined(label.key, label.value)];
      end = std::max(end, scope.end_nanos);
      continue;
    }
    of_thread_[scope.thread].push_back({scope.begin_nanos,
                                        scope.end_nanos == 0 ? kOpen : scope.end_nanos, kNoNode,
                                        label.key, label.value});
  }
  for (auto& [thread, nodes] : of_thread_) Nest(&nodes);
}

// Of scopes with one begin, the one that ends later is outside.
void EndedScopes::Nest(std::vector<Node>* nodes) {
  std::sort(nodes->begin(), nodes->end(), [](const Node& a, const Node& b) {
    return a.begin_nanos != b.begin_nanos ? a.begin_nanos < b.begin_nanos
                                          : a.end_nanos > b.end_nanos;
  });
  std::vector<size_t> open;
  for (size_t i = 0; i < nodes->size(); ++i) {
    while (!open.empty() && (*nodes)[open.back()].end_nanos < (*nodes)[i].begin_nanos) {
      open.pop_back();
    }
    (*nodes)[i].outer = open.empty() ? kNoNode : open.back();
    ALLOMON_DCHECK("inv.load.scopes", (*nodes)[i].outer == kNoNode || (*nodes)[i].outer < i);
    open.push_back(i);
  }
}

heap::AgeCell EndedScopes::TimeSince(uint64_t end_nanos, const heap::Amount& amount) const {
  const uint64_t nanos = now_nanos_ > end_nanos ? now_nanos_ - end_nanos : 0;
  const auto log2 = nanos < 2 ? uint8_t{0} : static_cast<uint8_t>(63 - __builtin_clzll(nanos));
  return {heap::kUnknownLog2, log2, false, amount, heap::EighthOf(nanos)};
}

// The last scope that began before the block's birth is around it, or a scope outside of it is.
template <typename Visit>
void EndedScopes::VisitScopes(const LiveBlock& block, Visit visit) const {
  const auto found = of_thread_.find(block.thread);
  if (found == of_thread_.end()) return;
  const std::vector<Node>& nodes = found->second;
  const auto after =
      std::upper_bound(nodes.begin(), nodes.end(), block.birth_nanos,
                       [](uint64_t nanos, const Node& node) { return nanos < node.begin_nanos; });
  size_t at = after == nodes.begin() ? kNoNode : static_cast<size_t>(after - nodes.begin()) - 1;
  for (int step = 0; at != kNoNode && step < kMostSteps; ++step, at = nodes[at].outer) {
    ALLOMON_DCHECK_LE("inv.load.scopes", nodes[at].begin_nanos, block.birth_nanos);
    const Node& node = nodes[at];
    if (node.end_nanos != kOpen && node.end_nanos >= block.birth_nanos) visit(node);
  }
}

void EndedScopes::AddCells(const LiveBlock& block, const heap::Amount& amount,
                           heap::Sample* sample) const {
  const std::vector<heap::Label>& labels = sample->labels;
  std::vector<bool> is_told(labels.size(), false);
  bool is_innermost = true;
  const auto add = [&](size_t label, uint64_t end_nanos) {
    ALLOMON_DCHECK("inv.load.scopes", label < labels.size() && !is_told[label]);
    is_told[label] = true;
    sample->outlived.push_back(
        {static_cast<uint32_t>(label), is_innermost, TimeSince(end_nanos, amount)});
    is_innermost = false;
  };
  VisitScopes(block, [&](const Node& node) {
    for (size_t i = 0; i < labels.size(); ++i) {
      if (!is_told[i] && IsOf(labels[i], node.key, node.value)) add(i, node.end_nanos);
    }
  });
  for (size_t i = 0; !ends_.empty() && i < labels.size(); ++i) {
    if (is_told[i]) continue;
    const auto end = ends_.find(Joined(labels[i].key, labels[i].value));
    if (end != ends_.end() && block.birth_nanos <= end->second) add(i, end->second);
  }
}

void Merge(std::vector<heap::OutlivedCell>* cells) {
  std::sort(cells->begin(), cells->end(),
            [](const auto& a, const auto& b) { return Place(a) < Place(b); });
  size_t kept = 0;
  for (const heap::OutlivedCell& cell : *cells) {
    if (kept > 0 && Place((*cells)[kept - 1]) == Place(cell)) {
      (*cells)[kept - 1].since_end.amount.Add(cell.since_end.amount);
    } else {
      (*cells)[kept++] = cell;
    }
  }
  ALLOMON_DCHECK_LE("inv.load.scopes", kept, cells->size());
  cells->resize(kept);
  cells->shrink_to_fit();
}

}  // namespace allomon::recording
