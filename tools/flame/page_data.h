// The page's data: profiles as JSON.  README.md, "The data in the page", has its form.
#ifndef ALLOMON_TOOLS_FLAME_PAGE_DATA_H_
#define ALLOMON_TOOLS_FLAME_PAGE_DATA_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/heap/heap_profile.h"

namespace allomon::flame {

// A profile, and the file that it was read from.
struct NamedProfile {
  std::string file;
  heap::HeapProfile profile;
};

struct Profiles {
  std::vector<NamedProfile> shown;   // at least one
  std::vector<NamedProfile> before;  // empty: no comparison
};

// Returns the metrics that all profiles have, in the order of the page.  If one profile lacked a
// metric, a sum would leave that profile out.
std::vector<heap::Metric> CommonMetrics(const Profiles& profiles);

struct PageChoices {
  std::string title;
  heap::Metric metric = heap::Metric::kAllocated;  // one of CommonMetrics()
};

// Fails with one line if the profiles have more stacks than a page can show.
absl::StatusOr<std::string> PageData(const Profiles& profiles, const PageChoices& choices);

}  // namespace allomon::flame

#endif  // ALLOMON_TOOLS_FLAME_PAGE_DATA_H_
