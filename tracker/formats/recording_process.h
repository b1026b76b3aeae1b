// The values of a recording of any version: one process and its records.
//
// They do not depend on the version: values that a version does not store are computed from those
// that it stores.  Plain values, copied and moved; nothing here fails.
#ifndef ALLOMON_TRACKER_FORMATS_RECORDING_PROCESS_H_
#define ALLOMON_TRACKER_FORMATS_RECORDING_PROCESS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tracker/formats/recording_layout.h"

namespace allomon::recording {

// Sampled blocks, and estimates from them.
struct Sum {
  uint64_t samples = 0;
  double blocks = 0;  // estimated
  double bytes = 0;

  void Add(const Sum& other) {
    samples += other.samples;
    blocks += other.blocks;
    bytes += other.bytes;
  }
};

// Counts by Shortage.
class Shortages {
 public:
  uint64_t& operator[](Shortage shortage) { return counts_[static_cast<size_t>(shortage)]; }
  uint64_t operator[](Shortage shortage) const { return counts_[static_cast<size_t>(shortage)]; }

 private:
  std::array<uint64_t, kShortages> counts_ = {};
};

// One process of a recording.  A record's number is its index plus one; records that are not in use
// are all zero.
struct Process {
  struct Record {
    uint32_t pid = 0;
    uint32_t parent_pid = 0;
    bool ended = false;      // the recording was stopped; false after any other end
    bool is_forked = false;  // began as a copy of its parent, by fork
    bool lost = false;       // the file was truncated or lost, and nothing has been added since
    uint64_t start_realtime_nanos = 0;
    uint64_t start_monotonic_nanos = 0;
    uint64_t seed = 0;
    double rate = 0;  // hits per word
    uint32_t callstack_size = 0;
    TextRef command = {};     // arguments, each ended by a zero
    uint64_t last_nanos = 0;  // of the last sample or death, since the start
    Sum allocated;
    Sum live;
    Sum peak;
    uint64_t peak_nanos = 0;
    Shortages missing;
    ProcessMemory memory = {};
  };

  // Sampled blocks with one call stack and one set of labels, in one class of sizes.  Several rows
  // may agree in all of these; they add up.
  struct Row {
    uint32_t node = 0;        // the innermost frame, or a kType; 0: no stack.  A row in use has a
                              // size class
    uint16_t size_class = 0;  // SizeClassOf() + 1
    uint8_t source = 0;       // AllocationSource: 0 managed, 1 unmarshalled, 2 custom, 3 malloc
    bool young = false;       // born in a nursery
    bool mapped = false;      // of source 2: by the program itself
    bool reported = false;    // of source 2: by their owner.  Neither: not known which
    TextRef labels = {};      // key, zero, value, zero for each label, in the order of keys
    // The probability with which each of its blocks was sampled.  0 in version 1: each by its own
    // size.
    double probability = 0;
    Sum allocated;
    Sum live;
    Sum peak;  // live at the peak
  };

  struct Event {
    uint32_t row = 0;
    uint8_t kind = 0;          // EventKind; 0: not in use
    uint8_t other_thread = 0;  // 1: freed by a thread other than the one that allocated
    uint8_t log2_bytes = 0;    // as in the layout: at most 63, or kAgeUnknown
    uint8_t log2_nanos = 0;
    Sum sum;
  };

  struct Thread {
    uint32_t tid = 0;  // 0: not in use
    bool ended = false;
    char name[16] = {};  // ends with a zero
    uint64_t exact_words = 0;
    double estimated_words = 0;
    double estimated_words_variance = 0;
    double excess_words = 0;  // 0 in version 1, and in files before December 2026
    uint64_t first_nanos = 0;
    uint64_t last_nanos = 0;
    Sum allocated;
    Sum live;  // of blocks that it allocated
  };

  // Whether each half of the sampler estimates the peak that the other half found.  False in
  // version 1, whose peak is the largest of all estimates.
  bool has_halves = false;

  Record record;
  std::string program;      // path of the executable
  std::string command;      // its arguments, with spaces between
  std::string allocator;    // underneath: "mimalloc"; "host": the program's own; "": not known
  std::string malloc_file;  // whose malloc that stands in for, or calls; empty: the C library
  std::vector<Node> nodes;
  std::vector<Row> rows;
  std::vector<Event> events;
  std::vector<LiveBlock> live;
  std::vector<Scope> scopes;  // empty if the program has told no end of a scope
  std::vector<Thread> threads;
  std::vector<TimelinePoint> timeline;  // with the state at the end
  std::vector<ResidentPoint> resident;  // of each of its points; empty: not known
  std::vector<Module> modules;
  std::string text;
  uint64_t damaged = 0;            // records that were left out or repaired
  std::vector<std::string> notes;  // for people, a line each: errors found in it

  // Returns a view into `text`; empty if it is not there.
  std::string_view TextOf(const TextRef& ref) const;
  // Returns the name of a kNamed or kType node.
  std::string_view NameOf(const Node& node) const;
};

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_FORMATS_RECORDING_PROCESS_H_
