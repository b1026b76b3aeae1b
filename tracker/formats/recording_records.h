// The records of each version as values of recording_process.h.
//
// Numbers are taken as they are: recording_repair.h puts them right.  Counts of version 2 stay
// counts, as if each block stood for itself, until Weigh() knows their rows.
#ifndef ALLOMON_TRACKER_FORMATS_RECORDING_RECORDS_H_
#define ALLOMON_TRACKER_FORMATS_RECORDING_RECORDS_H_

#include <cstdint>
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

// What says how much of a row was live at moment i: number of a SavedCount, or one of these.
struct PeakSource {
  static constexpr uint32_t kAsNow = UINT32_MAX;       // what is live now
  static constexpr uint32_t kNoHalf = UINT32_MAX - 1;  // the half that is asked has nothing of it
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

// Of version 2: makes estimates of the counts of rows and events, which have been put right, and
// sets the peaks of rows and the sums of the process.
void Weigh(const std::vector<PeakSource>& peaks, const std::vector<SavedCount>& saved,
           Process* process);

// The later one of the process's own and those of its threads.
uint64_t LastNanos(const Process& process);

// Adds what is live now to the timeline.
void AddPointOfNow(Process* process);

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_FORMATS_RECORDING_RECORDS_H_
