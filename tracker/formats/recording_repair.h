// Puts right what a damaged or hostile recording says, so that who uses it need not look again.
#ifndef ALLOMON_TRACKER_FORMATS_RECORDING_REPAIR_H_
#define ALLOMON_TRACKER_FORMATS_RECORDING_REPAIR_H_

#include <string>
#include <vector>

#include "tracker/formats/recording_process.h"
#include "tracker/formats/recording_records.h"

namespace allomon::recording {

// False if nothing can be said of the process; *why is then a line.
bool IsUsable(const Head& head, std::string* why);

void Repair(Head* head);

// All records of the process; counts in `damaged` those that were changed.
void RepairRecords(Process* process);

// So that each number is that of a saved count, or 0; counts the changes likewise.
void RepairPeaks(std::vector<PeakSource>* peaks, std::vector<SavedCount>* saved, Process* process);

void Repair(Process::Thread* thread, uint64_t* damaged);

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_FORMATS_RECORDING_REPAIR_H_
