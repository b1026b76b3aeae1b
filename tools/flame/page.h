#ifndef ALLOMON_TOOLS_FLAME_PAGE_H_
#define ALLOMON_TOOLS_FLAME_PAGE_H_

#include <string>
#include <string_view>

namespace allomon::flame {

// The whole page: one HTML file that loads nothing.  `data` is PageData() or any JSON without `<`.
std::string HtmlPage(std::string_view title, std::string_view data);

}  // namespace allomon::flame

#endif  // ALLOMON_TOOLS_FLAME_PAGE_H_
