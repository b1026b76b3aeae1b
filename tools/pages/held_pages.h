// Reads which blocks of a running process hold free memory of their pages.
#ifndef ALLOMON_TOOLS_PAGES_HELD_PAGES_H_
#define ALLOMON_TOOLS_PAGES_HELD_PAGES_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "tools/heap/heap_profile.h"
#include "tools/symbols/name_sources.h"

namespace allomon::pages {

// Returns the profile of the process's recording, with HeapProfile::pages, and with a HeldCell
// for each sampled block that lies on its ordinary page.  `process` is its id.  It runs on
// meanwhile.  Fails with one line, which names the process and the remedy.
absl::StatusOr<heap::HeapProfile> ReadHeldPages(const std::string& process,
                                                const NameSources& name_sources);

}  // namespace allomon::pages

#endif  // ALLOMON_TOOLS_PAGES_HELD_PAGES_H_
