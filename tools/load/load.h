// Reads heap profiles of any kind.  The contents of a file decide its kind, not the file's name.
#ifndef ALLOMON_TOOLS_LOAD_LOAD_H_
#define ALLOMON_TOOLS_LOAD_LOAD_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/heap/heap_profile.h"
#include "tools/process/places.h"
#include "tools/symbols/name_sources.h"
#include "tools/text/terminal.h"

namespace allomon::load {

struct LoadOptions {
  NameSources name_sources;  // where names are looked for, besides the usual places
  bool names = true;         // true if addresses get the names of functions
  heap::Metric counts_metric = heap::Metric::kLive;  // the metric of collapsed stacks
  // Chooses a program of a recording by a part of its path.  Empty: the one that allocated most.
  std::string program;
};

// Loads a profile from a file; "-" stands for standard input.  Reads at most 2 GiB.  A recording's
// process may still run.  An error is one line, which names the file.
//
// `path` may be a process: its id, if no file has that name, or its folder "/proc/4711".  The
// profile is then of this process alone.  Its recording is found among the files that it has
// mapped; it is not stopped or asked.
absl::StatusOr<heap::HeapProfile> LoadHeapProfile(const std::string& path,
                                                  const LoadOptions& options);

// Returns the id of the process for which LoadHeapProfile() takes this name, or 0 if it takes it
// for a file.  There may be no process with this id.
uint32_t ProcessOf(const std::string& name);
// Returns the path by which this process opens the recording that the other one writes at present.
// Fails with a line that begins with the process.
absl::StatusOr<std::string> RecordingMappedBy(uint32_t pid);
// Returns a child of the process that records, such as the program of `allomon run`, or 0.
uint32_t RecordingChildOf(uint32_t pid);
// Whether the recording has anything of the process, which writes it: a fork has nothing in it
// before it allocates.  True if the file cannot be read.
bool HasAnyOf(const process::Ids& process, const std::string& recording);

// Parses bytes in memory; errors call them `name`.  Refuses an mlmon.out, because it needs the file
// beside it.
absl::StatusOr<heap::HeapProfile> ParseHeapProfile(const std::string& name, std::string bytes,
                                                   const LoadOptions& options);

// Recognizes by its first bytes a file of one of these kinds, except mlmon.out, for which some
// commands have readers of their own.  A few hundred bytes suffice.
bool LooksLikeHeapProfile(std::string_view first_bytes);

// ---- Several files as one heap profile.

// Returns why profiles of two programs must not be added up; empty if both are of one program, or
// if one of them does not say of which it is.
std::string WhyNotOneProgram(const heap::HeapProfile& sum, const heap::HeapProfile& other);

// Returns the sum of the files, at least one, which must be of one program and have a metric in
// common.  Fails with one line, which names the file.  `progress` may be nullptr.
absl::StatusOr<heap::HeapProfile> LoadSum(const std::vector<std::string>& files,
                                          const LoadOptions& options, report::Progress* progress);

}  // namespace allomon::load

#endif  // ALLOMON_TOOLS_LOAD_LOAD_H_
