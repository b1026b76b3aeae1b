#ifndef ALLOMON_TOOLS_FLAME_PAGE_H_
#define ALLOMON_TOOLS_FLAME_PAGE_H_

#include <string>
#include <string_view>

namespace allomon::flame {

// Returns the whole page: one HTML file that loads nothing.  `json` is PageData().  The page has it
// compressed and in base64, so that no name of a profile is ever a part of the HTML.
std::string HtmlPage(std::string_view title, std::string_view json);

}  // namespace allomon::flame

#endif  // ALLOMON_TOOLS_FLAME_PAGE_H_
