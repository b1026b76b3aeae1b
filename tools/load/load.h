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
  bool names = true;      // whether addresses get the names of functions
  heap::Metric counts_metric = heap::Metric::kLive;  // what collapsed stacks count
  // Of a recording of several programs: part of the path of one.  Empty: that which allocated most.
  std::string program;
};

// "-" stands for standard input.  At most 2 GiB are read.  A recording's process may still run.  An
// error is one line, which names the file.
absl::StatusOr<heap::HeapProfile> LoadHeapProfile(const std::string& path,
                                                  const LoadOptions& options);

// Of bytes in memory; `name` is for errors.  An mlmon.out needs the file beside it, and so is
// refused.
absl::StatusOr<heap::HeapProfile> ParseHeapProfile(const std::string& name, std::string bytes,
                                                   const LoadOptions& options);

// Whether a file that begins so is one of these kinds, and not an mlmon.out, which some commands
// have readers of their own for.  Some hundred bytes suffice.
bool LooksLikeHeapProfile(std::string_view first_bytes);

}  // namespace allomon::load

#endif  // ALLOMON_TOOLS_LOAD_LOAD_H_
