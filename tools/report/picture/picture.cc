#include "tools/report/picture/picture.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "tools/report/flat/origin.h"
#include "tools/report/flat/words.h"
#include "tools/report/picture/svg.h"
#include "tools/report/picture/treemap.h"
#include "tools/text/amounts.h"

namespace allomon::report {
namespace {

constexpr double kWidth = 1100;
constexpr double kMargin = 24;
constexpr double kHeadHeight = 76;
constexpr double kMapHeight = 400;
constexpr double kLegendHeight = 64;
constexpr double kLegendStep = 200;
constexpr double kRowHeight = 24;
constexpr double kTileLine = 17;
constexpr double kNameRoom = 340;   // to the left of the bars
constexpr double kValueRoom = 170;  // to the right of the bars
constexpr double kBarsLeft = kMargin + kNameRoom + 12;
constexpr double kBarsRoom = kWidth - kMargin - kValueRoom - kBarsLeft;
constexpr size_t kMostTiles = 200;
constexpr size_t kMostRows = 1000;  // more rows cannot be read

constexpr const char* kCollector = "url(#gc)";
constexpr const char* kGrown = "#c0392b";
constexpr const char* kShrunk = "#2e8b57";
constexpr const char* kSoft = "#52606d";

// A colour for each origin, dark enough for white letters, and a light one for callees.
struct Colors {
  Origin origin;
  const char* own;
  const char* callees;
};
constexpr Colors kColors[] = {{Origin::kProgram, "#2f6f9f", "#a9cce3"},
                              {Origin::kLibrary, "#3f7d4e", "#b5d6bd"},
                              {Origin::kRuntime, "#7b5aa6", "#d3c4e6"},
                              {Origin::kNone, "#7c8894", "#d5dade"}};
constexpr const char* kGrey = "#9aa5b1";  // colour of a tile that stands for several functions

const Colors& ColorsOf(const SourceName& name) {
  const Origin origin = OriginOf(name);
  return *std::find_if(std::begin(kColors), std::end(kColors),
                       [origin](const Colors& colors) { return colors.origin == origin; });
}

Svg::TextStyle Soft(double size) { return {size, false, kSoft, Svg::Anchor::kStart}; }

// Draws the values in two columns at the right edge.
void DrawValues(Svg* svg, double base, const std::string& amount, const std::string& share) {
  Svg::TextStyle style = {13, false, kSoft, Svg::Anchor::kEnd};
  constexpr double kShareRoom = 72;
  svg->Text(kWidth - kMargin - kShareRoom, base, kValueRoom - kShareRoom, amount, style);
  svg->Text(kWidth - kMargin, base, kShareRoom, share, style);
}

size_t BarRows(size_t count, size_t rows) { return std::min(ShownRows(count, rows), kMostRows); }

class ProfilePicture {
 public:
  ProfilePicture(const Profile& profile, const std::vector<Function>& functions, SortKey key,
                 size_t rows)
      : profile_(profile),
        functions_(functions),
        key_(key),
        rows_(BarRows(functions.size(), rows)),
        has_stack_(profile.data.style == ProfileStyle::kStack),
        whole_(Whole(profile.data)),
        svg_(kWidth, BarsTop() + kRowHeight * static_cast<double>(rows_) + kMargin) {}

  std::string Draw() {
    DrawHead();
    DrawMap();
    DrawLegend();
    for (size_t i = 0; i < rows_; ++i) DrawBar(i);
    svg_.Line(kBarsLeft, BarsTop(), kBarsLeft, BarsTop() + kRowHeight * static_cast<double>(rows_));
    return svg_.Finish();
  }

 private:
  static constexpr double BarsTop() { return kHeadHeight + kMapHeight + kLegendHeight; }

  std::string AmountOf(MlmonInt count) const { return Amount(profile_.data.kind, count); }
  std::string PercentageOf(MlmonInt count) const { return Percentage(PercentOf(count, whole_)); }

  std::string Described(const char* what, MlmonInt count) const {
    return std::string(what) + ": " + AmountOf(count) + ", " + PercentageOf(count);
  }

  Svg::Lines Tooltip(const Function& function) const {
    Svg::Lines lines = {function.name->name + "  " + PlaceText(*function.name),
                        Described("itself", function.count.current)};
    if (!has_stack_) return lines;
    lines.push_back(Described("with what it called", function.count.stack));
    if (profile_.data.total_gc != 0) {
      lines.push_back(Described("by the collector meanwhile", function.count.stack_gc));
    }
    return lines;
  }

  void DrawHead() {
    const double room = kWidth - 2 * kMargin;
    svg_.Text(kMargin, 32, room, SummaryText(profile_), {19, true, "#1f2933", Svg::Anchor::kStart});
    svg_.Text(kMargin, 56, room,
              ProgramText(profile_) +
                  ". Areas: what each function used itself; colours: whose code it is.",
              Soft(13));
  }

  // Draws a tile for each of the largest functions, and one for all others.
  void DrawMap() {
    std::vector<const Function*> largest;
    for (const Function& function : functions_) {
      if (function.count.current > 0) largest.push_back(&function);
    }
    std::stable_sort(largest.begin(), largest.end(), [](const Function* a, const Function* b) {
      return a->count.current > b->count.current;
    });
    const size_t tiles = TilesWorthDrawing(largest);
    double others = 0;
    for (size_t i = tiles; i < largest.size(); ++i) others += Weight(*largest[i]);
    DrawTiles(largest, tiles, others);
  }

  static double Weight(const Function& function) {
    return static_cast<double>(function.count.current);
  }

  // Returns how many tiles to draw.  A tile below some 2,000th of the area is too small to see or
  // to point at.
  size_t TilesWorthDrawing(const std::vector<const Function*>& largest) const {
    size_t tiles = 0;
    while (tiles < std::min(largest.size(), kMostTiles) &&
           Weight(*largest[tiles]) * 2000 >= whole_) {
      ++tiles;
    }
    return tiles;
  }

  void DrawTiles(const std::vector<const Function*>& largest, size_t tiles, double others) {
    std::vector<double> weights;
    for (size_t i = 0; i < tiles; ++i) weights.push_back(Weight(*largest[i]));
    // Inserts the tile of all others by its size, because the treemap requires that order.
    const auto place = std::upper_bound(weights.begin(), weights.end(), others,
                                        [](double a, double b) { return a > b; }) -
                       weights.begin();
    if (others > 0) weights.insert(weights.begin() + place, others);
    const auto boxes =
        Treemap(weights, {kMargin, kHeadHeight, kWidth - 2 * kMargin, kMapHeight - kMargin});
    for (size_t i = 0, function = 0; i < boxes.size(); ++i) {
      if (others > 0 && static_cast<ptrdiff_t>(i) == place) {
        const std::string text = MoreText(largest.size() - tiles);
        DrawTile(boxes[i], kGrey, text, Percentage(100 * others / whole_), {text});
      } else {
        const Function& shown = *largest[function++];
        DrawTile(boxes[i], ColorsOf(*shown.name).own, shown.name->name,
                 AmountOf(shown.count.current) + ", " + PercentageOf(shown.count.current),
                 Tooltip(shown));
      }
    }
  }

  void DrawTile(const Rectangle& box, const char* fill, const std::string& name,
                const std::string& amount, const Svg::Lines& tooltip) {
    svg_.Box({box.x, box.y, box.width - 1, box.height - 1}, fill, tooltip);
    const double room = box.width - 14;
    if (room < 40 || box.height < 20) return;
    const Svg::TextStyle white = {13, true, "#ffffff", Svg::Anchor::kStart};
    const int most = box.height < 38 ? 1 : 2;
    const double below =
        box.y + kTileLine * svg_.Name(box.x + 7, box.y + 17, room, name, white, most);
    if (below + 21 > box.y + box.height || room < 100) return;
    svg_.Text(box.x + 7, below + 17, room, amount, {12, false, "#ffffff", Svg::Anchor::kStart});
  }

  // Draws the legend: the meaning of the colours, with the share of each, and below it the meaning
  // of the parts of bars.
  void DrawLegend() {
    const double y = kHeadHeight + kMapHeight + 8;
    double x = kMargin;
    std::map<Origin, double> shares = Shares();
    for (const Colors& colors : kColors) {
      const double share = shares[colors.origin];
      if (share <= 0) continue;
      DrawEntry(&x, y, colors.own, std::string(NameOf(colors.origin)) + ", " + Percentage(share));
    }
    x = kBarsLeft;
    DrawEntry(&x, y + 22, kColors[0].own, "itself");
    if (has_stack_) DrawEntry(&x, y + 22, kColors[0].callees, "with what it called");
    if (has_stack_ && profile_.data.total_gc != 0) {
      DrawEntry(&x, y + 22, kCollector, "collector meanwhile");
    }
  }

  void DrawEntry(double* x, double y, const char* fill, const std::string& text) {
    svg_.Box({*x, y - 11, 14, 12}, fill, {});
    svg_.Text(*x + 20, y, 300, text, Soft(12));
    *x += kLegendStep;
  }

  // Returns the share of each origin, in percent.
  std::map<Origin, double> Shares() const {
    std::map<Origin, double> shares;
    for (const Function& function : functions_) {
      shares[OriginOf(*function.name)] += PercentOf(function.count.current, whole_);
    }
    return shares;
  }

  double Length(MlmonInt count) const {
    return kBarsRoom * std::clamp(PercentOf(count, whole_) / 100, 0.0, 1.0);
  }

  void DrawBar(size_t i) {
    const Function& function = functions_[i];
    const MlmonCount& count = function.count;
    const double top = BarsTop() + kRowHeight * static_cast<double>(i) + 3;
    const double height = kRowHeight - 6, base = top + 13;
    svg_.Name(kBarsLeft - 10, base, kNameRoom, function.name->name,
              {13, false, "#1f2933", Svg::Anchor::kEnd});
    const Svg::Lines tooltip = Tooltip(function);
    const Colors& colors = ColorsOf(*function.name);
    if (has_stack_) {
      svg_.Box({kBarsLeft + Length(count.stack), top, Length(count.stack_gc), height}, kCollector,
               tooltip);
      svg_.Box({kBarsLeft, top, Length(count.stack), height}, colors.callees, tooltip);
    }
    svg_.Box({kBarsLeft, top, Length(count.current), height}, colors.own, tooltip);
    DrawValues(&svg_, base, AmountOf(Measure(count, key_)), PercentageOf(Measure(count, key_)));
  }

  const Profile& profile_;
  const std::vector<Function>& functions_;
  const SortKey key_;
  const size_t rows_;
  const bool has_stack_;
  const double whole_;
  Svg svg_;
};

class DiffPicture {
 public:
  DiffPicture(const Pair& pair, const std::vector<Change>& changes, SortKey key, size_t rows)
      : pair_(pair),
        changes_(changes),
        key_(key),
        rows_(BarRows(changes.size(), rows)),
        svg_(kWidth, kTop + kRowHeight * static_cast<double>(rows_) + kMargin) {
    for (const Change& change : changes) largest_ = std::max(largest_, Size(change));
  }

  std::string Draw() {
    DrawHead();
    for (size_t i = 0; i < rows_; ++i) DrawBar(i);
    svg_.Line(kMiddle, kTop, kMiddle, kTop + kRowHeight * static_cast<double>(rows_));
    return svg_.Finish();
  }

 private:
  static constexpr double kTop = 104;
  static constexpr double kMiddle = kBarsLeft + kBarsRoom / 2;

  double Size(const Change& change) const {
    return std::fabs(static_cast<double>(change.Growth(key_)));
  }

  void DrawHead() {
    const double room = kWidth - 2 * kMargin;
    const Svg::TextStyle bold = {16, true, "#1f2933", Svg::Anchor::kStart};
    svg_.Text(kMargin, 30, room, "before  " + SummaryText(pair_.before), bold);
    svg_.Text(kMargin, 52, room, "after  " + SummaryText(pair_.after), bold);
    svg_.Text(kMargin, 78, room,
              std::string("Of what each function used ") + MeasureText(key_) +
                  ": growth in red, to the right; what shrank in green, to the left.",
              Soft(13));
  }

  void DrawBar(size_t i) {
    const Change& change = changes_[i];
    const double top = kTop + kRowHeight * static_cast<double>(i) + 3;
    const double height = kRowHeight - 6, base = top + 13;
    const MlmonInt growth = change.Growth(key_);
    const double length = largest_ == 0 ? 0 : kBarsRoom / 2 * Size(change) / largest_;
    const ProfileKind kind = pair_.before.data.kind;
    const Svg::Lines tooltip = {change.name->name + "  " + PlaceText(*change.name),
                                "before: " + Amount(kind, Measure(change.before, key_)),
                                "after: " + Amount(kind, Measure(change.after, key_))};
    svg_.Name(kBarsLeft - 10, base, kNameRoom, change.name->name,
              {13, false, "#1f2933", Svg::Anchor::kEnd});
    svg_.Box({growth > 0 ? kMiddle : kMiddle - length, top, length, height},
             growth > 0 ? kGrown : kShrunk, tooltip);
    DrawValues(&svg_, base, SignedAmount(kind, growth), GrowthText(change, key_));
  }

  const Pair& pair_;
  const std::vector<Change>& changes_;
  const SortKey key_;
  const size_t rows_;
  double largest_ = 0;
  Svg svg_;
};

}  // namespace

std::string ToPicture(const Profile& profile, const std::vector<Function>& functions, SortKey key,
                      size_t rows) {
  return ProfilePicture(profile, functions, key, rows).Draw();
}

std::string ToPicture(const Pair& pair, const std::vector<Change>& changes, SortKey key,
                      size_t rows) {
  return DiffPicture(pair, changes, key, rows).Draw();
}

}  // namespace allomon::report
