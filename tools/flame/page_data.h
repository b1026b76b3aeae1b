// What the page knows: profiles as JSON.  README.md, "The data in the page", has its form.
#ifndef ALLOMON_TOOLS_FLAME_PAGE_DATA_H_
#define ALLOMON_TOOLS_FLAME_PAGE_DATA_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/heap/heap_profile.h"

namespace allomon::flame {

// A profile, and what it was read from.
struct NamedProfile {
  std::string file;
  heap::HeapProfile profile;
};

struct Profiles {
  std::vector<NamedProfile> shown;   // at least one
  std::vector<NamedProfile> before;  // empty: no comparison
};

// As the option --metric and the page name it.
const char* NameOf(heap::Metric metric);

// What all profiles have, in the order of the page.  A sum over profiles of which one lacks a
// metric would be of some of them only.
std::vector<heap::Metric> CommonMetrics(const Profiles& profiles);

struct PageChoices {
  std::string title;
  heap::Metric metric = heap::Metric::kAllocated;  // one of CommonMetrics()
};

// Fails with one line if the profiles have more stacks than a page can show.
absl::StatusOr<std::string> PageData(const Profiles& profiles, const PageChoices& choices);

}  // namespace allomon::flame

#endif  // ALLOMON_TOOLS_FLAME_PAGE_DATA_H_
