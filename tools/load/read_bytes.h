#ifndef ALLOMON_TOOLS_LOAD_READ_BYTES_H_
#define ALLOMON_TOOLS_LOAD_READ_BYTES_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace allomon::load {

// Returns the contents of a file, which may be a pipe; "-" stands for standard input.  Fails with
// one line, which names the file, if it has more than `max_bytes`.
absl::StatusOr<std::string> ReadBytes(const std::string& path, size_t max_bytes);

}  // namespace allomon::load

#endif  // ALLOMON_TOOLS_LOAD_READ_BYTES_H_
