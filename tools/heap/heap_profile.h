// A heap profile with whole call stacks, as the commands work on it: what recordings, pprof files
// and other profilers' files are read to, and what views, pictures and exports are made from.
//
// A plain value: copied, moved and read without locks; it owns all that it refers to by numbers.
#ifndef ALLOMON_TOOLS_HEAP_HEAP_PROFILE_H_
#define ALLOMON_TOOLS_HEAP_HEAP_PROFILE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace allomon::heap {

// What can be counted of a stack.
enum class Metric : uint8_t {
  kAllocated,  // all that was allocated
  kLive,       // what had not been freed when the profile was taken
  kPeak,       // what was live when most was
  kTemporary,  // freed after less than 64 KiB of further allocation by its thread
  kPromoted,   // managed: left the nursery alive
  kDiedYoung,  // managed: died in the nursery
};
inline constexpr size_t kMetrics = 6;

// Estimates.  Their variance follows from the rate (interval.h).
struct Amount {
  double blocks = 0;
  double bytes = 0;

  void Add(const Amount& other) {
    blocks += other.blocks;
    bytes += other.bytes;
  }
};

struct Function {
  std::string name;         // as people read it
  std::string linker_name;  // mangled; empty where it is the same or not known
  std::string file;         // empty: not known
  uint32_t start_line = 0;  // 0: not known
};

struct Line {
  uint32_t function = 0;  // of HeapProfile::functions
  uint32_t line = 0;      // of the call; 0: not known
};

struct Mapping {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t file_offset = 0;
  std::string path;
  std::string build_id;  // hexadecimal; empty: none
};

// The path of the mapping, without addresses, that frames of interpreted functions have.
inline constexpr char kInterpreted[] = "[interpreted]";

inline constexpr uint32_t kNone = UINT32_MAX;

// A frame of the machine: one line, or more where calls were inlined, the innermost first.
struct Location {
  uint64_t address = 0;      // 0: not known
  uint32_t mapping = kNone;  // of HeapProfile::mappings
  std::vector<Line> lines;   // empty: no name is known
};

// Blocks that died (or, for the age of live ones, that live) at about one age.
inline constexpr uint8_t kUnknownLog2 = 255;
struct AgeCell {
  // Allocated meanwhile by their thread: k stands for [2^k, 2^(k+1)).  kUnknownLog2: the recording
  // does not say, since their thread had no record of its own.
  uint8_t log2_bytes = 0;
  uint8_t log2_nanos = 0;
  bool other_thread = false;  // freed by another thread than had allocated them
  Amount amount;
};

struct Label {
  std::string key;
  std::string value;
};

// Blocks of about one size with one call stack (and, where the profile has them, of one thread and
// with one set of labels).
struct Sample {
  std::vector<uint32_t> stack;  // of HeapProfile::locations, innermost first; may be empty
  uint64_t size_bytes = 0;      // least size of the class; 0: not known, or no bytes
  bool has_size = false;
  bool has_header = true;   // a trial was held on a header word, too (all but custom blocks)
  uint32_t thread = kNone;  // of HeapProfile::threads
  std::vector<Label> labels;
  std::array<Amount, kMetrics> amounts;  // by Metric
  std::vector<AgeCell> deaths;           // lifetimes of those that died
  std::vector<AgeCell> ages;             // of those that live

  Amount& operator[](Metric metric) { return amounts[static_cast<size_t>(metric)]; }
  const Amount& operator[](Metric metric) const { return amounts[static_cast<size_t>(metric)]; }
};

struct Thread {
  std::string name;
  uint64_t tid = 0;
  // Words of 8 bytes that passed, one header word per block counted in: exactly, and as estimated.
  double exact_words = 0;
  double estimated_words = 0;
  double estimated_words_variance = 0;
  Amount allocated;
  Amount live;
};

struct TimelinePoint {
  double seconds = 0;  // since the start
  double allocated_bytes = 0;
  double live_bytes = 0;
  double most_live_bytes = 0;  // since the point before
};

// Shortages of a recording: so many of each kind found no room.
struct Missing {
  double samples = 0;
  double bytes = 0;    // of the blocks of those samples, as they were asked for
  double ends = 0;     // deaths and promotions whose ages are not known
  double threads = 0;  // without a record of their own: their blocks have no ages
  double saved = 0;    // rows whose part of the peak was not kept
  double names = 0;    // of functions
  double frames = 0;   // whose module is not known

  void Add(const Missing& other) {
    samples += other.samples;
    bytes += other.bytes;
    ends += other.ends;
    threads += other.threads;
    saved += other.saved;
    names += other.names;
    frames += other.frames;
  }
};

struct HeapProfile {
  std::vector<Sample> samples;
  std::vector<Location> locations;
  std::vector<Function> functions;
  std::vector<Mapping> mappings;
  std::vector<Thread> threads;
  std::vector<TimelinePoint> timeline;

  std::array<bool, kMetrics> has = {};  // by Metric
  bool has_blocks = true;               // false: only bytes are known (mlmon.out)
  bool is_sum = false;                  // of several processes, whose peaks were not at one time

  // Hits per word of 8 bytes (README.md of tracker/, section 1).  1: exact.  0: not known, so that
  // no row has an interval.
  double rate = 0;
  // Each half of the sampler estimates the peak at a moment that the other half has chosen, and the
  // profile has the mean of the two.  False: the peak is the largest of all estimates, or nothing
  // is known of it.
  bool has_halves = false;
  uint64_t seed = 0;
  std::string program;  // path of the executable; empty: not known
  std::string command;  // its arguments, for people
  // The allocator underneath ("mimalloc"; "host": the program's own; empty: not known), and the
  // file whose malloc it stands in for or, with "host", calls (empty: the C library's).
  std::string allocator;
  std::string malloc_file;
  uint64_t pid = 0;
  int64_t start_unix_nanos = 0;
  double duration_seconds = 0;
  double peak_seconds = 0;  // when most was live, since the start
  Missing missing;
  std::vector<std::string> notes;  // for the reader of a report, a line each
  std::string origin;              // for messages: "recording", "pprof", "heap_v2", ...
};

// Whether a frame is of a function that no machine code stands for.
inline bool IsInterpreted(const HeapProfile& profile, const Location& location) {
  return location.mapping < profile.mappings.size() &&
         profile.mappings[location.mapping].path == kInterpreted;
}

inline bool Has(const HeapProfile& profile, Metric metric) {
  return profile.has[static_cast<size_t>(metric)];
}

}  // namespace allomon::heap

#endif  // ALLOMON_TOOLS_HEAP_HEAP_PROFILE_H_
