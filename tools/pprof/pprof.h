// Heap profiles as pprof files (profile.proto).  README.md says which fields of a HeapProfile go
// where, and documents the comments that carry facts for which pprof has no field.
//
// All are functions of their arguments.  An error is one line without the file's name, which the
// caller puts before it.
#ifndef ALLOMON_TOOLS_PPROF_PPROF_H_
#define ALLOMON_TOOLS_PPROF_PPROF_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "tools/heap/heap_profile.h"

namespace allomon::pprof {

// Returns a profile as uncompressed bytes (gzip.h compresses them).  The same profile gives the
// same bytes.  Amounts are rounded to integers.  Readers show the bytes of the metric `first` by
// default, if the profile has that metric.  Linear in the size of the profile.
std::string EncodePprof(const heap::HeapProfile& profile, heap::Metric first = heap::Metric::kLive);

// True if a file may be an uncompressed profile.
bool LooksLikePprof(std::string_view first_bytes);

inline constexpr size_t kMaxProfileBytes = size_t{2} << 30;

// Reads a heap profile, of Allomon's or of another tool's make.  The bytes may be anything.  Fails
// for a profile that would take more than `max_profile_bytes`.
absl::StatusOr<heap::HeapProfile> DecodePprof(std::string_view bytes,
                                              size_t max_profile_bytes = kMaxProfileBytes);

}  // namespace allomon::pprof

#endif  // ALLOMON_TOOLS_PPROF_PPROF_H_
