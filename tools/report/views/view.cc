#include "tools/report/views/view.h"

#include <string>

#include "tools/heap/computed_label.h"
#include "tools/heap/heap_profile.h"
#include "tools/heap/labels.h"
#include "tools/report/table/headline.h"
#include "tools/report/table/scene.h"
#include "tools/report/views/all_views.h"
#include "tools/report/views/leaks_view.h"
#include "tools/text/shell_word.h"

namespace allomon::views {
namespace {

absl::Status AddView(View view, const Scene& scene, int columns, Report* report) {
  switch (view) {
    case View::kFunctions:
      AddFunctions(scene, heap::RowKey::kFunction, report);
      break;
    case View::kTree:
      AddTree(scene, heap::Direction::kCallees, report);
      break;
    case View::kCallers:
      AddTree(scene, heap::Direction::kCallers, report);
      break;
    case View::kLines:
      AddFunctions(scene, heap::RowKey::kLine, report);
      break;
    case View::kSizes:
      return AddSizes(scene, report);
    case View::kTypes:
      AddTypes(scene, report);
      break;
    case View::kUnused:
      return AddUnused(scene, report);
    case View::kPages:
      return AddPages(scene, report);
    case View::kThreads:
      return AddThreads(scene, report);
    case View::kModules:
      AddModules(scene, report);
      break;
    case View::kLifetimes:
      return AddLifetimes(scene, report);
    case View::kAges:
      return AddAges(scene, report);
    case View::kTimeline:
      return AddTimeline(scene, columns, report);
    case View::kLeaks:
      AddLeaks(scene, report);
      break;
    case View::kSource:
      return AddSource(scene, report);
    case View::kLabels:
      AddLabels(scene, report);
      break;
  }
  return absl::OkStatus();
}

// The command of this report, up to its view.
std::string CommandOf(const Scene& scene) {
  const Options& options = *scene.options;
  std::string command = std::string("allomon ") + options.command;
  for (const std::string& file : options.files) command += " " + ShellWord(file);
  command += SelectingOptions(options);
  return options.metric.has_value() || options.blocks ? command + MetricOptions(scene.measure)
                                                      : command;
}

// The view that shows more of the same, or null.
const char* NextView(View view) {
  if (view == View::kFunctions) return "callers";
  return view == View::kCallers || view == View::kTree ? "lines" : nullptr;
}

// People get a hint, programs always a command: rows of views without frames lead to functions.
void AddNextCommand(View view, const Scene& scene, Report* report) {
  const char* const next = NextView(view);
  if (next != nullptr) {
    const std::string option = std::string(" --view=") + next;
    report->foot.push_back({"next: " + CommandOf(scene) + option, Paint::kDim});
    report->next.push_back(CommandOf(scene) + option + " --json");
  } else if (view != View::kPages) {
    const char* const other = view == View::kLines ? "tree" : "functions";
    report->next.push_back(CommandOf(scene) + " --view=" + other + " --json");
  }
}

bool HasFrames(View view) {
  return view == View::kFunctions || view == View::kTree || view == View::kCallers ||
         view == View::kLines;
}

absl::Status CheckByLabel(const heap::HeapProfile& profile, const Options& options, View view) {
  if (!HasFrames(view) && view != View::kLabels && view != View::kLeaks && view != View::kPages) {
    return absl::InvalidArgumentError(
        "--by goes with --leaks and --view=functions, tree, callers, lines or pages");
  }
  if (heap::HasLabel(profile, options.by_label)) return absl::OkStatus();
  return absl::InvalidArgumentError(heap::NoSuchLabel(profile, options.by_label));
}

absl::StatusOr<Report> ViewOf(const heap::HeapProfile& profile, const Options& options, View view,
                              const Space& space) {
  const auto measure = MeasureOf(profile, options);
  if (!measure.ok()) return measure.status();
  Scene scene = SceneOf(profile, options, *measure);
  scene.rows = space.rows;
  scene.charset = space.charset;
  Report report;
  AddFormat(options.command, view, &report);
  AddHeadline(scene, &report);
  const absl::Status status = AddView(view, scene, space.columns, &report);
  if (!status.ok()) return status;
  AddNextCommand(view, scene, &report);
  return report;
}

}  // namespace

absl::StatusOr<Report> ReportOf(const heap::HeapProfile& profile, const Options& options,
                                const Space& space) {
  if (options.by_label.empty()) {
    return ViewOf(profile, options, options.view.value_or(View::kFunctions), space);
  }
  const View view = options.view.value_or(View::kLabels);
  heap::HeapProfile labelled = profile;
  heap::AddComputedLabel(options.by_label, &labelled);
  const absl::Status status = CheckByLabel(labelled, options, view);
  if (!status.ok()) return status;
  if (HasFrames(view)) heap::AddLabelFrames(options.by_label, &labelled);
  return ViewOf(labelled, options, view, space);
}

}  // namespace allomon::views
