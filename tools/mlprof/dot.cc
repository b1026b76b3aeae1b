#include "tools/mlprof/dot.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/mlprof/table.h"
#include "tools/text/numbers.h"

namespace allomon::mlprof {
namespace {

// A single backslash in a label.  C++ takes half of these, and Graphviz, which unescapes a label
// twice, takes half of the rest each time.
constexpr std::string_view kBackslash = "\\\\\\\\";

bool IsPrintable(char c) { return ' ' <= c && c <= '~'; }

void AppendUnprintable(char c, std::string* out) {
  out->append(kBackslash);
  if (c == '\n') {
    out->push_back('n');
  } else if (c == '\t') {
    out->push_back('t');
  } else {
    char octal[4];
    snprintf(octal, sizeof octal, "%o", static_cast<unsigned>(static_cast<unsigned char>(c)));
    out->append(octal);
  }
}

void AppendEscaped(std::string_view text, std::string* out) {
  for (char c : text) {
    if (!IsPrintable(c)) {
      AppendUnprintable(c, out);
    } else if (c == '\\') {
      out->append(kBackslash);
    } else {
      if (c == '"') out->push_back('\\');
      out->push_back(c);
    }
  }
}

void AppendLabelLine(std::string_view text, std::string* out) {
  AppendEscaped(text, out);
  out->append("\\n");
}

std::string Join(const std::vector<std::string>& cells) {
  std::string joined;
  for (const std::string& cell : cells) {
    if (!joined.empty()) joined.push_back(' ');
    joined.append(cell);
  }
  return joined;
}

class DotWriter {
 public:
  DotWriter(const ProfileView& view, const Selection& selection, const DotStyle& style)
      : view_(view),
        selection_(selection),
        style_(style),
        ids_(selection.functions.size(), kNoId) {}

  // Writes the nodes, the newest first.
  bool Write(std::string* error) {
    // Nothing is escaped here, because mlprof escapes no title.
    out_ = "digraph \"" + style_.title + "\" {\nlabel = \"";
    AppendEscaped(style_.title, &out_);
    out_.append("\"\n");
    const std::optional<ShownEdges> edges = FindShownEdges(view_, selection_);
    if (!edges) {
      *error = "the call graph has more than " + FormatCommas(kMaxDashedEdges) +
               " dashed edges; keep fewer functions, or all";
      return false;
    }
    for (size_t i = selection_.functions.size(); i-- > 0;) {
      if (!AppendNode(i, error)) return false;
      for (const ShownEdge& edge : (*edges)[i]) AppendEdge(i, edge);
    }
    out_.push_back('}');
    return true;
  }

  std::string TakeText() { return std::move(out_); }

 private:
  static constexpr int kNoId = -1;

  // Nodes are numbered in the order in which they are mentioned.
  std::string Id(size_t function) {
    if (ids_[function] == kNoId) ids_[function] = next_id_++;
    return "n" + std::to_string(ids_[function]);
  }

  bool AppendNode(size_t index, std::string* error) {
    const ShownFunction& function = selection_.functions[index];
    std::string color;
    if (!Color(function, &color, error)) return false;
    out_.append(Id(index)).append(" [shape = \"box\", label = \"");
    AppendLabel(function);
    out_.append("\", color = \"").append(color).append("\"]\n");
    return true;
  }

  void AppendLabel(const ShownFunction& function) {
    const SourceName& name = view_.program().table.names[function.name];
    AppendLabelLine(name.name, &out_);
    if (style_.show_line && !name.position.empty()) {
      AppendLabelLine(name.position, &out_);
    }
    if (IsNonZero(*function.count)) {
      AppendLabelLine(Join(Cells(view_, style_.raw, *function.count)), &out_);
    }
  }

  void AppendEdge(size_t from, const ShownEdge& edge) {
    out_.append(Id(from)).append(" -> ").append(Id(edge.to));
    out_.append(edge.dashed ? " [style = \"dashed\"]\n" : " []\n");
  }

  bool Color(const ShownFunction& function, std::string* color, std::string* error) const {
    *color = "Black";
    if (!style_.gray) return true;
    const double percent = view_.Percent(function.count->stack);
    // Halves are rounded to even, as in Standard ML.
    const double darkness = std::nearbyint(percent);
    if (darkness < 0 || darkness > 100) {
      *error = "-gray: '" + view_.program().table.names[function.name].name + "' has " +
               FormatFixed(percent, 1) + "% on the stack, which no gray can show; leave out -gray";
      return false;
    }
    *color = "Gray" + std::to_string(100 - static_cast<int>(darkness));
    return true;
  }

  const ProfileView& view_;
  const Selection& selection_;
  const DotStyle& style_;
  std::vector<int> ids_;
  int next_id_ = 0;
  std::string out_;
};

}  // namespace

bool FormatDot(const ProfileView& view, const Selection& selection, const DotStyle& style,
               std::string* dot, std::string* error) {
  DotWriter writer(view, selection, style);
  if (!writer.Write(error)) return false;
  *dot = writer.TakeText();
  return true;
}

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
