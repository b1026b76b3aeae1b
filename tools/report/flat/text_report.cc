#include <algorithm>
#include <cmath>

#include "tools/report/flat/reports.h"
#include "tools/report/flat/words.h"
#include "tools/text/amounts.h"
#include "tools/text/grid.h"
#include "tools/text/names.h"
#include "tools/text/plain_text.h"

namespace allomon::report {
namespace {

constexpr double kHotPercent = 10;
constexpr double kWarmPercent = 1;

// The order in which columns are dropped when the table is too wide (Column::drop_rank), the
// largest rank first.  The key is the column by which rows are sorted.
enum DropRank {
  kStays = 0,
  kDropKeyAmount,
  kDropOtherPercent,
  kDropGc,
  kDropPlace,
  kDropOtherAmount,
  kDropBar
};

// Returns the columns of bars, which are short on a narrow terminal.  They get shorter if the names
// need room.
int BarColumns(int width) { return width == 0 || width >= 120 ? 20 : 10; }
constexpr int kLeastBar = 5;

// The fewest columns of a name: less rarely tells functions apart, but a file and a line of the
// position mostly do.
constexpr int kLeastName = 24;
constexpr int kLeastPlace = 14;

Paint PaintOf(double percent) {
  if (percent >= kHotPercent) return Paint::kHot;
  return percent >= kWarmPercent ? Paint::kWarm : Paint::kDim;
}

// Splits the text into lines of the style's width.  A word that is longer than a line loses its
// beginning.
std::vector<std::string> Wrapped(const std::string& text, const TextStyle& style) {
  if (style.width == 0) return {text};
  std::vector<std::string> lines = {""};
  for (size_t start = 0, end = 0; end != std::string::npos; start = end + 1) {
    end = text.find(' ', start);
    const std::string word = CutToEnd(text.substr(start, end - start), style.width, style.charset);
    std::string& line = lines.back();
    if (start == 0) {
      line = word;
    } else if (Columns(line) + 1 + Columns(word) <= style.width) {
      line += " " + word;
    } else {
      lines.push_back(word);
    }
  }
  return lines;
}

// The parts that are common to both kinds of reports.
class Writer {
 public:
  Writer(SortKey key, const TextStyle& style) : key_(key), style_(style) {}

 protected:
  std::string Text(const std::string& raw) const { return Printable(raw, style_.charset); }

  // <gc>, <main> and <unknown> are not functions of the program itself.
  Cell NameCell(const SourceName& name) const {
    return {Text(name.name), name.position.empty() ? Paint::kDim : Paint::kBold};
  }
  Cell PlaceCell(const SourceName& name) const { return {Text(PlaceText(name)), Paint::kDim}; }

  std::string Line(const std::string& raw, Paint paint) const {
    std::string lines;
    for (const std::string& line : Wrapped(Text(raw), style_)) {
      lines += Painted(line, paint, style_.colored) + "\n";
    }
    return lines;
  }

  std::string NoteLines(const Profile& profile) const {
    std::string lines;
    for (const std::string& note : profile.notes) lines += Line(NoteText(note), Paint::kWarm);
    return lines;
  }

  std::string Formatted() {
    if (!style_.whole_names) ShortenNames();
    GiveNamesRoom();
    return FormatGrid(std::move(grid_), style_.width, style_.charset, style_.colored);
  }

  // Adds the columns of names and positions.  Names get room for class and function before bars and
  // other columns do, up to half of the terminal.
  void AddTexts() {
    Column names = {"function", Column::Kind::kText, kStays, kLeastName};
    names.cut = FitName;
    names.keeps_apart = true;
    grid_.columns.push_back(names);
    grid_.columns.push_back({"where", Column::Kind::kText, kDropPlace, kLeastPlace});
  }

  // Callers call these after all rows were added.
  void ShortenNames() {
    std::vector<std::string> names;
    for (const auto& row : grid_.rows) names.push_back(row.front().text);
    names = ShortNames(names);
    for (size_t i = 0; i < names.size(); ++i) grid_.rows[i].front().text = names[i];
  }
  void GiveNamesRoom() {
    int& least = grid_.columns.front().least;
    const int most = std::max(kLeastName, style_.width / 2);
    for (const auto& row : grid_.rows) {
      least = std::clamp(Columns(ClassAndFunction(row.front().text)), least, most);
    }
  }

  void AddNumber(const char* head, int drop_rank) {
    grid_.columns.push_back({head, Column::Kind::kNumber, drop_rank});
  }
  void AddBar() {
    Column bars = {"", Column::Kind::kBar, kDropBar, kLeastBar};
    bars.full_bar = BarColumns(style_.width);
    grid_.columns.push_back(bars);
  }
  static Cell BarCell(double own, double with_callees, Paint paint) {
    return {"", paint, own, with_callees};
  }

  const SortKey key_;
  const TextStyle& style_;
  Grid grid_;
};

class ProfileWriter : public Writer {
 public:
  ProfileWriter(const Profile& profile, const std::vector<Function>& functions, SortKey key,
                const TextStyle& style)
      : Writer(key, style),
        profile_(profile),
        functions_(functions),
        shown_(ShownRows(functions.size(), style.rows)),
        has_stack_(profile.data.style == ProfileStyle::kStack),
        has_gc_(profile.data.total_gc != 0 || key == SortKey::kGc),
        whole_(Whole(profile.data)) {}

  std::string Write() {
    AddColumns();
    for (size_t i = 0; i < shown_; ++i) AddRow(functions_[i]);
    if (shown_ < functions_.size()) AddRest();
    return Head() + Formatted() + Foot();
  }

 private:
  std::string Head() const {
    return Line(SummaryText(profile_), Paint::kBold) + Line(ProgramText(profile_), Paint::kDim) +
           NoteLines(profile_) + "\n";
  }

  std::string Foot() const {
    if (profile_.data.kind != ProfileKind::kCount) return "";
    const size_t unused = UnusedFunctions(profile_);
    return unused == 0 ? "" : Line(MoreText(unused) + " never called", Paint::kDim);
  }

  // Returns the measures that have columns, first the one by which the rows are sorted.
  std::vector<SortKey> MeasuresShown() const {
    if (!has_stack_) return {SortKey::kCurrent};
    if (key_ == SortKey::kStack) return {SortKey::kStack, SortKey::kCurrent};
    return {SortKey::kCurrent, SortKey::kStack};
  }

  void AddColumns() {
    AddTexts();
    for (const SortKey key : MeasuresShown()) {
      const bool is_first = key == MeasuresShown().front();
      const bool is_stack = key == SortKey::kStack;
      AddNumber(is_stack ? "stack" : "cur", is_first ? kDropKeyAmount : kDropOtherAmount);
      AddNumber(is_stack     ? "stack %"
                : has_stack_ ? "cur %"
                             : "%",
                is_first ? kStays : kDropOtherPercent);
    }
    if (has_stack_ && has_gc_) AddNumber("GC %", key_ == SortKey::kGc ? kStays : kDropGc);
    AddBar();
  }

  Cell PercentCell(MlmonInt count) const {
    const double percent = PercentOf(count, whole_);
    return {Percentage(percent), PaintOf(percent)};
  }

  Cell BarOf(const MlmonCount& count) const {
    const double own = PercentOf(count.current, whole_) / 100;
    const double all = has_stack_ ? PercentOf(count.stack, whole_) / 100 : 0;
    return BarCell(own, all, PaintOf(100 * own));
  }

  void AddRow(const Function& function) {
    const MlmonCount& count = function.count;
    std::vector<Cell> row = {NameCell(*function.name), PlaceCell(*function.name)};
    for (const SortKey key : MeasuresShown()) {
      row.push_back({Amount(profile_.data.kind, Measure(count, key))});
      row.push_back(PercentCell(Measure(count, key)));
    }
    if (has_stack_ && has_gc_) row.push_back(PercentCell(count.stack_gc));
    row.push_back(BarOf(count));
    grid_.rows.push_back(std::move(row));
  }

  // Adds the line for the functions that are not shown.  It has no stack data, because functions
  // may call each other, so that their stack data cannot be added up.
  void AddRest() {
    const MlmonInt sum = SumFrom(functions_, shown_);
    std::vector<Cell> row = {{MoreText(functions_.size() - shown_), Paint::kDim}, {}};
    for (const SortKey key : MeasuresShown()) {
      const bool adds_up = key == SortKey::kCurrent;
      row.push_back(adds_up ? Cell{Amount(profile_.data.kind, sum)} : Cell());
      row.push_back(adds_up ? PercentCell(sum) : Cell());
    }
    row.resize(grid_.columns.size());
    row.back() = BarOf({sum, 0, 0});
    grid_.rows.push_back(std::move(row));
  }

  const Profile& profile_;
  const std::vector<Function>& functions_;
  const size_t shown_;
  const bool has_stack_;
  const bool has_gc_;  // true if the profile has data of a collector; most programs do not have one
  const double whole_;
};

class DiffWriter : public Writer {
 public:
  DiffWriter(const Pair& pair, const std::vector<Change>& changes, SortKey key,
             const TextStyle& style)
      : Writer(key, style),
        pair_(pair),
        changes_(changes),
        kind_(pair.before.data.kind),
        shown_(ShownRows(changes.size(), style.rows)) {
    for (const Change& change : changes) largest_ = std::max(largest_, Size(change));
  }

  std::string Write() {
    if (changes_.empty()) return Head() + "nothing changed\n";
    AddColumns();
    for (size_t i = 0; i < shown_; ++i) AddRow(changes_[i]);
    if (shown_ < changes_.size()) AddRest();
    return Head() + Formatted();
  }

 private:
  std::string Side(const char* what, const Profile& profile) const {
    return Line(what + SummaryText(profile), Paint::kBold);
  }

  std::string Programs() const {
    const std::string before =
        Line(ProgramText(pair_.before), Paint::kDim) + NoteLines(pair_.before);
    const std::string after = Line(ProgramText(pair_.after), Paint::kDim) + NoteLines(pair_.after);
    return before == after ? before : before + after;
  }

  std::string Head() const {
    return Side("before  ", pair_.before) + Side("after   ", pair_.after) + Programs() +
           Line(std::string("growth of what each function used ") + MeasureText(key_),
                Paint::kDim) +
           "\n";
  }

  void AddColumns() {
    AddTexts();
    AddNumber("before", kDropOtherPercent);
    AddNumber("after", kDropKeyAmount);
    AddNumber("growth", kStays);
    AddNumber("%", kDropGc);
    AddBar();
  }

  double Size(const Change& change) const {
    return std::fabs(static_cast<double>(change.Growth(key_)));
  }

  Paint PaintOfGrowth(MlmonInt growth) const {
    if (growth == 0) return Paint::kDim;
    return growth > 0 ? Paint::kHot : Paint::kShrunk;
  }

  // Returns a bar that is solid for growth and light for shrinking.
  Cell BarOf(const Change& change) const {
    const double share = largest_ == 0 ? 0 : Size(change) / largest_;
    const MlmonInt growth = change.Growth(key_);
    const Paint paint = PaintOfGrowth(growth);
    return growth > 0 ? BarCell(share, 0, paint) : BarCell(0, share, paint);
  }

  void AddRow(const Change& change) {
    const MlmonInt growth = change.Growth(key_);
    const Paint paint = PaintOfGrowth(growth);
    grid_.rows.push_back({NameCell(*change.name),
                          PlaceCell(*change.name),
                          {Amount(kind_, Measure(change.before, key_))},
                          {Amount(kind_, Measure(change.after, key_))},
                          {SignedAmount(kind_, growth), paint},
                          {GrowthText(change, key_), paint},
                          BarOf(change)});
  }

  void AddRest() {
    std::vector<Cell> row = {{MoreText(changes_.size() - shown_) + " changed", Paint::kDim}};
    row.resize(grid_.columns.size());
    grid_.rows.push_back(std::move(row));
  }

  const Pair& pair_;
  const std::vector<Change>& changes_;
  const ProfileKind kind_;
  const size_t shown_;
  double largest_ = 0;
};

}  // namespace

std::string ToText(const Profile& profile, const std::vector<Function>& functions, SortKey key,
                   const TextStyle& style) {
  return ProfileWriter(profile, functions, key, style).Write();
}

std::string ToText(const Pair& pair, const std::vector<Change>& changes, SortKey key,
                   const TextStyle& style) {
  return DiffWriter(pair, changes, key, style).Write();
}

}  // namespace allomon::report
