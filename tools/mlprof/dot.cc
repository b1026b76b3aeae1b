#include "tools/mlprof/dot.h"

#include <cmath>
#include <cstdio>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/mlprof/cells.h"
#include "tools/mlprof/shown_graph.h"
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

}  // namespace allomon::mlprof
