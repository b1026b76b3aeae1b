#ifndef ALLOMON_TOOLS_FLAME_PAGE_H_
#define ALLOMON_TOOLS_FLAME_PAGE_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/heap/heap_profile.h"

namespace allomon::flame {

// Returns the whole page: one HTML file that loads nothing.  `json` is PageData().  The page has it
// compressed and in base64, so that no name of a profile is ever a part of the HTML.
std::string HtmlPage(std::string_view title, std::string_view json);

// ---- The page's data: profiles as JSON.  README.md, "The data in the page", has its form.

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

// ---- The page's files, which the build embeds into the program (BUILD, embedded_page).

extern const char kHtml[];
extern const char kStyle[];
extern const char kScript[];

// SHA-256 of kStyle and kScript in base64, for the page's content security policy.
extern const char kStyleHash[];
extern const char kScriptHash[];

}  // namespace allomon::flame

#endif  // ALLOMON_TOOLS_FLAME_PAGE_H_
