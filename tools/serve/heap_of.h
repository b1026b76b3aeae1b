// Builds the heap that a request asks for: of one process, or the sum of all.
#ifndef ALLOMON_TOOLS_SERVE_HEAP_OF_H_
#define ALLOMON_TOOLS_SERVE_HEAP_OF_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/heap/born.h"
#include "tools/heap/heap_profile.h"
#include "tools/heap/labels.h"
#include "tools/serve/http.h"
#include "tools/serve/source.h"
#include "tools/symbols/name_sources.h"
#include "tracker/formats/recording.h"

namespace allomon::serve {

// The choice that the parameters of a request make.
struct Choice {
  // An id, a program's name, or the first word of its command line, the last two without folders.
  // Empty: all processes.
  std::string process;
  heap::LabelSelection labels;
  heap::Born born;
  heap::Outlived outlived;
  std::string by_label;  // its values become the outermost frames; empty: no label

  bool Fits(const recording::Process& process) const;
};

// Whether ChoiceOf() reads this parameter of requests.
bool IsOfChoice(std::string_view name);

// Fails with one line that names the parameter.
absl::StatusOr<Choice> ChoiceOf(const Request& request);

struct HeapOptions {
  NameSources name_sources;
  bool names = true;
};

// Returns the sum of the chosen processes.  Leaves out recordings that cannot be read, and a note
// says so.  Fails with one line if nothing is left; the status is "unavailable" if that may change.
absl::StatusOr<heap::HeapProfile> HeapOf(const std::vector<RecordingFile>& files,
                                         const Choice& choice, const HeapOptions& options);

// Calls `visit` for each process of each recording, and `unreadable` for each recording that cannot
// be read.
void VisitProcesses(
    const std::vector<RecordingFile>& files,
    const std::function<void(const RecordingFile& file, const recording::Process& process)>& visit,
    const std::function<void(const RecordingFile& file)>& unreadable);

}  // namespace allomon::serve

#endif  // ALLOMON_TOOLS_SERVE_HEAP_OF_H_
