#ifndef ALLOMON_TOOLS_TEXT_BAR_H_
#define ALLOMON_TOOLS_TEXT_BAR_H_

#include <string>

#include "tools/text/plain_text.h"

namespace allomon::report {

// Returns a bar of up to `columns` characters.  Shares are limited to [0, 1].  `own` is drawn
// solid, and the rest of `with_callees` light.  Lengths are rounded to characters, or to eighths of
// them if the bar has one share only.  A bar for any share above 0 is visible.
std::string Bar(double own, double with_callees, int columns, Charset charset);

}  // namespace allomon::report

#endif  // ALLOMON_TOOLS_TEXT_BAR_H_
