// Converts the records of each version to values of recording_process.h.
//
// Numbers are copied unchanged; the functions at the end repair them.  Counts of version 2 stay
// counts, with a weight of 1 for each block, until Weigh() knows their rows.
#ifndef ALLOMON_TRACKER_FORMATS_RECORDING_RECORDS_H_
#define ALLOMON_TRACKER_FORMATS_RECORDING_RECORDS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tracker/formats/recording_layout.h"
#include "tracker/formats/recording_layout_1.h"
#include "tracker/formats/recording_process.h"

namespace allomon::recording {

inline constexpr uint16_t kMostSizeClass = SizeClassOf(UINT64_MAX) + 1;  // of Row::size_class

// A process's record.
struct Head {
  Process::Record record;
  bool has_begun = false;
  TextRef program = {};
  TextRef allocator = {};
  decltype(ProcessRecord::records) counts = {};
  uint64_t peak_epoch[kHalves] = {};
  double peak_bytes = 0;
};

Head HeadOf(const ProcessRecord& stored);
Head HeadOf(const layout_1::ProcessRecord& stored);

// The source of a row's live blocks at moment i: number of a SavedCount, or one of these.
struct PeakSource {
  static constexpr uint32_t kAsNow = UINT32_MAX;       // the blocks that are live now
  static constexpr uint32_t kNoHalf = UINT32_MAX - 1;  // the other half has no blocks of the row
  uint32_t saved[kHalves] = {kNoHalf, kNoHalf};
};

// The row's probability is set.
Process::Row RowOf(const Row& stored, const Head& head);
PeakSource PeakSourceOf(const Row& stored, const Head& head);
// Complete.
Process::Row RowOf(const layout_1::Row& stored, const Head& head);

Process::Event EventOf(const Event& stored);
Process::Event EventOf(const layout_1::Event& stored);

// Complete.
Process::Thread ThreadOf(const Thread& stored);
Process::Thread ThreadOf(const layout_1::Thread& stored);

// For version 2: turns the counts of rows and events, which were repaired before, into estimates,
// and sets the peaks of rows and the sums of the process.
void Weigh(const std::vector<PeakSource>& peaks, const std::vector<SavedCount>& saved,
           Process* process);

// Returns the latest time of the process's and those of its threads.
uint64_t LastNanos(const Process& process);

// Adds the current live bytes to the timeline.
void AddPointOfNow(Process* process);

// ---- Repairs the values of a damaged or hostile recording, so that their users need no checks.

// Returns false if the process cannot be used; *why is then one line.
bool IsUsable(const Head& head, std::string* why);

void Repair(Head* head);

// Repairs all records of the process; counts the changed ones in `damaged`.
void RepairRecords(Process* process);

// Makes each number that of a saved count, or 0; counts the changes likewise.
void RepairPeaks(std::vector<PeakSource>* peaks, std::vector<SavedCount>* saved, Process* process);

void Repair(Process::Thread* thread, uint64_t* damaged);

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_FORMATS_RECORDING_RECORDS_H_
