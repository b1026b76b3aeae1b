// The explanation of a process for programs.
#ifndef ALLOMON_TOOLS_EXPLAIN_JSON_H_
#define ALLOMON_TOOLS_EXPLAIN_JSON_H_

#include <cstddef>
#include <string>

#include "tools/explain/explanation.h"

namespace allomon::explain {

inline constexpr size_t kMostJsonBytes = 8192;

// At most kMostJsonBytes: the smallest rows that are named by the program become one, as many as
// must.
std::string ToJson(const Explanation& found);

}  // namespace allomon::explain

#endif  // ALLOMON_TOOLS_EXPLAIN_JSON_H_
