// Converts errors of the tracker to statuses of the C interface.
#ifndef ALLOMON_TRACKER_C_TO_STATUS_H_
#define ALLOMON_TRACKER_C_TO_STATUS_H_

#include "allomon/status.h"
#include "tracker/core/control.h"

namespace allomon::c {

allomon_status ToStatus(internal::ControlError error);

}  // namespace allomon::c

#endif  // ALLOMON_TRACKER_C_TO_STATUS_H_
