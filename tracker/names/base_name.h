// The last part of a path.  Pure functions.
#ifndef ALLOMON_TRACKER_NAMES_BASE_NAME_H_
#define ALLOMON_TRACKER_NAMES_BASE_NAME_H_

#include <string>
#include <string_view>

namespace allomon {

// A part of `path`, which must live as long.
inline std::string_view BaseName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// A copy: of a string that is a temporary, a view would point at nothing.
inline std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace allomon

#endif  // ALLOMON_TRACKER_NAMES_BASE_NAME_H_
