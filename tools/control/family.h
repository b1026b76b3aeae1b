// Runs `allomon ctl` for one process, and for all processes that it has started.
#ifndef ALLOMON_TOOLS_CONTROL_FAMILY_H_
#define ALLOMON_TOOLS_CONTROL_FAMILY_H_

#include "absl/status/status.h"
#include "tools/control/options.h"
#include "tools/control/page_client.h"
#include "tools/options/command_result.h"

namespace allomon::control {

inline constexpr char kCtl[] = "ctl";

Order OrderOf(const CtlOptions& options);

// Returns "process 4711 refuses: it does not record".
absl::Status RefusalOf(const PageClient& client, const PageState& state);

// Returns one line that says what the process does.
CommandResult ShowPage(const PageClient& client);

// Asks `parent` and those of its descendants that have a page.  Other descendants create one when
// they first look for requests, and then do the same.  A process that is already in the requested
// state, or that has ended, is no failure.  Status 1: no process has answered.
CommandResult AskFamily(const CtlOptions& options, PageClient& parent);

}  // namespace allomon::control

#endif  // ALLOMON_TOOLS_CONTROL_FAMILY_H_
