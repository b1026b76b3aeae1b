// allomon flame.  README.md is the manual.
#ifndef ALLOMON_TOOLS_FLAME_FLAME_H_
#define ALLOMON_TOOLS_FLAME_FLAME_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/flame/page.h"
#include "tools/heap/heap_profile.h"
#include "tools/options/command_result.h"
#include "tools/options/command_text.h"

namespace allomon::flame {

const options::CommandText& FlameText();

// Reads the files with tools/load.
CommandResult RunFlame(const std::vector<std::string>& args);

// Returns the page of some profiles.  An empty title becomes the program's name, and no
// metric the one that readers most likely want.  Fails with one line.
absl::StatusOr<std::string> RenderPage(const Profiles& profiles, const std::string& title,
                                       std::optional<heap::Metric> metric);

// Reads a profile.  Its error is one line that names the file.
using Loader = std::function<absl::StatusOr<heap::HeapProfile>(const std::string& path,
                                                               const std::string& debug_dir)>;

CommandResult RunFlameWith(const Loader& load, const std::vector<std::string>& args);

}  // namespace allomon::flame

#endif  // ALLOMON_TOOLS_FLAME_FLAME_H_
