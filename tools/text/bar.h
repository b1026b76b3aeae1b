#ifndef ALLOMON_TOOLS_TEXT_BAR_H_
#define ALLOMON_TOOLS_TEXT_BAR_H_

#include <string>

#include "tools/text/plain_text.h"

namespace allomon::report {

// A bar of up to `columns` characters.  The shares are in [0, 1]; others are cut to that.  `own` is
// drawn solid, the part of `with_callees` beyond it light.  Lengths are rounded to characters, or
// to eighths of them if there is one share only.  A bar of anything above 0 is visible.
std::string Bar(double own, double with_callees, int columns, Charset charset);

}  // namespace allomon::report

#endif  // ALLOMON_TOOLS_TEXT_BAR_H_
