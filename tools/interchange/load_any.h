#ifndef ALLOMON_TOOLS_INTERCHANGE_LOAD_ANY_H_
#define ALLOMON_TOOLS_INTERCHANGE_LOAD_ANY_H_

#include "absl/status/statusor.h"
#include "tools/heap/heap_profile.h"
#include "tools/interchange/export_options.h"

namespace allomon::interchange {

// The profile that the options name: of any kind that commands read, mlmon.out too.  An error is
// one line that names the file.
absl::StatusOr<heap::HeapProfile> LoadAny(const ExportOptions& options);

}  // namespace allomon::interchange

#endif  // ALLOMON_TOOLS_INTERCHANGE_LOAD_ANY_H_
