#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "tools/gate/comparison.h"
#include "tools/text/plain_text.h"

namespace allomon::gate {
namespace {

constexpr size_t kShownSites = 5;
constexpr size_t kShownFrames = 12;

// Writes integers without a fraction, and averages with three digits after the point.
std::string Number(double value) {
  char text[64];
  std::snprintf(text, sizeof(text), value == std::floor(value) ? "%.0f" : "%.3f", value);
  return text;
}

std::string Percentage(const Growth& growth) {
  if (growth.baseline == 0) return "from 0";
  char text[64];
  std::snprintf(text, sizeof(text), "+%.1f %%", (growth.current / growth.baseline - 1) * 100);
  return text;
}

std::string Count(size_t number, const char* noun) {
  return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
}

// Names of benchmarks and functions may be anything.
std::string Shown(const std::string& text) { return Printable(text, Charset::kUtf8); }

using Row = std::array<std::string, 5>;

std::string ToTable(const std::vector<Row>& rows) {
  std::array<size_t, 5> widths{};
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string table;
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - row[i].size(), ' ');
      table += i < 2 ? row[i] + (padding + "  ") : padding + row[i] + (i == 4 ? "\n" : "  ");
    }
  }
  return table;
}

std::string TableOfGrowth(const Comparison& comparison) {
  std::vector<Row> rows = {{"benchmark", "figure", "baseline", "now", "growth"}};
  for (const Judgement& judgement : comparison.judgements) {
    for (const Growth& growth : judgement.growths) {
      rows.push_back({Shown(judgement.name), NameOf(growth.metric), Number(growth.baseline),
                      Number(growth.current), Percentage(growth)});
    }
  }
  return rows.size() == 1 ? "" : ToTable(rows);
}

std::string ToText(const Frame& frame) {
  if (frame.file.empty()) return Shown(frame.function);
  return Shown(frame.function + "  " + frame.file) + ":" + std::to_string(frame.line);
}

// Returns "+3" or "-2".
std::string Signed(double value) { return (value < 0 ? "-" : "+") + Number(std::abs(value)); }

// Returns "+1 allocation, +8 bytes".
std::string Amounts(double allocations, double bytes) {
  return Signed(allocations) + (std::abs(allocations) == 1 ? " allocation, " : " allocations, ") +
         Signed(bytes) + (std::abs(bytes) == 1 ? " byte" : " bytes");
}

std::string Frames(const Site& site) {
  std::string text;
  for (size_t i = 0; i < site.frames.size(); ++i) {
    if (i == kShownFrames) return text + "      ...\n";
    text += "      " + ToText(site.frames[i]) + "\n";
  }
  return text;
}

std::string ToText(const GrownSite& site) {
  std::string text = "  " + Amounts(site.growth.allocations, site.growth.bytes) +
                     " per iteration:\n" + Frames(site.growth);
  for (const Frame& frame : site.alternatives) {
    text += "      or, allocating the same: " + ToText(frame) + "\n";
  }
  return text;
}

std::string VanishedText(const Site& site) {
  return "  " + Amounts(-site.allocations, -site.bytes) + " per iteration, allocated no more:\n" +
         Frames(site);
}

// Returns one line for the sites from `first` on, so that the listed lines add up.
std::string MoreSites(const std::vector<Site>& sites, size_t first, int sign) {
  if (sites.size() <= first) return "";
  Site sum;
  for (size_t i = first; i < sites.size(); ++i) {
    sum.allocations += sign * sites[i].allocations;
    sum.bytes += sign * sites[i].bytes;
  }
  return "  " + Amounts(sum.allocations, sum.bytes) + ": " +
         Count(sites.size() - first, "more call stack") + "\n";
}

std::string SitesOf(const Judgement& judgement) {
  std::string text;
  const auto& grown = judgement.responsible;
  for (size_t i = 0; i < std::min(grown.size(), kShownSites); ++i) text += ToText(grown[i]);
  std::vector<Site> growths;
  for (const GrownSite& site : grown) growths.push_back(site.growth);
  text += MoreSites(growths, kShownSites, +1);
  const auto& vanished = judgement.vanished;
  for (size_t i = 0; i < std::min(vanished.size(), kShownSites); ++i) {
    text += VanishedText(vanished[i]);
  }
  text += MoreSites(vanished, kShownSites, -1);
  if (!judgement.lacks_baseline_sites) return text;
  return "  the baseline has no call sites, so these are all; --update with --profile keeps "
         "them\n" +
         text;
}

// Returns the first line of a judgement, without figures and sites.
std::string Headline(const Judgement& judgement) {
  const std::string name = Shown(judgement.name);
  switch (judgement.verdict) {
    case Verdict::kPassed:
      return name + " passed";
    case Verdict::kGrew:
      return name + " grew";
    case Verdict::kRemoved:
      return name + " is in the baseline but was not run: removed or renamed?";
    case Verdict::kAdded:
      return name + " is not in the baseline: new or renamed?";
  }
  return "";
}

std::string FiguresOf(const Judgement& judgement) {
  std::string text;
  for (const Growth& growth : judgement.growths) {
    text += std::string(text.empty() ? "" : ", ") + NameOf(growth.metric) + " " +
            Number(growth.baseline) + " -> " + Number(growth.current);
  }
  return text;
}

size_t CountOf(const Comparison& comparison, Verdict verdict) {
  return std::count_if(
      comparison.judgements.begin(), comparison.judgements.end(),
      [verdict](const Judgement& judgement) { return judgement.verdict == verdict; });
}

std::string Summary(const Comparison& comparison) {
  const size_t failed = comparison.judgements.size() - CountOf(comparison, Verdict::kPassed);
  std::string text = Count(comparison.judgements.size(), "benchmark") + ", " +
                     Count(comparison.compared_figures, "figure") + " compared: ";
  text += failed == 0 ? "none grew" : Count(failed, "benchmark") + " failed";
  if (comparison.shrunk_figures != 0) {
    text += "; " + Count(comparison.shrunk_figures, "figure") + " shrank (--update keeps that)";
  }
  return text + "\n";
}

std::string Replace(std::string text, char from, const char* to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos;) {
    const std::string_view replacement = to;
    text.replace(at, 1, replacement);
    at += replacement.size();
  }
  return text;
}

// Escapes a text for GitHub's workflow commands; properties need two more escapes.
std::string GithubData(std::string text) {
  text = Replace(std::move(text), '%', "%25");
  text = Replace(std::move(text), '\r', "%0D");
  return Replace(std::move(text), '\n', "%0A");
}
std::string GithubProperty(std::string text) {
  text = GithubData(std::move(text));
  text = Replace(std::move(text), ':', "%3A");
  return Replace(std::move(text), ',', "%2C");
}

// Returns "file=f.cc,line=3," if the judgement has a line to point at.
std::string GithubPlace(const Judgement& judgement) {
  if (judgement.responsible.empty()) return "";
  Frame frame = CallOfProgram(judgement.responsible.front().growth);
  if (frame.file.empty() || frame.line == 0) return "";
  if (frame.file.rfind("./", 0) == 0) frame.file.erase(0, 2);
  return "file=" + GithubProperty(frame.file) + ",line=" + std::to_string(frame.line) + ",";
}

}  // namespace

std::string ToText(const Comparison& comparison) {
  std::string text = TableOfGrowth(comparison);
  for (const Judgement& judgement : comparison.judgements) {
    if (judgement.verdict == Verdict::kPassed) continue;
    const std::string sites = SitesOf(judgement);
    if (judgement.verdict == Verdict::kGrew && sites.empty()) continue;
    text += Headline(judgement) + (sites.empty() ? "\n" : ":\n") + sites;
  }
  return text + Summary(comparison);
}

std::string ToJunit(const Comparison& comparison) {
  std::string cases;
  for (const Judgement& judgement : comparison.judgements) {
    cases += "    <testcase classname=\"allomon.gate\" name=\"" + XmlEscaped(judgement.name) + "\"";
    if (judgement.verdict == Verdict::kPassed) {
      cases += "/>\n";
      continue;
    }
    const std::string figures = FiguresOf(judgement);
    const std::string message = figures.empty() ? Headline(judgement) : figures;
    cases += ">\n      <failure message=\"" + XmlEscaped(message) + "\">" +
             XmlEscaped(SitesOf(judgement)) + "</failure>\n    </testcase>\n";
  }
  const size_t tests = comparison.judgements.size();
  const std::string counts = " tests=\"" + std::to_string(tests) + "\" failures=\"" +
                             std::to_string(tests - CountOf(comparison, Verdict::kPassed)) + "\"";
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites" + counts +
         ">\n  <testsuite name=\"allomon gate\"" + counts + ">\n" + cases +
         "  </testsuite>\n</testsuites>\n";
}

std::string ToGithub(const Comparison& comparison) {
  std::string text;
  for (const Judgement& judgement : comparison.judgements) {
    if (judgement.verdict == Verdict::kPassed) continue;
    text +=
        "::error " + GithubPlace(judgement) + "title=" + GithubProperty(Headline(judgement)) +
        "::" +
        GithubData(Headline(judgement) + "\n" + FiguresOf(judgement) + "\n" + SitesOf(judgement)) +
        "\n";
  }
  return text;
}

}  // namespace allomon::gate
