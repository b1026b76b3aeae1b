// Version 1 of the layout (recording_layout.h), which readers still read.  Structures not listed
// here were the same: the file's header, segments, nodes, live blocks, points of the timeline,
// modules.
//
// Its sums were rounded to whole bytes for each sample.  Its peak was the largest of all estimates,
// which overstates the truth.
#ifndef ALLOMON_TRACKER_FORMATS_RECORDING_LAYOUT_1_H_
#define ALLOMON_TRACKER_FORMATS_RECORDING_LAYOUT_1_H_

#include <cstdint>

#include "tracker/formats/recording_layout.h"

namespace allomon::recording::layout_1 {

inline constexpr uint32_t kVersion = 1;

// Sampled blocks, and estimates from them.
struct Sum {
  uint64_t samples;
  uint64_t blocks_scaled;  // estimated blocks, times kBlockScale
  uint64_t bytes;          // estimated
};
inline constexpr uint64_t kBlockScale = 65536;

// Allocations with one call stack, in one class of sizes.
struct Row {
  uint32_t node;        // the innermost frame; 0: no stack.  A row in use has a size class
  uint16_t size_class;  // SizeClassOf() + 1
  uint8_t source;       // AllocationSource: 0 managed, 1 unmarshalled, 2 custom, 3 malloc
  uint8_t young;        // 1: born in a nursery
  TextRef labels;       // key, zero, value, zero for each label, in the order of keys
  Sum allocated;
  Sum live;
  // The row's live blocks at the peak, if peak_epoch is the process's.  Else the row has not
  // changed since the peak, and `live` is the value of the peak.
  Sum saved;
  uint64_t peak_epoch;
};

struct Event {
  uint32_t row;
  uint8_t kind;          // EventKind; 0: not in use
  uint8_t other_thread;  // 1: freed by a thread other than the one that allocated
  uint8_t log2_bytes;    // of the bytes allocated meanwhile by the allocating thread: 0: 0 or 1
                         // byte; k: from 2^k on.  Below 2^16 a freed block was a temporary
  uint8_t log2_nanos;    // of the time that it lived, likewise
  Sum sum;
};

struct Thread {
  uint32_t tid;  // 0: not in use
  uint32_t ended;
  char name[16];  // ends with a zero
  // Words of 8 bytes that the thread has allocated until its last sample, with one header word per
  // block: the exact number, and the estimate from samples.
  uint64_t exact_words;
  uint64_t estimated_words;
  uint64_t estimated_words_variance;
  Sum allocated;
  Sum live;              // of blocks that it allocated
  uint64_t first_nanos;  // of its samples, since the recording's start
  uint64_t last_nanos;
};

struct ProcessRecord {
  uint32_t pid;
  uint32_t parent_pid;
  uint32_t begun;  // 1, stored last: the fields below up to `records` are set
  uint32_t ended;  // 1: the recording was stopped; a process that ended otherwise leaves 0
  uint64_t start_realtime_nanos;
  uint64_t start_monotonic_nanos;
  uint64_t seed;
  double rate;  // hits per word
  uint32_t callstack_size;
  uint32_t is_forked;  // began as a copy of its parent, by fork
  TextRef program;     // path of the executable
  TextRef command;     // arguments, each ended by a zero; cut at 4096 bytes

  // Numbers of records in use, by kind (a record below may still be all zero).
  struct {
    uint32_t nodes, rows, events, live, threads, timeline, modules, text_bytes;
  } records;

  uint64_t last_nanos;  // of the last sample or death, since the start
  Sum allocated;
  Sum live;
  Sum peak;  // of live, when its bytes were largest
  uint64_t peak_nanos;
  uint64_t peak_epoch;  // grows with each new peak
  uint64_t estimated_words;
  uint64_t timeline_interval_nanos;

  // Samples in no row, because there was no room, and the bytes of those blocks.
  uint64_t dropped_samples;
  uint64_t dropped_bytes;
  uint64_t lost;  // 1: the file was truncated or lost, and nothing has been added since
};

static_assert(sizeof(Row) == 96 && sizeof(Event) == 32 && sizeof(Thread) == 112);

}  // namespace allomon::recording::layout_1

#endif  // ALLOMON_TRACKER_FORMATS_RECORDING_LAYOUT_1_H_
