#include "tools/report/report.h"

#include <algorithm>
#include <cstdint>

#include "tools/options/documents.h"
#include "tools/options/values.h"
#include "tools/pages/held_pages.h"
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

  // A process in the place of a file.
  static bool IsProcess(const Options& options) {
    return options.view == views::View::kPages && options.files.size() == 1 &&
           options.files[0].find_first_not_of("0123456789") == std::string::npos;
  }

  CommandResult ShowProcess(const Options& options) const {
    const std::string& word = options.files[0];
    uint32_t pid = 0;
    if (!options::ParseNumber(word, &pid) || pid == 0 || pid > INT32_MAX) {
      return Failed(absl::InvalidArgumentError(
          "\"" + word + "\" is not the id of a process; allomon list shows some"));
    }
    const auto profile = pages::ReadHeldPages(pid, options.debug_dir);
    auto text = profile.ok() ? views::ShowProfile(*profile, options, terminal_)
                             : absl::StatusOr<std::string>(profile.status());
    if (text.ok()) return {0, *std::move(text), ""};
    return Failed(absl::Status(text.status().code(),
                               "process " + word + ": " + std::string(text.status().message())));
  }

  CommandResult Show(Options* options) const {
    if (IsProcess(*options)) return ShowProcess(*options);
    if (options->view == views::View::kPages && options->files.empty()) {
      return Failed(absl::InvalidArgumentError(
          "--view=pages: name a process by its id; allomon list shows some"));
    }
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
