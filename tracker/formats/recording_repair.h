// Repairs the values of a damaged or hostile recording, so that their users need no checks.
#ifndef ALLOMON_TRACKER_FORMATS_RECORDING_REPAIR_H_
#define ALLOMON_TRACKER_FORMATS_RECORDING_REPAIR_H_

#include <string>
#include <vector>

#include "tracker/formats/recording_process.h"
#include "tracker/formats/recording_records.h"

namespace allomon::recording {

// Returns false if the process cannot be used; *why is then one line.
bool IsUsable(const Head& head, std::string* why);

void Repair(Head* head);

// Repairs all records of the process; counts the changed ones in `damaged`.
void RepairRecords(Process* process);

// Makes each number that of a saved count, or 0; counts the changes likewise.
void RepairPeaks(std::vector<PeakSource>* peaks, std::vector<SavedCount>* saved, Process* process);

void Repair(Process::Thread* thread, uint64_t* damaged);

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_FORMATS_RECORDING_REPAIR_H_
