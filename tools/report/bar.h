#ifndef ALLOMON_TOOLS_REPORT_BAR_H_
#define ALLOMON_TOOLS_REPORT_BAR_H_

#include <string>

#include "tools/text/plain_text.h"

namespace allomon::report {

// A bar of up to `columns`, by shares in [0, 1] (others are cut to that) of its length: `own`
// solid, what `with_callees` has beyond it light.  Rounded to columns, or to eighths of them
// where there is one share only.  A bar of anything above 0 is never invisible.
std::string Bar(double own, double with_callees, int columns, Charset charset);

}  // namespace allomon::report

#endif  // ALLOMON_TOOLS_REPORT_BAR_H_
