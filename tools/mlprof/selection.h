#ifndef ALLOMON_TOOLS_MLPROF_SELECTION_H_
#define ALLOMON_TOOLS_MLPROF_SELECTION_H_

#include <cstdint>
#include <vector>

#include "tools/mlprof/profile_view.h"

namespace allomon::mlprof {

// A shown function: a row of the table, a node of the graph.
struct ShownFunction {
  uint32_t name;
  const MlmonCount* count;  // owned by the view
};

struct Selection {
  static constexpr int32_t kHidden = -1;

  // Names first, then split sources, each by index.
  std::vector<ShownFunction> functions;
  // For each source, the index of the function that shows it, or kHidden.
  std::vector<int32_t> function_of_source;
};

// Selects the shown functions.  A split source is shown if it is kept.  A name that is not split is
// shown if any of its sources is kept.  The view must outlive the result.
Selection Select(const ProfileView& view, const std::vector<bool>& kept);

}  // namespace allomon::mlprof

#endif  // ALLOMON_TOOLS_MLPROF_SELECTION_H_
