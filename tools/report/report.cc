#include "tools/report/report.h"

#include <algorithm>

#include "tools/options/documents.h"
#include "tools/report/mlmon_report.h"
#include "tools/report/table/load_files.h"
#include "tools/report/table/options.h"
#include "tools/report/views/views.h"

namespace allomon::report {
namespace {

using views::Options;

// A file of each kind; empty: there is none.
struct Kinds {
  std::string with_stacks;
  std::string mlmon;
};

Kinds KindsOf(const std::vector<std::string>& files) {
  Kinds kinds;
  for (const std::string& file : files) {
    const views::FileKind kind = views::KindOf(file);
    if (kind == views::FileKind::kHeapProfile) kinds.with_stacks = file;
    if (kind == views::FileKind::kMlmon) kinds.mlmon = file;
  }
  return kinds;
}

// One run of `allomon report` or `allomon diff`.
class Run {
 public:
  Run(views::Command command, const Terminal& terminal) : command_(command), terminal_(terminal) {}

  CommandResult Of(const std::vector<std::string>& args) const {
    auto options = views::ParseOptions(args, command_);
    if (!options.ok()) return Failed(options.status());
    const auto answer = options::AnswerTo(*options, views::TableOf(command_).Text());
    if (answer.has_value()) return *answer;
    return Show(&*options);
  }

 private:
  std::string Line(const std::string& text) const {
    return "allomon " + views::TableOf(command_).Text().name + ": " +
           Printable(text, terminal_.charset) + "\n";
  }
  CommandResult Failed(const absl::Status& status) const {
    return {2, "", Line(std::string(status.message()))};
  }

  // Of files that are neither, the reader of profiles with stacks says what they are, if that is
  // what the options are about.
  bool IsAboutStacks(const Options& options, const Kinds& kinds) const {
    if (!kinds.mlmon.empty()) return false;
    if (!kinds.with_stacks.empty() || command_ == views::Command::kDiff) return true;
    const bool wants_stacks =
        std::any_of(options.given.begin(), options.given.end(),
                    [](const options::Given& given) { return given.inputs == views::kWithStacks; });
    return wants_stacks && !options.files.empty();
  }

  CommandResult Show(Options* options) const {
    const Kinds kinds = KindsOf(options->files);
    if (!kinds.with_stacks.empty() && !kinds.mlmon.empty()) {
      return Failed(
          absl::InvalidArgumentError(kinds.mlmon + " is an mlmon.out, " + kinds.with_stacks +
                                     " a profile with call stacks: give files of one kind"));
    }
    if (IsAboutStacks(*options, kinds)) {
      const absl::Status status =
          views::CheckInputs(*options, views::kWithStacks, kinds.with_stacks);
      return status.ok() ? ShowStacks(*options) : Failed(status);
    }
    const std::string file = kinds.mlmon.empty() ? "mlmon.out" : kinds.mlmon;
    const absl::Status status = views::CheckInputs(*options, views::kOfMlmon, file);
    if (!status.ok()) return Failed(status);
    options->diff |= command_ == views::Command::kDiff;
    return ShowMlmon(*options);
  }

  CommandResult ShowStacks(const Options& options) const {
    if (command_ == views::Command::kReport) {
      auto text = views::ShowSum(options, terminal_);
      return text.ok() ? CommandResult{0, *std::move(text), ""} : Failed(text.status());
    }
    if (options.files.size() != 2) {
      return Failed(absl::InvalidArgumentError("two profiles are compared; " +
                                               std::to_string(options.files.size()) +
                                               " given: allomon diff BEFORE AFTER"));
    }
    auto difference = views::ShowDifference(options, terminal_);
    if (!difference.ok()) return Failed(difference.status());
    const int status = options.fail_on_growth && difference->grew ? 1 : 0;
    return {status, std::move(difference->text), ""};
  }

  CommandResult ShowMlmon(const Options& options) const {
    auto report = ReportMlmon(options, terminal_);
    if (!report.ok()) return Failed(report.status());
    // A damaged file is shown, and the status says so.
    if (!report->damage.empty()) return {2, std::move(report->text), Line(report->damage)};
    return {0, std::move(report->text), ""};
  }

  const views::Command command_;
  const Terminal& terminal_;
};

}  // namespace

const options::CommandText& ReportText() { return views::TableOf(views::Command::kReport).Text(); }

const options::CommandText& DiffText() { return views::TableOf(views::Command::kDiff).Text(); }

absl::Status CheckReportOptions(const std::vector<std::string>& args) {
  return views::ParseOptions(args, views::Command::kReport).status();
}

CommandResult RunReport(const std::vector<std::string>& args, const Terminal& terminal) {
  return Run(views::Command::kReport, terminal).Of(args);
}

CommandResult RunDiff(const std::vector<std::string>& args, const Terminal& terminal) {
  return Run(views::Command::kDiff, terminal).Of(args);
}

}  // namespace allomon::report
