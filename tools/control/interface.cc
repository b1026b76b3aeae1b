#include "tools/control/interface.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>
#include <variant>

#include "absl/strings/str_split.h"
#include "tools/heap/born.h"
#include "tools/report/views/view.h"

namespace allomon::control {
namespace {

constexpr size_t kMostRows = 1000;  // a screen's reader goes through no more
constexpr size_t kMostTyped = 1000;
constexpr char kInterrupt = 3;
// Smaller screens have rows in the place of totals.
constexpr int kLinesWithTotals = 8;
constexpr int kLinesWithAllTotals = 14;

constexpr const char* kViews[] = {"functions", "callers", "tree",      "lines", "types",  "sizes",
                                  "threads",   "modules", "lifetimes", "ages",  "unused", "pages"};
constexpr std::string_view kOfOwnMetric[] = {"lifetimes", "ages", "unused", "pages"};
constexpr const char* kSorts[] = {"cur", "stack", "name"};

constexpr const char* kHelp[] = {
    "up down  PgUp PgDn  Home End   move",
    "Enter, right                   the callers of the function",
    "Esc, left                      back",
    "v V                            the next view, the one before",
    "f c t h p                      functions, callers, types, threads, pages",
    "l                              values of a label; the next label",
    "m                              the next metric: live, peak, allocated, ...",
    "b                              blocks, or bytes again",
    "n                              only what was born in the last minute; of all ages again",
    "s                              sort by own amounts, with callees, by name",
    "/                              only stacks with such a function or file",
    "Space                          freeze, or go on",
    "r                              read the process now",
    "w                              write a file for allomon report and flame",
    "q, Ctrl-C                      quit",
};

std::vector<std::string> LinesOf(const std::string& text) {
  return absl::StrSplit(text, '\n', absl::SkipEmpty());
}

// The index of a column that a table does not have.
constexpr size_t kNoColumn = static_cast<size_t>(-1);
size_t ColumnOf(const views::Table& table, const std::string& key) {
  for (size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].key == key) return i;
  }
  return kNoColumn;
}

std::string TextOf(const std::vector<views::Cell>& row, size_t column) {
  if (column == kNoColumn) return "";
  const auto* text = std::get_if<std::string>(&row[column].data);
  return text == nullptr ? "" : *text;
}

// Leaves a table of callers the rows of one function alone.
void KeepCallersOf(const std::string& function, views::Table* table) {
  const size_t name = ColumnOf(*table, "function"), depth = ColumnOf(*table, "depth");
  if (name == kNoColumn || depth == kNoColumn) return;
  std::vector<std::vector<views::Cell>> kept;
  bool is_part = false;
  for (auto& row : table->rows) {
    const auto* number = std::get_if<double>(&row[depth].data);
    if (number != nullptr && *number == 1) is_part = TextOf(row, name) == function;
    if (is_part) kept.push_back(std::move(row));
  }
  table->rows = std::move(kept);
}

// The one after `value` in a ring; the first if `value` is not in it.
template <typename Iterator>
std::string After(Iterator begin, Iterator end, const std::string& value) {
  auto it = std::find(begin, end, value);
  if (it == end || ++it == end) return *begin;
  return *it;
}

bool IsValue(const std::string& argument, const std::string& option, std::string* value) {
  if (argument.compare(0, option.size(), option) != 0) return false;
  *value = argument.substr(option.size());
  return true;
}

}  // namespace

Interface::Interface(std::string title, std::vector<std::string> report, std::string save_path,
                     Charset charset)
    : title_(std::move(title)),
      report_(std::move(report)),
      charset_(charset),
      save_path_(std::move(save_path)),
      profile_(absl::UnavailableError("reading ...")) {
  for (const std::string& argument : report_) {
    IsValue(argument, "--view=", &state_.view);
    IsValue(argument, "--metric=", &state_.metric);
    if (IsValue(argument, "--born=", &state_.born)) born_ = state_.born;
    // Any of several expressions may match.
    std::string focus;
    if (!IsValue(argument, "--focus=", &focus)) continue;
    state_.focus += (state_.focus.empty() ? "" : "|") + focus;
  }
}

void Interface::SetProfile(absl::StatusOr<heap::HeapProfile> profile) {
  profile_ = std::move(profile);
}

bool Interface::wants_pages() const { return state_.view == "pages"; }

absl::StatusOr<views::Options> Interface::OptionsOf(const State& state) const {
  std::vector<std::string> args;
  for (const std::string& argument : report_) {
    std::string value;
    if (IsValue(argument, "--view=", &value) || IsValue(argument, "--metric=", &value) ||
        IsValue(argument, "--focus=", &value) || IsValue(argument, "--born=", &value)) {
      continue;
    }
    args.push_back(argument);
  }
  // Values of a label have a view of their own.
  if (state.by.empty()) args.push_back("--view=" + state.view);
  if (!state.by.empty()) args.push_back("--by=label:" + state.by);
  const bool has_own_metric =
      state.by.empty() && std::find(std::begin(kOfOwnMetric), std::end(kOfOwnMetric), state.view) !=
                              std::end(kOfOwnMetric);
  if (!state.metric.empty() && !has_own_metric) args.push_back("--metric=" + state.metric);
  if (!state.sort.empty()) args.push_back("--sort=" + state.sort);
  if (!state.focus.empty()) args.push_back("--focus=" + state.focus);
  if (!state.born.empty()) args.push_back("--born=" + state.born);
  if (state.blocks) args.emplace_back("--blocks");
  args.emplace_back("--");
  args.push_back(save_path_);  // named in suggested commands, which are not shown
  return views::ParseOptions(args, views::Command::kReport);
}

absl::StatusOr<views::Report> Interface::ReportOf(int columns) const {
  if (!profile_.ok()) return profile_.status();
  const auto options = OptionsOf(state_);
  if (!options.ok()) return options.status();
  views::Space space;
  space.rows = kMostRows;
  space.columns = columns;
  space.charset = charset_;
  if (options->born.is_all()) return views::ReportOf(*profile_, *options, space);
  heap::HeapProfile part = *profile_;
  const std::string why_not = heap::KeepBorn(options->born, &part);
  if (!why_not.empty()) return absl::FailedPreconditionError(why_not);
  return views::ReportOf(part, *options, space);
}

void Interface::AddTable(const views::Table& table, const views::TextStyle& style) {
  views::Report alone;
  alone.tables = {table};
  const std::vector<std::string> lines = LinesOf(views::ToText(alone, style));
  const size_t name = ColumnOf(table, "function");
  // A line for the heads, and one for each row.
  const bool are_rows = lines.size() == table.rows.size() + 1;
  for (size_t i = 0; i < lines.size(); ++i) {
    Row row;
    row.text = lines[i];
    row.is_head = are_rows && i == 0;
    if (are_rows && i > 0) row.function = TextOf(table.rows[i - 1], name);
    rows_.push_back(std::move(row));
  }
}

void Interface::MakeRows(int columns) {
  rows_.clear();
  totals_.clear();
  metric_ = state_.metric;
  auto report = ReportOf(columns);
  views::TextStyle style;
  style.width = columns;
  style.charset = charset_;
  if (!report.ok()) {
    views::Report error;
    error.head = {{std::string(report.status().message())}};
    for (const std::string& line : LinesOf(views::ToText(error, style)))
      rows_.push_back({line, "", false});
    return;
  }
  for (const views::Fact& fact : report->facts) {
    if (fact.key == "metric") metric_ = std::get<std::string>(fact.data);
  }
  // The line after the program's name.
  if (report->head.size() > 1) {
    views::Report totals;
    totals.head = {report->head[1]};
    totals_ = LinesOf(views::ToText(totals, style));
  }
  for (const views::TextLine& line : report->picture) rows_.push_back({line.text, "", false});
  for (views::Table& table : report->tables) {
    if (!state_.callers.empty()) KeepCallersOf(state_.callers, &table);
    if (!table.rows.empty()) AddTable(table, style);
  }
  const bool has_rows =
      std::any_of(rows_.begin(), rows_.end(), [](const Row& row) { return !row.is_head; });
  if (!has_rows) rows_.push_back({"nothing yet", "", false});
}

// The row that was chosen, where it is now.
void Interface::FollowChosen() {
  chosen_ = std::min(chosen_, rows_.size() - 1);
  if (!chosen_function_.empty() && rows_[chosen_].function != chosen_function_) {
    const auto it = std::find_if(rows_.begin(), rows_.end(), [this](const Row& row) {
      return row.function == chosen_function_;
    });
    if (it != rows_.end()) chosen_ = static_cast<size_t>(it - rows_.begin());
  }
  if (rows_[chosen_].is_head) Move(1);
}

// Heads are no rows to choose.  Each has a row below it, and the first one has no row above.
void Interface::Move(long by) {
  const long last = static_cast<long>(rows_.size()) - 1;
  if (last < 0) return;
  const auto is_head = [this](long row) { return rows_[static_cast<size_t>(row)].is_head; };
  long to = std::clamp(static_cast<long>(chosen_) + by, 0L, last);
  while (by < 0 && to > 0 && is_head(to)) --to;
  while (to < last && is_head(to)) ++to;
  chosen_ = static_cast<size_t>(to);
  chosen_function_ = rows_[chosen_].function;
}

void Interface::Go(const State& state) {
  state_ = state;
  chosen_ = 0;
  first_ = 0;
  chosen_function_.clear();
}

void Interface::NextMetric() {
  if (!profile_.ok()) return;
  std::vector<std::string> metrics;
  for (const char* const name : heap::kMetricNames) {
    if (Has(*profile_, *heap::MetricOf(name))) metrics.emplace_back(name);
  }
  if (metrics.empty()) return;
  State next = state_;
  next.metric = After(metrics.begin(), metrics.end(), metric_);
  Go(next);
}

void Interface::NextLabel() {
  std::set<std::string> keys;
  if (profile_.ok()) {
    for (const heap::Sample& sample : profile_->samples) {
      for (const heap::Label& label : sample.labels) keys.insert(label.key);
    }
  }
  if (keys.empty()) {
    message_ = "no block has a label";
    return;
  }
  State next = state_;
  next.by = After(keys.begin(), keys.end(), state_.by);
  next.callers.clear();
  Go(next);
}

void Interface::OpenCallers() {
  if (chosen_ >= rows_.size() || rows_[chosen_].function.empty()) {
    message_ = "this row is no function";
    return;
  }
  if (!state_.callers.empty() && state_.callers == rows_[chosen_].function) return;
  before_.push_back(state_);
  State next = state_;
  next.view = "callers";
  next.by.clear();
  next.sort.clear();
  next.callers = rows_[chosen_].function;
  Go(next);
}

Wish Interface::PressText(char byte) {
  State next = state_;
  const auto view = [&](const char* name) {
    const bool were_pages = wants_pages();
    next.view = name;
    next.by.clear();
    next.callers.clear();
    Go(next);
    return were_pages != wants_pages() ? Wish::kRead : Wish::kNothing;
  };
  const auto index =
      std::find(std::begin(kViews), std::end(kViews), state_.view) - std::begin(kViews);
  constexpr auto kCount = std::end(kViews) - std::begin(kViews);
  switch (byte) {
    case 'q':
    case kInterrupt:
      return Wish::kQuit;
    case 'v':
      return view(kViews[state_.by.empty() ? (index + 1) % kCount : 0]);
    case 'V':
      return view(kViews[state_.by.empty() ? (index + kCount - 1) % kCount : 0]);
    case 'f':
      return view("functions");
    case 'c':
      return view("callers");
    case 't':
      return view("types");
    case 'h':
      return view("threads");
    case 'p':
      return view("pages");
    case 'l':
      return NextLabel(), Wish::kNothing;
    case 'm':
      return NextMetric(), Wish::kNothing;
    case 'b':
      next.blocks = !next.blocks;
      return Go(next), Wish::kNothing;
    case 'n':
      next.born = state_.born.empty() ? born_ : "";
      // Of a time of birth, what is live is known alone.
      next.metric = next.born.empty() ? state_.metric_of_all : "";
      next.metric_of_all = next.born.empty() ? "" : state_.metric;
      return Go(next), Wish::kNothing;
    case 's':
      next.sort =
          After(std::begin(kSorts), std::end(kSorts), state_.sort.empty() ? "cur" : state_.sort);
      return Go(next), Wish::kNothing;
    case ' ':
      is_frozen_ = !is_frozen_;
      return is_frozen_ ? Wish::kNothing : Wish::kRead;
    case 'r':
      return Wish::kRead;
    case '/':
      prompt_ = Prompt::kFilter;
      typed_ = state_.focus;
      return Wish::kNothing;
    case 'w':
      prompt_ = Prompt::kSave;
      typed_ = save_path_;
      return Wish::kNothing;
    case '?':
      shows_help_ = true;
      return Wish::kNothing;
    default:
      message_ = "? shows the keys";
      return Wish::kNothing;
  }
}

Wish Interface::EndPrompt() {
  const Prompt prompt = std::exchange(prompt_, Prompt::kNone);
  if (prompt == Prompt::kSave) {
    if (typed_.empty()) return Wish::kNothing;
    save_path_ = typed_;
    return Wish::kSave;
  }
  State next = state_;
  next.focus = typed_;
  if (const auto options = OptionsOf(next); !options.ok()) {
    message_ = std::string(options.status().message());
    return Wish::kNothing;
  }
  Go(next);
  return Wish::kNothing;
}

Wish Interface::PressInPrompt(const Input& input) {
  switch (input.key) {
    case Key::kEnter:
      return EndPrompt();
    case Key::kBack:
      prompt_ = Prompt::kNone;
      return Wish::kNothing;
    case Key::kErase:
      // A whole character: bytes 10xxxxxx are not the first of one.
      while (!typed_.empty() && (static_cast<unsigned char>(typed_.back()) & 0xc0) == 0x80) {
        typed_.pop_back();
      }
      if (!typed_.empty()) typed_.pop_back();
      return Wish::kNothing;
    case Key::kText:
      if (input.byte == kInterrupt) {
        prompt_ = Prompt::kNone;
      } else if (typed_.size() < kMostTyped) {
        typed_ += input.byte;
      }
      return Wish::kNothing;
    default:
      return Wish::kNothing;
  }
}

Wish Interface::Press(const Input& input) {
  if (input.key == Key::kNone) return Wish::kNothing;
  message_.clear();
  if (shows_help_) {
    shows_help_ = false;
    return input.key == Key::kText && (input.byte == 'q' || input.byte == kInterrupt)
               ? Wish::kQuit
               : Wish::kNothing;
  }
  if (prompt_ != Prompt::kNone) return PressInPrompt(input);
  switch (input.key) {
    case Key::kUp:
      return Move(-1), Wish::kNothing;
    case Key::kDown:
      return Move(1), Wish::kNothing;
    case Key::kPageUp:
      return Move(-static_cast<long>(page_)), Wish::kNothing;
    case Key::kPageDown:
      return Move(static_cast<long>(page_)), Wish::kNothing;
    case Key::kHome:
      return Move(-static_cast<long>(rows_.size())), Wish::kNothing;
    case Key::kEnd:
      return Move(static_cast<long>(rows_.size())), Wish::kNothing;
    case Key::kEnter:
      return OpenCallers(), Wish::kNothing;
    case Key::kBack:
    case Key::kErase:
      if (!before_.empty()) {
        const bool were_pages = wants_pages();
        Go(before_.back());
        before_.pop_back();
        return wants_pages() != were_pages ? Wish::kRead : Wish::kNothing;
      }
      return Wish::kNothing;
    case Key::kText:
      return PressText(input.byte);
    case Key::kNone:
      break;
  }
  return Wish::kNothing;
}

std::string Interface::TitleText() const {
  std::string text = title_ + ": ";
  if (!state_.callers.empty()) {
    text += "callers of " + state_.callers;
  } else {
    text += state_.by.empty() ? state_.view : "label " + state_.by;
  }
  if (!metric_.empty()) text += ", " + metric_;
  if (state_.blocks) text += ", blocks";
  if (!state_.sort.empty()) text += ", by " + state_.sort;
  if (!state_.focus.empty()) text += ", /" + state_.focus + "/";
  if (!state_.born.empty()) text += ", born " + state_.born;
  if (is_frozen_) text += ", frozen";
  return text;
}

std::string Interface::BottomText() const {
  if (prompt_ == Prompt::kFilter) return "only stacks with: " + typed_ + "_";
  if (prompt_ == Prompt::kSave) return "write to: " + typed_ + "_";
  if (!message_.empty()) return message_;
  return "? keys  q quit  Enter callers  v view  m metric  s sort  / filter  Space freeze  w write";
}

std::vector<ScreenLine> Interface::HelpLines() const {
  std::vector<ScreenLine> lines;
  for (const char* const line : kHelp) lines.push_back({line, LineStyle::kPlain});
  return lines;
}

std::vector<ScreenLine> Interface::Draw(int rows, int columns) {
  MakeRows(columns);
  FollowChosen();
  std::vector<ScreenLine> lines = {{TitleText(), LineStyle::kTitle}};
  const size_t most_totals = rows >= kLinesWithAllTotals ? 3 : rows >= kLinesWithTotals ? 1 : 0;
  for (size_t i = 0; i < std::min(totals_.size(), most_totals); ++i) {
    lines.push_back({totals_[i], LineStyle::kPlain});
  }
  const size_t room = static_cast<size_t>(std::max(rows, 1));
  const size_t other_lines = lines.size() + 1;  // with the bottom's
  page_ = room > other_lines ? room - other_lines : 1;
  if (shows_help_) {
    for (ScreenLine& line : HelpLines()) lines.push_back(std::move(line));
    lines.resize(std::min(lines.size(), other_lines - 1 + page_));
  } else {
    // The head stays above the first rows of its table, and the chosen row is always shown.
    if (chosen_ < first_ + 1)
      first_ = chosen_ > 0 && rows_[chosen_ - 1].is_head ? chosen_ - 1 : chosen_;
    if (chosen_ >= first_ + page_) first_ = chosen_ + 1 - page_;
    for (size_t i = first_; i < std::min(rows_.size(), first_ + page_); ++i) {
      const LineStyle style = i == chosen_       ? LineStyle::kChosen
                              : rows_[i].is_head ? LineStyle::kHead
                                                 : LineStyle::kPlain;
      lines.push_back({rows_[i].text, style});
    }
  }
  while (lines.size() + 1 < room) lines.push_back({});
  lines.push_back({BottomText(), LineStyle::kDim});
  if (lines.size() > room) lines.resize(room);
  for (ScreenLine& line : lines) {
    line.text = CutToBeginning(Printable(line.text, charset_), columns, charset_);
  }
  return lines;
}

}  // namespace allomon::control
