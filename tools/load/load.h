// Reads heap profiles of any kind.  The contents of a file decide its kind, not the file's name.
#ifndef ALLOMON_TOOLS_LOAD_LOAD_H_
#define ALLOMON_TOOLS_LOAD_LOAD_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "tools/heap/heap_profile.h"

namespace allomon::load {

struct LoadOptions {
  std::string debug_dir;  // folder that is searched for debug files, besides the usual places
  bool names = true;      // true if addresses get the names of functions
  heap::Metric counts_metric = heap::Metric::kLive;  // the metric of collapsed stacks
  // Chooses a program of a recording by a part of its path.  Empty: the one that allocated most.
  std::string program;
};

// Loads a profile from a file; "-" stands for standard input.  Reads at most 2 GiB.  A recording's
// process may still run.  An error is one line, which names the file.
absl::StatusOr<heap::HeapProfile> LoadHeapProfile(const std::string& path,
                                                  const LoadOptions& options);

// Parses bytes in memory; errors call them `name`.  Refuses an mlmon.out, because it needs the file
// beside it.
absl::StatusOr<heap::HeapProfile> ParseHeapProfile(const std::string& name, std::string bytes,
                                                   const LoadOptions& options);

// Recognizes by its first bytes a file of one of these kinds, except mlmon.out, for which some
// commands have readers of their own.  A few hundred bytes suffice.
bool LooksLikeHeapProfile(std::string_view first_bytes);

}  // namespace allomon::load

#endif  // ALLOMON_TOOLS_LOAD_LOAD_H_
