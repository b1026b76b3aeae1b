#include "tools/serve/process_source.h"

#include <unistd.h>

#include <utility>

#include "tracker/names/base_name.h"

namespace allomon::serve {
namespace {

control::Order OrderFor(const ProcessSource::Wish& wish) {
  control::Order order;
  order.verb = control::Verb::kStart;
  order.for_children = wish.all_children;
  order.rate = wish.rate;
  return order;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ProcessSource>> ProcessSource::Open(const Wish& wish,
                                                                   double wait_seconds,
                                                                   std::string* note) {
  std::unique_ptr<ProcessSource> source(new ProcessSource(wish));
  const auto is_answered = source->recording_.Begin(OrderFor(wish), wait_seconds);
  if (!is_answered.ok()) return is_answered.status();
  if (!*is_answered) {
    *note = "process " + std::to_string(wish.pid) +
            " has not answered yet: it begins to record when it allocates";
  }
  return source;
}

void ProcessSource::AddFileOf(uint32_t pid, std::vector<RecordingFile>* files) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = control::FindRecording(pid);
  control::FoundRecording& known = known_[pid];
  if (found.ok()) known = *found;
  // The folders of a container disappear with its last process.
  if (known.path.empty() || access(known.path.c_str(), R_OK) != 0) return;
  const std::string name =
      known.running.pid != 0 ? "process " + std::to_string(pid) : std::string(BaseName(known.path));
  files->push_back({known.path, name, known.running});
}

absl::StatusOr<std::vector<RecordingFile>> ProcessSource::Files() {
  std::vector<RecordingFile> files;
  AddFileOf(wish_.pid, &files);
  if (!wish_.all_children) return files;
  for (const uint32_t child : control::DescendantsOf(wish_.pid)) AddFileOf(child, &files);
  return files;
}

}  // namespace allomon::serve
