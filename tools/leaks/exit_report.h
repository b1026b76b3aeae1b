// The report of a process that waits at its exit: lost blocks as the leak sanitizer prints them.
#ifndef ALLOMON_TOOLS_LEAKS_EXIT_REPORT_H_
#define ALLOMON_TOOLS_LEAKS_EXIT_REPORT_H_

#include <cstdint>
#include <functional>
#include <string>

#include "tools/heap/stacks.h"

namespace allomon::leaks {

enum class Verdict { kNothingLost, kLost, kNotSearched };

struct ExitReport {
  Verdict verdict = Verdict::kNothingLost;
  std::string
      text;  // of lost blocks, the report; of a process that was not searched, why: one line
};

// Stops the process, and searches it as `allomon leaks` does.  It stands until this returns.
// `stands` is called as soon as it does.  Stacks with a frame that a pattern matches by function,
// file or module are left out.
ExitReport ReportAtExit(uint32_t pid, const heap::Patterns& suppressed,
                        const std::function<void()>& stands);

}  // namespace allomon::leaks

#endif  // ALLOMON_TOOLS_LEAKS_EXIT_REPORT_H_
