// Puts right what a damaged or hostile recording says, so that who uses it need not look again.
#ifndef ALLOMON_TRACKER_FORMATS_RECORDING_REPAIR_H_
#define ALLOMON_TRACKER_FORMATS_RECORDING_REPAIR_H_

#include <string>

#include "tracker/formats/recording.h"

namespace allomon::recording {

// False if nothing can be said of the process; *why is then a line.
bool IsUsable(const ProcessRecord& record, std::string* why);

void Repair(ProcessRecord* record);

// All records of the process; counts in `damaged` those that were changed.
void RepairRecords(Process* process);

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_FORMATS_RECORDING_REPAIR_H_
