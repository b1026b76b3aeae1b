#ifndef ALLOMON_TOOLS_MLPROF_SELECTION_H_
#define ALLOMON_TOOLS_MLPROF_SELECTION_H_

#include <cstdint>
#include <vector>

#include "tools/mlprof/profile_view.h"

namespace allomon::mlprof {

// What is shown: a row of the table, a node of the graph.
struct ShownFunction {
  uint32_t name;
  const MlmonCount* count;  // of the view
};

struct Selection {
  static constexpr int32_t kHidden = -1;

  // Names first, then split sources, each by index.
  std::vector<ShownFunction> functions;
  // For each source the index of the function it is shown as, or kHidden.
  std::vector<int32_t> function_of_source;
};

// A split source is shown if it is kept, a name that is not split if any source
// of it is.  The view must outlive the result.
Selection Select(const ProfileView& view, const std::vector<bool>& kept);

}  // namespace allomon::mlprof

#endif  // ALLOMON_TOOLS_MLPROF_SELECTION_H_
