// Reads heap profiles of any kind: what it is, the contents say, not the file's name.
#ifndef ALLOMON_TOOLS_LOAD_LOAD_H_
#define ALLOMON_TOOLS_LOAD_LOAD_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "tools/heap/heap_profile.h"

namespace allomon::load {

struct LoadOptions {
  std::string debug_dir;  // where debug files are looked for, besides the usual places
  bool names = true;      // whether recordings get the names of functions
  heap::Metric counts_metric = heap::Metric::kLive;  // what collapsed stacks count
  std::string program;  // of a recording of several: part of its path; empty: the main one
};

// "-" stands for standard input.  At most 2 GiB are read.  An error is one line, which names the
// file.
absl::StatusOr<heap::HeapProfile> LoadHeapProfile(const std::string& path,
                                                  const LoadOptions& options);

// Of bytes in memory; `name` is for errors.
absl::StatusOr<heap::HeapProfile> ParseHeapProfile(const std::string& name, std::string bytes,
                                                   const LoadOptions& options);

// Whether a file that begins so is one of these kinds.  mlmon.out is not: commands that show it
// have readers of their own.  Some hundred bytes suffice.
bool LooksLikeHeapProfile(std::string_view first_bytes);

}  // namespace allomon::load

#endif  // ALLOMON_TOOLS_LOAD_LOAD_H_
