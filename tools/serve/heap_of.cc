#include "tools/serve/heap_of.h"

#include <optional>
#include <utility>

#include "tools/heap/computed_label.h"
#include "tools/heap/join.h"
#include "tools/heap/program_name.h"
#include "tools/load/recording/recording_profile.h"
#include "tracker/names/base_name.h"

namespace allomon::serve {
namespace {

using heap::HeapProfile;

constexpr size_t kMostNames = 16;

std::string NameOf(const recording::Process& process) { return BaseName(process.program); }

// Returns the name by which the process was started.  The executable of a program with several
// names has only one of them.
std::string CalledBy(const recording::Process& process) {
  return BaseName(process.command.substr(0, process.command.find(' ')));
}

absl::Status AddLabel(const char* name, const std::string& value,
                      std::vector<heap::LabelMatch>* matches) {
  heap::LabelMatch match;
  if (!heap::ParseLabelMatch(value, &match)) {
    return absl::InvalidArgumentError(std::string(name) + ": give KEY=VALUE, or KEY");
  }
  matches->push_back(std::move(match));
  return absl::OkStatus();
}

absl::Status SetBy(const std::string& value, Choice* choice) {
  const auto key = heap::KeyOfBy(value);
  if (!key)
    return absl::InvalidArgumentError(
        "by: give label:KEY, such as label:tenant, or type, or source");
  choice->by_label = *key;
  return absl::OkStatus();
}

absl::Status SetBorn(const std::string& value, Choice* choice) {
  const auto born = heap::ParseBorn(value);
  if (!born) return absl::InvalidArgumentError("born: give two ages, such as 10m..2m, or 10m..");
  choice->born = *born;
  return absl::OkStatus();
}

// The parameters that choose.
struct Parameter {
  std::string_view name;
  absl::Status (*set)(const std::string& value, Choice* choice);
};
constexpr Parameter kParameters[] = {
    {"process",
     [](const std::string& value, Choice* choice) {
       choice->process = value;
       return absl::OkStatus();
     }},
    {"focus-label",
     [](const std::string& value, Choice* choice) {
       return AddLabel("focus-label", value, &choice->labels.focus);
     }},
    {"ignore-label",
     [](const std::string& value, Choice* choice) {
       return AddLabel("ignore-label", value, &choice->labels.ignore);
     }},
    {"by", SetBy},
    {"born", SetBorn},
    {"outlived",
     [](const std::string& value, Choice* choice) {
       choice->outlived = {true, value};
       return absl::OkStatus();
     }},
};

const Parameter* FindParameter(std::string_view name) {
  for (const Parameter& parameter : kParameters) {
    if (parameter.name == name) return &parameter;
  }
  return nullptr;
}

// Returns an error of one line for a choice that no process fits.
absl::Status NoSuchProcess(const std::vector<RecordingFile>& files, const std::string& name) {
  std::string names;
  size_t count = 0;
  VisitProcesses(
      files,
      [&](const RecordingFile&, const recording::Process& process) {
        if (++count > kMostNames) return;
        names += (count == 1 ? "" : ", ") + std::to_string(process.record.pid) + " (" +
                 NameOf(process) + ")";
      },
      [](const RecordingFile&) {});
  return absl::NotFoundError("process=" + name + ": no recording is of such a process; there is " +
                             (count == 0 ? "none" : names));
}

absl::Status NothingYet() {
  return absl::UnavailableError(
      "nothing has been recorded yet: allomon ctl PID start, and a process that allocates");
}

class Sum {
 public:
  void Add(HeapProfile profile) {
    if (sum_) {
      heap::AddProfile(profile, &*sum_);
    } else {
      sum_ = std::move(profile);
    }
  }
  void AddNote(std::string note) { notes_.push_back(std::move(note)); }

  bool empty() const { return !sum_.has_value(); }
  HeapProfile Take() {
    for (std::string& note : notes_) sum_->notes.push_back(std::move(note));
    return *std::move(sum_);
  }

 private:
  std::optional<HeapProfile> sum_;
  std::vector<std::string> notes_;
};

absl::StatusOr<HeapProfile> WithLabels(HeapProfile profile, const Choice& choice) {
  const std::string why_not =
      heap::KeepChosen(choice.born, choice.outlived, choice.labels, choice.by_label, &profile);
  if (!why_not.empty()) return absl::NotFoundError(why_not);
  return profile;
}

}  // namespace

bool Choice::Fits(const recording::Process& of) const {
  return process.empty() || process == std::to_string(of.record.pid) || process == NameOf(of) ||
         process == CalledBy(of) || process == heap::ProgramName(of.program, of.command);
}

bool IsOfChoice(std::string_view name) { return FindParameter(name) != nullptr; }

absl::StatusOr<Choice> ChoiceOf(const Request& request) {
  Choice choice;
  for (const auto& [name, value] : request.parameters) {
    const Parameter* const parameter = FindParameter(name);
    if (parameter == nullptr) continue;
    const absl::Status status = parameter->set(value, &choice);
    if (!status.ok()) return status;
  }
  return choice;
}

absl::StatusOr<HeapProfile> HeapOf(const std::vector<RecordingFile>& files, const Choice& choice,
                                   const HeapOptions& options) {
  recording::RecordingOptions reading = {options.name_sources, options.names};
  bool is_found = false;
  reading.is_chosen = [&](const recording::Process& process) {
    const bool fits = choice.Fits(process);
    is_found |= fits;
    return fits;
  };
  Sum sum;
  for (const RecordingFile& file : files) {
    is_found = false;
    reading.running = file.running;
    auto profiles = recording::ReadRecordingProfiles(file.path, reading);
    if (profiles.ok()) {
      for (HeapProfile& profile : *profiles) sum.Add(std::move(profile));
    } else if (choice.process.empty() || is_found) {
      sum.AddNote("left out: " + std::string(profiles.status().message()));
    }
  }
  if (!sum.empty()) return WithLabels(sum.Take(), choice);
  return choice.process.empty() ? NothingYet() : NoSuchProcess(files, choice.process);
}

void VisitProcesses(
    const std::vector<RecordingFile>& files,
    const std::function<void(const RecordingFile& file, const recording::Process& process)>& visit,
    const std::function<void(const RecordingFile& file)>& unreadable) {
  for (const RecordingFile& file : files) {
    recording::FileBytes bytes;
    recording::Recording recording;
    std::string error;
    if (!bytes.Open(file.path, &error) || !ReadRecording(bytes, &recording, &error)) {
      unreadable(file);
      continue;
    }
    if (file.running.pid != 0) recording::KeepRunning(file.running, &recording.processes);
    for (const recording::Process& process : recording.processes) visit(file, process);
  }
}

}  // namespace allomon::serve
