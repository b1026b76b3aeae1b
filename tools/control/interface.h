// The interface of `allomon top`: rows that it shows, and keys that it takes.  It knows no terminal
// and no process: profiles come in, lines go out.
//
// One thread.  Nothing here fails: a view that lacks data is a line of text.
#ifndef ALLOMON_TOOLS_CONTROL_INTERFACE_H_
#define ALLOMON_TOOLS_CONTROL_INTERFACE_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/control/screen.h"
#include "tools/heap/heap_profile.h"
#include "tools/report/table/options.h"
#include "tools/report/table/outputs.h"
#include "tools/report/table/table.h"

namespace allomon::control {

enum class Wish {
  kNothing,
  kRead,  // a new profile, at once
  kSave,  // to save_path()
  kQuit,
};

struct ScreenLine {
  std::string text;
  LineStyle style = LineStyle::kPlain;
};

class Interface {
 public:
  // `report` are options of `allomon report`, which was asked to check them.
  Interface(std::string title, std::vector<std::string> report, std::string save_path,
            Charset charset);

  // Shows this from now on.  An error is shown in the place of rows, until a profile comes.
  void SetProfile(absl::StatusOr<heap::HeapProfile> profile);
  // A line that stays until the next key.
  void SetMessage(std::string message) { message_ = std::move(message); }

  Wish Press(const Input& input);

  bool is_frozen() const { return is_frozen_; }
  // Pages are read from the process, and not from its recording.
  bool wants_pages() const;
  const std::string& save_path() const { return save_path_; }

  // Returns at most `rows` lines, each of at most `columns`.
  std::vector<ScreenLine> Draw(int rows, int columns);

 private:
  // All that keys choose.  Key::kBack returns to an earlier one.
  struct State {
    std::string view = "functions";
    std::string metric;         // empty: as the report chooses
    std::string sort;           // the same
    std::string focus;          // an expression; empty: all
    std::string born;           // times of birth, as of allomon report; empty: all
    std::string metric_of_all;  // the metric that comes back with all ages
    std::string by;             // the key of a label; empty: none
    std::string callers;        // only callers of this function are shown; empty: all
    bool blocks = false;
  };
  struct Row {
    std::string text;
    std::string function;  // empty: the row has none
    bool is_head = false;
  };
  enum class Prompt { kNone, kFilter, kSave };

  absl::StatusOr<views::Options> OptionsOf(const State& state) const;
  absl::StatusOr<views::Report> ReportOf(int columns) const;
  void AddTable(const views::Table& table, const views::TextStyle& style);
  void MakeRows(int columns);
  void FollowChosen();
  void Move(long by);
  void Go(const State& state);
  void NextMetric();
  void NextLabel();
  void OpenCallers();
  Wish PressText(char byte);
  Wish PressInPrompt(const Input& input);
  Wish EndPrompt();
  std::string TitleText() const;
  std::string BottomText() const;
  std::vector<ScreenLine> HelpLines() const;

  const std::string title_;
  const std::vector<std::string> report_;
  const Charset charset_;
  std::string save_path_;
  absl::StatusOr<heap::HeapProfile> profile_;
  State state_;
  std::string born_ = "1m..";  // the choice of a key
  std::vector<State> before_;
  bool is_frozen_ = false;
  bool shows_help_ = false;
  Prompt prompt_ = Prompt::kNone;
  std::string typed_;
  std::string message_;

  // Of the last Draw().
  std::vector<std::string> totals_;
  std::string metric_;  // the report's choice, unless the state has one
  std::vector<Row> rows_;
  size_t chosen_ = 0;            // index in rows_
  std::string chosen_function_;  // rows change places from profile to profile
  size_t first_ = 0;             // index of the first row that is shown
  size_t page_ = 1;              // rows that are shown at once
};

}  // namespace allomon::control

#endif  // ALLOMON_TOOLS_CONTROL_INTERFACE_H_
