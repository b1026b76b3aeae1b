// Compressed files: gzip, by zlib.
//
// Functions of their arguments.  An error is one line without the file's name, which the caller
// puts before it.
#ifndef ALLOMON_TOOLS_PPROF_GZIP_H_
#define ALLOMON_TOOLS_PPROF_GZIP_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace allomon::pprof {

// A file that is larger, or that gets larger, is refused.
inline constexpr size_t kMaxFileBytes = size_t{2} << 30;

// The same bytes give the same file: it has neither a name nor a time.
std::string Gzip(std::string_view bytes);

bool IsGzip(std::string_view first_bytes);

// The contents of all members.  Holds at most `max_bytes` of them, and a small buffer.  Fails if
// there is more, if the file ends within a member, or if a checksum differs.  Zeros behind the last
// member are padding.
absl::StatusOr<std::string> Gunzip(std::string_view file, size_t max_bytes = kMaxFileBytes);

}  // namespace allomon::pprof

#endif  // ALLOMON_TOOLS_PPROF_GZIP_H_
