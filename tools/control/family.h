// `allomon ctl` with one process, and with all that it has started.
#ifndef ALLOMON_TOOLS_CONTROL_FAMILY_H_
#define ALLOMON_TOOLS_CONTROL_FAMILY_H_

#include "absl/status/status.h"
#include "tools/control/options.h"
#include "tools/control/page_client.h"
#include "tools/options/command_result.h"

namespace allomon::control {

inline constexpr char kCtl[] = "ctl";

Order OrderOf(const CtlOptions& options);

// "process 4711 refuses: it does not record".
absl::Status RefusalOf(const PageClient& client, const PageState& state);

// One line: what the process does.
CommandResult ShowPage(const PageClient& client);

// Asks `parent` and those of its descendants that have a page.  The others get one when they look
// first, and do then what was asked.  A process that is already as it was asked to be, or that has
// ended, fails nothing.  Status 1: none has answered.
CommandResult AskFamily(const CtlOptions& options, PageClient& parent);

}  // namespace allomon::control

#endif  // ALLOMON_TOOLS_CONTROL_FAMILY_H_
