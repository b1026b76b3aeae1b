// Compresses and decompresses gzip files, by zlib.
//
// All are functions of their arguments.  An error is one line without the file's name, which the
// caller puts before it.
#ifndef ALLOMON_TOOLS_PPROF_GZIP_H_
#define ALLOMON_TOOLS_PPROF_GZIP_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace allomon::pprof {

// Larger files, and files whose contents get larger, are refused.
inline constexpr size_t kMaxFileBytes = size_t{2} << 30;

// The same bytes give the same file, because it stores neither a name nor a time.
std::string Gzip(std::string_view bytes);

bool IsGzip(std::string_view first_bytes);

// Returns the contents of all members.  Holds at most `max_bytes` of them, and a small buffer.
// Fails if the contents are larger, if the file ends within a member, or if a checksum differs.
// Zeros after the last member are padding.
absl::StatusOr<std::string> Gunzip(std::string_view file, size_t max_bytes = kMaxFileBytes);

}  // namespace allomon::pprof

#endif  // ALLOMON_TOOLS_PPROF_GZIP_H_
