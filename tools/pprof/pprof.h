// Heap profiles as pprof files (profile.proto).  README.md says which of a HeapProfile goes where,
// and documents the comments that carry what pprof has no place for.
//
// Functions of their arguments.  An error is one line without the file's name, which the caller
// puts before it.
#ifndef ALLOMON_TOOLS_PPROF_PPROF_H_
#define ALLOMON_TOOLS_PPROF_PPROF_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "tools/heap/heap_profile.h"

namespace allomon::pprof {

// The bytes of a profile, not compressed (gzip.h).  The same profile gives the same bytes.  Amounts
// are rounded to integers.  The bytes of `first` are what readers show first, if the profile has
// them.  Linear in the size of the profile.
std::string EncodePprof(const heap::HeapProfile& profile, heap::Metric first = heap::Metric::kLive);

// Whether a file may be a profile that is not compressed.
bool LooksLikePprof(std::string_view first_bytes);

inline constexpr size_t kMaxProfileBytes = size_t{2} << 30;

// Reads a heap profile, of Allomon's or of another's make.  The bytes may be anything.  Fails for a
// profile that would take more than `max_profile_bytes`.
absl::StatusOr<heap::HeapProfile> DecodePprof(std::string_view bytes,
                                              size_t max_profile_bytes = kMaxProfileBytes);

}  // namespace allomon::pprof

#endif  // ALLOMON_TOOLS_PPROF_PPROF_H_
