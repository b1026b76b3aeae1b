#include "tools/run/write_profiles.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tools/pprof/gzip.h"
#include "tools/pprof/pprof.h"
#include "tools/run/output_file.h"
#include "tools/run/progress_line.h"
#include "tools/run/words.h"
#include "tools/run/worker.h"
#include "tracker/names/base_name.h"

namespace allomon::run {
namespace {

using heap::HeapProfile;

// A program besides the main one gets a file if it allocated kLeastBytes, and the part 1/kLeastPart
// of all bytes or kMuchBytes.
constexpr double kLeastBytes = 1 << 20;
constexpr double kLeastPart = 100;
constexpr double kMuchBytes = 4 << 20;

bool IsWorthAFile(const Program& program, double all_bytes) {
  const double bytes = program.allocated_bytes;
  return bytes >= kLeastBytes && (bytes >= all_bytes / kLeastPart || bytes >= kMuchBytes);
}

double SumOfBytes(const std::vector<Program>& programs) {
  double sum = 0;
  for (const Program& program : programs) sum += program.allocated_bytes;
  return sum;
}

std::string Encode(const HeapProfile& profile) { return pprof::Gzip(pprof::EncodePprof(profile)); }

// Returns the profile of a program.  If several builds have its path, it is the one that allocated
// most, which comes first.
const HeapProfile* Find(const std::vector<HeapProfile>& profiles, const std::string& program) {
  for (const HeapProfile& profile : profiles) {
    if (profile.program == program) return &profile;
  }
  return nullptr;
}

// Concatenates strings, each with its length before it.
std::string Joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) {
    const uint64_t length = part.size();
    text.append(reinterpret_cast<const char*>(&length), sizeof length);
    text += part;
  }
  return text;
}

// Splits the result of Joined().  Stops at text that is malformed.
std::vector<std::string> Parted(std::string_view text) {
  std::vector<std::string> parts;
  uint64_t length = 0;
  while (text.size() >= sizeof length) {
    memcpy(&length, text.data(), sizeof length);
    text.remove_prefix(sizeof length);
    if (length > text.size()) break;
    parts.emplace_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return parts;
}

std::string NamingText(const WorkProgress& progress) {
  const uint64_t all = progress.all;
  if (all == 0) return "naming functions";
  return "naming functions: " + Number(progress.done) + " of " + Count(all, "address");
}

}  // namespace

ProfileWriter::ProfileWriter(const MemoryFile& memory, const ResidentMemories& resident,
                             const std::vector<Program>& programs, std::string out,
                             const Signals& signals)
    : memory_(memory),
      resident_(resident),
      programs_(programs),
      out_(std::move(out)),
      signals_(signals) {}

absl::StatusOr<std::vector<HeapProfile>> ProfileWriter::ReadProfiles(
    const recording::RecordingOptions& options) const {
  recording::RecordingOptions until_end = options;
  until_end.seen_nanos = [this](const recording::Process& process) {
    return resident_.SeenNanos(process);
  };
  auto profiles = recording::ReadRecordingProfiles(memory_.Bytes(), "the recording", until_end);
  if (profiles.ok()) resident_.AddTo(&*profiles);
  return profiles;
}

absl::Status ProfileWriter::Read() {
  recording::RecordingOptions options;
  options.names = false;
  auto profiles = ReadProfiles(options);
  if (!profiles.ok()) return profiles.status();
  Choose(*std::move(profiles));
  return absl::OkStatus();
}

void ProfileWriter::Choose(std::vector<HeapProfile> profiles) {
  std::vector<std::string> left_out;
  const uint64_t all_bytes = SumOfBytes(programs_);
  for (const Program& program : programs_) {
    const HeapProfile* const profile = Find(profiles, program.path);
    if (profile == nullptr) continue;
    if (outputs_.empty()) {
      outputs_.push_back({out_, *profile});
    } else if (IsWorthAFile(program, all_bytes) && HasRoomBeside(out_)) {
      outputs_.push_back({PathFor(program.path), *profile});
    } else {
      left_out.push_back(BaseName(program.path));
    }
  }
  if (outputs_.empty()) outputs_.push_back({out_, std::move(profiles.front())});
  left_out_ = std::move(left_out);
}

// Adds a number if programs in different folders have the same name.
std::string ProfileWriter::PathFor(const std::string& program) const {
  std::string path = OutputBeside(out_, BaseName(program));
  const auto is_taken = [this](const std::string& it) {
    return std::any_of(outputs_.begin(), outputs_.end(),
                       [&it](const Output& output) { return output.path == it; });
  };
  for (int number = 2; is_taken(path); ++number) {
    path = OutputBeside(out_, BaseName(program) + "." + std::to_string(number));
  }
  return path;
}

ProfileWriter::Files ProfileWriter::Unnamed() const {
  Files files;
  for (const Output& output : outputs_) files.push_back(Encode(output.profile));
  return files;
}

// Runs in the worker.  A program whose processes still run may have more samples now than at
// Read().
std::string ProfileWriter::EncodeNamed(WorkProgress* progress) const {
  recording::RecordingOptions options;
  options.progress = [progress](uint64_t done, uint64_t all) {
    progress->done = done;
    progress->all = all;
  };
  const auto profiles = ReadProfiles(options);
  if (!profiles.ok()) return "";
  Files files;
  for (const Output& output : outputs_) {
    const HeapProfile* const named = Find(*profiles, output.profile.program);
    files.push_back(Encode(named == nullptr ? output.profile : *named));
  }
  return Joined(files);
}

ProfileWriter::Files ProfileWriter::Named(bool shows_progress) const {
  ProgressLine line(shows_progress, ProgressLine::Who::kNobody);
  int ticks = 0;
  const WorkResult result = RunWorker(
      signals_, [this](WorkProgress* progress) { return EncodeNamed(progress); },
      [&](const WorkProgress& progress) {
        if (++ticks > 1) line.Show(NamingText(progress));
      });
  Files files = Parted(result.output);
  if (files.size() == outputs_.size()) return files;
  line.Show("");
  Say("functions have no names, only addresses: naming was " +
      (result.is_done ? "in vain" : result.why));
  return Unnamed();
}

std::string ProfileWriter::Write(bool shows_progress) {
  const Files files = Named(shows_progress);
  std::string main_path;
  std::vector<std::string> others;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    std::string path = outputs_[i].path;
    std::string error;
    const bool is_saved = SaveFile(files[i], &path, &error);
    if (!error.empty()) Say(error + (is_saved ? "; it is saved as " + path : ""));
    if (!is_saved) continue;
    if (i == 0) main_path = path;
    if (i > 0) others.push_back(path);
  }
  if (shows_progress) SayOthers(others);
  return main_path;
}

void ProfileWriter::SayOthers(const std::vector<std::string>& written) const {
  if (!written.empty()) Say("other programs: " + Listed(written));
  if (!left_out_.empty()) {
    Say("without a file, since they allocated little: " + Listed(left_out_));
  }
}

}  // namespace allomon::run
