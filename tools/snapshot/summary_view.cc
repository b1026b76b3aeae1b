#include <algorithm>
#include <numeric>

#include "tools/snapshot/views.h"
#include "tools/text/amounts.h"
#include "tools/text/grid.h"

namespace allomon::snapshot {
namespace {

using report::Column;
using report::Grid;

constexpr int kLeastName = 16;

struct Sums {
  uint64_t objects = 0;
  uint64_t bytes = 0;
};

class Summary {
 public:
  Summary(const Snapshot& snapshot, const Dominators& dominators, const ShortestPaths& paths,
          const Style& style)
      : snapshot_(snapshot), dominators_(dominators), paths_(paths), style_(style) {
    by_class_.resize(snapshot.classes.size());
    for (uint32_t n = 0; n < snapshot.n_nodes(); ++n) {
      if (snapshot.IsSynthetic(n)) continue;
      for (Sums* sums : {&all_, &by_class_[snapshot.node_class[n]]}) Add(n, sums);
      if (!dominators.IsReached(n)) Add(n, &unheld_);
    }
  }

  std::string Text() {
    std::string text = Objects(all_.objects) + ", " + BytesText(all_.bytes) + "\n";
    if (unheld_.objects != 0) {
      text += "not reached from a root but by weak references: " + Objects(unheld_.objects) + ", " +
              BytesText(unheld_.bytes) + "\n";
    }
    return text + "\n" + Classes() + "\nobjects that keep most alive\n\n" + Holders();
  }

 private:
  void Add(uint32_t node, Sums* sums) const {
    ++sums->objects;
    sums->bytes += snapshot_.self_bytes[node];
  }

  size_t Rows(size_t count) const { return style_.top == 0 ? count : std::min(style_.top, count); }

  std::string More(size_t count, const char* what) const {
    const size_t left = count - Rows(count);
    return left == 0 ? "" : "and " + CountText(left) + " more " + what + "; --top=0 shows all\n";
  }

  std::string Classes() const {
    const std::vector<uint64_t> retained = RetainedByClass(snapshot_, dominators_);
    std::vector<uint32_t> classes;
    for (uint32_t c = 0; c < by_class_.size(); ++c) {
      if (by_class_[c].objects != 0) classes.push_back(c);
    }
    std::stable_sort(classes.begin(), classes.end(), [&](uint32_t a, uint32_t b) {
      return retained[a] != retained[b] ? retained[a] > retained[b]
                                        : by_class_[a].bytes > by_class_[b].bytes;
    });
    Grid grid;
    grid.columns = {{"type", Column::Kind::kText, 0, kLeastName},
                    {"objects"},
                    {"bytes"},
                    {"%", Column::Kind::kNumber, 1},
                    {"keeps alive"},
                    {"%"}};
    for (size_t i = 0; i < Rows(classes.size()); ++i) {
      const uint32_t c = classes[i];
      const Sums& sums = by_class_[c];
      grid.rows.push_back({{Shown(snapshot_.classes[c], style_)},
                           {CountText(sums.objects)},
                           {BytesText(sums.bytes)},
                           {PercentText(sums.bytes, all_.bytes)},
                           {BytesText(retained[c])},
                           {PercentText(retained[c], all_.bytes)}});
    }
    return FormatGrid(std::move(grid), style_.width, style_.charset, false) +
           More(classes.size(), "types");
  }

  // Returns the objects that no other object dominates.
  std::vector<uint32_t> Outermost() const {
    std::vector<uint32_t> nodes;
    for (uint32_t n = 1; n < snapshot_.n_nodes(); ++n) {
      const uint32_t dominator = dominators_.dominator[n];
      if (dominator == kNone || snapshot_.IsSynthetic(n)) continue;
      if (snapshot_.IsSynthetic(dominator)) nodes.push_back(n);
    }
    return nodes;
  }

  std::string HeldBy(uint32_t node) const {
    const uint32_t parent = paths_.parent[node];
    if (!snapshot_.IsSynthetic(parent)) return "several ways";
    return ObjectName(snapshot_, parent, style_) +
           Shown(EdgeText(snapshot_, paths_.edge[node]), style_);
  }

  std::string Holders() const {
    std::vector<uint32_t> nodes = Outermost();
    const size_t rows = Rows(nodes.size());
    const auto middle = nodes.begin() + static_cast<ptrdiff_t>(rows);
    std::partial_sort(nodes.begin(), middle, nodes.end(), [this](uint32_t a, uint32_t b) {
      const std::vector<uint64_t>& retained = dominators_.retained_bytes;
      return retained[a] != retained[b] ? retained[a] > retained[b] : a < b;
    });
    Grid grid;
    grid.columns = {{"keeps alive"},
                    {"%", Column::Kind::kNumber, 1},
                    {"own"},
                    {"object", Column::Kind::kText, 0, kLeastName},
                    {"held by", Column::Kind::kText, 2, kLeastName}};
    for (size_t i = 0; i < rows; ++i) {
      const uint32_t n = nodes[i];
      const uint64_t retained = dominators_.retained_bytes[n];
      grid.rows.push_back({{BytesText(retained)},
                           {PercentText(retained, all_.bytes)},
                           {BytesText(snapshot_.self_bytes[n])},
                           {ObjectName(snapshot_, n, style_)},
                           {HeldBy(n)}});
    }
    return FormatGrid(std::move(grid), style_.width, style_.charset, false);
  }

  const Snapshot& snapshot_;
  const Dominators& dominators_;
  const ShortestPaths& paths_;
  const Style& style_;
  std::vector<Sums> by_class_;
  Sums all_;
  Sums unheld_;
};

}  // namespace

std::string SummaryText(const Snapshot& snapshot, const Dominators& dominators,
                        const ShortestPaths& paths, const Style& style) {
  return Summary(snapshot, dominators, paths, style).Text();
}

std::string BytesText(uint64_t bytes) {
  return report::Amount(ProfileKind::kAlloc, static_cast<MlmonInt>(bytes));
}

std::string CountText(uint64_t count) { return report::Exact(static_cast<MlmonInt>(count)); }

std::string PercentText(uint64_t part, uint64_t whole) {
  return report::Percentage(
      report::PercentOf(static_cast<MlmonInt>(part), static_cast<double>(whole)));
}

std::string Shown(std::string_view text, const Style& style) {
  return Printable(text, style.charset);
}

// Cuts names, because they may be strings of the program, which may be long.
std::string ObjectName(const Snapshot& snapshot, uint32_t node, const Style& style) {
  constexpr int kMostColumns = 60;
  if (snapshot.IsSynthetic(node)) {
    return node == 0 ? "(root)" : Shown(snapshot.String(snapshot.node_name[node]), style);
  }
  const std::string shown = Shown(snapshot.ClassOf(node), style);
  return CutToBeginning(shown, kMostColumns, style.charset) + " @" +
         std::to_string(snapshot.node_id[node]);
}

std::string Objects(uint64_t count) {
  return CountText(count) + (count == 1 ? " object" : " objects");
}

}  // namespace allomon::snapshot
