#include <algorithm>
#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

#include "tools/gate/history/changes.h"
#include "tools/text/plain_text.h"

namespace allomon::gate {
namespace {

constexpr double kWidth = 1100;
constexpr double kMargin = 24;
constexpr double kHeadHeight = 76;
constexpr double kRowHeight = 74;
constexpr double kPlotHeight = 40;
constexpr double kPlotLeft = kMargin + 300;
constexpr double kPlotWidth = kWidth - kMargin - 90 - kPlotLeft;
constexpr size_t kMostRows = 100;
constexpr size_t kNameColumns = 40;
constexpr size_t kLabelRoom = 90;  // pixels between two commits' names

// The colours of tools/flame/page/page.css.
constexpr char kStyle[] =
    "<style>\n"
    "  svg { --page: #f6f7f9; --panel: #ffffff; --text: #1c2430; --soft: #5b6675;\n"
    "    --line: #dfe4ea; --accent: #2457d6; --grown: #b3261e; --shrunk: #1f5fbf;\n"
    "    font: 13px system-ui, sans-serif; }\n"
    "  @media (prefers-color-scheme: dark) { svg { --page: #12151a; --panel: #1a1e25;\n"
    "    --text: #e6e9ee; --soft: #9aa5b4; --line: #303743; --accent: #7ea6ff;\n"
    "    --grown: #ff8a80; --shrunk: #82b1ff; } }\n"
    "  text { fill: var(--text); }\n"
    "  .title { font-size: 19px; font-weight: 600; }\n"
    "  .soft { fill: var(--soft); font-size: 12px; }\n"
    "  .panel { fill: var(--panel); stroke: var(--line); }\n"
    "  .figure { fill: none; stroke: var(--accent); stroke-width: 1.5; }\n"
    "  .grown { stroke: var(--grown); } text.grown { stroke: none; fill: var(--grown); }\n"
    "  .shrunk { stroke: var(--shrunk); } text.shrunk { stroke: none; fill: var(--shrunk); }\n"
    "</style>\n";

std::string Coordinate(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f", value);
  return text;
}

std::string Text(double x, double y, const char* style, const std::string& text,
                 const char* anchor = "start") {
  return "<text x=\"" + Coordinate(x) + "\" y=\"" + Coordinate(y) + "\" class=\"" + style +
         "\" text-anchor=\"" + anchor + "\">" + XmlEscaped(text) + "</text>\n";
}

class Picture {
 public:
  Picture(const History& history, const Findings& findings)
      : history_(history), findings_(findings), shown_(RowsToShow()) {}

  std::string Draw() const {
    const double height = kHeadHeight + kRowHeight * static_cast<double>(shown_.size()) + kMargin;
    const std::string size = "width=\"" + Coordinate(kWidth) + "\" height=\"" + Coordinate(height) +
                             "\" viewBox=\"0 0 " + Coordinate(kWidth) + " " + Coordinate(height) +
                             "\"";
    std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" " + size + ">\n" + kStyle +
                      "<rect width=\"100%\" height=\"100%\" fill=\"var(--page)\"/>\n";
    svg += Text(kMargin, 36, "title", "What benchmarks allocate, commit by commit");
    svg += Text(kMargin, 58, "soft", Subtitle());
    for (size_t row = 0; row < shown_.size(); ++row) {
      svg += Row(shown_[row], kHeadHeight + kRowHeight * static_cast<double>(row));
    }
    return svg + "</svg>\n";
  }

 private:
  bool HasChange(size_t series) const {
    return std::any_of(findings_.changes.begin(), findings_.changes.end(),
                       [series](const Change& change) { return change.series == series; });
  }

  // Returns the figures that changed, then the others.
  std::vector<size_t> RowsToShow() const {
    std::vector<size_t> order(findings_.series.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_partition(order.begin(), order.end(),
                          [this](size_t series) { return HasChange(series); });
    order.resize(std::min(order.size(), kMostRows));
    return order;
  }

  std::string Subtitle() const {
    if (history_.runs.empty()) return "no runs yet";
    std::string text = std::to_string(history_.runs.size()) + " runs, " +
                       history_.runs.front().date + " to " + history_.runs.back().date + "; " +
                       std::to_string(findings_.changes.size()) + " changes of " +
                       std::to_string(findings_.series.size()) + " figures";
    if (shown_.size() < findings_.series.size()) {
      text += ", of which " + std::to_string(shown_.size()) + " are drawn";
    }
    return Printable(text, Charset::kUtf8);
  }

  double X(size_t run) const {
    const auto last = static_cast<double>(std::max<size_t>(history_.runs.size(), 2) - 1);
    return kPlotLeft + 6 + (kPlotWidth - 12) * static_cast<double>(run) / last;
  }

  std::string Row(size_t number, double top) const {
    const Series& series = findings_.series[number];
    const std::string benchmark =
        CutToEnd(Printable(series.benchmark, Charset::kUtf8), kNameColumns, Charset::kUtf8);
    std::string svg = Text(kMargin, top + 18, "", benchmark);
    svg += Text(kMargin, top + 35, "soft",
                Printable(series.metric, Charset::kUtf8) + (series.is_exact ? "" : ", with noise"));
    svg += "<rect class=\"panel\" x=\"" + Coordinate(kPlotLeft) + "\" y=\"" + Coordinate(top) +
           "\" width=\"" + Coordinate(kPlotWidth) + "\" height=\"" + Coordinate(kPlotHeight) +
           "\" rx=\"4\"/>\n";
    svg += Line(series, top);
    svg += Text(kWidth - kMargin, top + 25, "", FigureText(series.values.back()), "end");
    return svg + Marks(number, top);
  }

  // Draws a step for each run, from the first value to the last.
  std::string Line(const Series& series, double top) const {
    const auto [low, high] = std::minmax_element(series.values.begin(), series.values.end());
    const double range = *high - *low;
    std::string points;
    double before = 0;
    for (size_t i = 0; i < series.values.size(); ++i) {
      const double part = range > 0 ? (series.values[i] - *low) / range : 0.5;
      const double y = top + kPlotHeight - 6 - (kPlotHeight - 12) * part;
      const double x = X(series.runs[i]);
      const bool is_step = i == 0 || y != before;
      const bool is_last = i + 1 == series.values.size();
      if (is_step && i != 0) points += Coordinate(x) + "," + Coordinate(before) + " ";
      if (is_step || is_last) points += Coordinate(x) + "," + Coordinate(y) + " ";
      before = y;
    }
    return "<polyline class=\"figure\" points=\"" + points + "\"><title>" +
           XmlEscaped(NameOf(series) + ": " + FigureText(*low) + " to " + FigureText(*high)) +
           "</title></polyline>\n";
  }

  std::string Marks(size_t number, double top) const {
    const Series& series = findings_.series[number];
    std::string svg;
    double free_from = 0;  // below the plot, to the right of names that are there
    for (const Change& change : findings_.changes) {
      if (change.series != number) continue;
      const size_t run = series.runs[change.at];
      const std::string x = Coordinate(X(run));
      const char* const style = change.after > change.before ? "grown" : "shrunk";
      svg += std::string("<g><line class=\"") + style + "\" x1=\"" + x + "\" x2=\"" + x +
             "\" y1=\"" + Coordinate(top) + "\" y2=\"" + Coordinate(top + kPlotHeight) +
             "\"/><title>" +
             XmlEscaped(ShortCommit(history_.runs[run].commit) + ": " +
                        ChangeText(findings_, change)) +
             "</title></g>\n";
      if (X(run) < free_from) continue;
      free_from = X(run) + kLabelRoom;
      svg += Text(X(run), top + kPlotHeight + 16, style, ShortCommit(history_.runs[run].commit),
                  X(run) > kPlotLeft + kPlotWidth / 2 ? "end" : "start");
    }
    return svg;
  }

  const History& history_;
  const Findings& findings_;
  const std::vector<size_t> shown_;
};

}  // namespace

std::string ToSvg(const History& history, const Findings& findings) {
  return Picture(history, findings).Draw();
}

}  // namespace allomon::gate
