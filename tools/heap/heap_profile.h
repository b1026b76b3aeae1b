// A heap profile with whole call stacks, as the commands work on it.  Readers make it from
// recordings, pprof files and other profilers' files; views, pictures and exports are made from it.
//
// A plain value: copied, moved and read without locks.  It owns all objects to which its indices
// refer.
#ifndef ALLOMON_TOOLS_HEAP_HEAP_PROFILE_H_
#define ALLOMON_TOOLS_HEAP_HEAP_PROFILE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace allomon::heap {

// The metrics that a stack can have amounts of.
enum class Metric : uint8_t {
  kAllocated,  // all allocations
  kLive,       // memory not freed when the profile was taken
  kPeak,       // memory live at the program's peak
  kTemporary,  // freed after less than 64 KiB of further allocation by its thread
  kPromoted,   // managed memory: left the nursery alive
  kDiedYoung,  // managed memory: died in the nursery
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
  std::string name;         // in the form for people
  std::string linker_name;  // mangled; empty if it is the same or not known
  std::string file;         // empty: not known
  uint32_t start_line = 0;  // 0: not known
};

struct Line {
  uint32_t function = 0;  // index in HeapProfile::functions
  uint32_t line = 0;      // of the call; 0: not known
  uint32_t column = 0;    // of the call in its line; 0: not known
};

struct Mapping {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t file_offset = 0;
  std::string path;
  std::string build_id;  // hexadecimal; empty: not known
};

// The mapping's path in frames of interpreted functions.  That mapping has no addresses.
inline constexpr char kInterpreted[] = "[interpreted]";

inline constexpr uint32_t kNone = UINT32_MAX;

// A frame of the machine: one line, or several if calls were inlined, the innermost first.
struct Location {
  uint64_t address = 0;      // 0: not known
  uint32_t mapping = kNone;  // index in HeapProfile::mappings
  std::vector<Line> lines;   // empty: no name is known
  std::string new_type{};    // made by the call there with `new`; empty: not known
};

// Blocks that died at about one age; in the list of live blocks, blocks that have about one age.
inline constexpr uint8_t kUnknownLog2 = 255;
struct AgeCell {
  // Bytes that their thread allocated in that time: k stands for [2^k, 2^(k+1)).  kUnknownLog2: the
  // recording does not have it, because their thread had no record of its own.
  uint8_t log2_bytes = 0;
  uint8_t log2_nanos = 0;
  bool other_thread = false;  // freed by a thread that had not allocated them
  Amount amount;
  // Of live blocks: which eighth of [2^log2_nanos, 2^(log2_nanos + 1)), by its logarithm, 1 to 8.
  // 0: not known.
  uint8_t eighth = 0;
};

// Live blocks of one size.
struct SizeCell {
  uint64_t size_bytes = 0;  // as asked for
  Amount amount;
  bool is_mean = false;  // stands for blocks of many sizes in one class of the allocator
};

struct Label {
  std::string key;
  std::string value;
};

// Live blocks that belong to a scope of labels which has ended.
struct OutlivedCell {
  uint32_t label = 0;         // index in Sample::labels: the scope's
  bool is_innermost = false;  // of a block's ended scopes exactly one is
  AgeCell since_end;          // its time is that since the scope's end
};

// A live block that was sampled and lies on its ordinary page, in a process that runs.
struct HeldCell {
  uint64_t size_bytes = 0;  // as asked for
  double block_bytes = 0;   // with what its size class adds
  double held_bytes = 0;    // its part of the page's free blocks: each live block has the same
  double age_seconds = 0;
  double weight = 1;  // blocks on pages that it stands for: 1 by its probability
};

// What the pages of a running process hold, as its allocator counts it.
struct Pages {
  double free_bytes = 0;   // free blocks in pages with live ones
  double live_blocks = 0;  // of these pages
  double live_bytes = 0;
  double in_place_blocks = 0;  // sampled blocks among the live ones; those with a HeldCell
  double unknown_blocks = 0;   // sampled, but in no page or in no row, as they were looked at
  double without_room = 0;     // found no room in the table of such blocks, ever
  double one_in = 0;           // one of so many samples stays on its page
};

// A live block of malloc that was sampled, in a process that runs.
struct UseCell {
  double size_bytes = 0;       // as asked for
  double untouched_bytes = 0;  // in pages that were never written or read
  double zero_bytes = 0;       // at its end, in pages that were
  double weight = 1;           // blocks that it stands for: 1 by its probability
};

// A count of the blocks of a running process with contents that were seen.
struct Contents {
  double seen_blocks = 0;    // those with a UseCell
  double unseen_blocks = 0;  // sampled and live, but freed meanwhile, or guarded
  double unread_blocks = 0;  // of those seen, not read to their last byte that is not zero: swapped
};

// The origin of memory, by the recording.
enum class Source : uint8_t {
  kUnknown,         // files of other formats and of older versions
  kMalloc,          // malloc, operator new and their kin
  kManaged,         // an object of the managed heap
  kUnmarshalled,    // the same, read by unmarshalling
  kCustom,          // reported by its owner (custom_memory.h)
  kMapped,          // mapped by the program itself
  kCustomOrMapped,  // one of the two: the recording's writer did not tell them apart
};
inline constexpr size_t kSources = 7;

// Blocks of about one size with one call stack.  If the profile has threads and labels, they are
// also of one thread and of one set of labels.
struct Sample {
  std::vector<uint32_t> stack;  // indices in HeapProfile::locations, innermost first; may be empty
  uint64_t size_bytes = 0;      // least size of the class; 0: not known, or no bytes
  bool has_size = false;
  bool has_header = true;  // the sampler counted a header word, too (all but custom blocks)
  Source source = Source::kUnknown;
  std::string type;  // of its blocks, as their process knows it; empty: names of functions may tell
  uint32_t thread = kNone;  // index in HeapProfile::threads
  std::vector<Label> labels;
  std::array<Amount, kMetrics> amounts;  // by Metric
  std::vector<AgeCell> deaths;           // lifetimes of dead blocks
  std::vector<AgeCell> ages;             // ages of live blocks
  std::vector<OutlivedCell> outlived;    // for each ended scope of a live block
  std::vector<SizeCell> sizes;           // sizes of malloc's live blocks; empty: not known
  // Numbers of live blocks in their recording.  Empty, unless the reader was told to keep them.
  std::vector<uint32_t> live_numbers;
  Amount unreachable;          // live blocks to which nothing refers, if that is known
  std::vector<HeldCell> held;  // one for each block in HeapProfile::pages
  std::vector<UseCell> uses;   // one for each block in HeapProfile::contents

  Amount& operator[](Metric metric) { return amounts[static_cast<size_t>(metric)]; }
  const Amount& operator[](Metric metric) const { return amounts[static_cast<size_t>(metric)]; }
};

struct Thread {
  std::string name;
  uint64_t tid = 0;
  // Words of 8 bytes that the sampler has counted, with one header word per block: exactly, and as
  // estimated.
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
  double most_live_bytes = 0;  // since the previous point
  double resident_bytes = 0;   // of the process, by the kernel; 0: not known
};

// Losses of a recording: the numbers of items of each kind that found no room.
struct Missing {
  double samples = 0;
  double bytes = 0;    // requested bytes of the blocks of those samples
  double ends = 0;     // deaths and promotions of unknown age
  double threads = 0;  // threads without a record of their own: their blocks have no ages
  double saved = 0;    // rows whose part of the peak was lost
  double names = 0;    // names of functions
  double frames = 0;   // frames of unknown modules
  double scopes = 0;   // ends of scopes of labels
  double unseen = 0;   // frees that were seen later than they happened

  void Add(const Missing& other) {
    samples += other.samples;
    bytes += other.bytes;
    ends += other.ends;
    threads += other.threads;
    saved += other.saved;
    names += other.names;
    frames += other.frames;
    scopes += other.scopes;
    unseen += other.unseen;
  }
};

// The contents of the heap's pages when a copy of a recording was made (ALLOMON_SAVE).
struct HeapPages {
  enum class Known {
    kNot,             // no copy, or an older one
    kWhole,           // and the recording began with the process
    kSincePart,       // and live blocks may be older than the recording
    kOtherAllocator,  // the process cannot count the pages of its allocator
    kUnreadable,      // the process could not read its own memory
  };
  Known known = Known::kNot;
  double live_bytes = 0;          // blocks in use, each as large as its size class
  double free_bytes = 0;          // blocks that were handed out once, of pages with live ones
  double kept_bytes = 0;          // committed pages without live blocks, resident or not
  double sampled_free_bytes = 0;  // between sampled blocks
  double file_bytes = 0;          // resident pages of files and of shared memory
};

// The process as a whole at one moment, for the sum that its heap is a part of.
struct ProcessMemory {
  double seconds = 0;         // since the start
  double resident_bytes = 0;  // by the kernel; 0: not known
  double live_bytes = 0;      // as estimated then
  double most_resident_bytes = 0;
  HeapPages heap = {};
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
  bool has_ends = false;                // the program tells ends of scopes of labels
  bool is_sum = false;                  // of several processes, with peaks at different times

  // Hits per word of 8 bytes (README.md of tracker/, section 1).  1: exact.  0: not known, so that
  // rows have no intervals.
  double rate = 0;
  // True if each half of the sampler estimates the peak at a moment that the other half has chosen,
  // and the profile has the mean of the two.  False if the peak is the largest of all estimates, or
  // if nothing is known about it.
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
  double peak_seconds = 0;  // time of the peak, since the start
  ProcessMemory memory;
  std::optional<Pages> pages;        // only of a process that runs
  std::optional<Contents> contents;  // only of a process that runs
  bool knows_unreachable = false;    // only of a process that runs
  bool knows_object_types = false;   // likewise; live blocks of malloc have Sample::type
  Missing missing;
  std::vector<std::string> notes;  // lines for the reader of a report
  std::string origin;              // for messages: "recording", "pprof", "heap_v2", ...
};

// True if a frame is of a function without machine code.
inline bool IsInterpreted(const HeapProfile& profile, const Location& location) {
  return location.mapping < profile.mappings.size() &&
         profile.mappings[location.mapping].path == kInterpreted;
}

inline bool Has(const HeapProfile& profile, Metric metric) {
  return profile.has[static_cast<size_t>(metric)];
}

// ---- Names of metrics: values of --metric, keys in files, labels on pages.

inline constexpr const char* kMetricNames[kMetrics] = {"alloc",     "live",     "peak",
                                                       "temporary", "promoted", "died-young"};

constexpr const char* MetricName(Metric metric) {
  return kMetricNames[static_cast<size_t>(metric)];
}

inline std::optional<Metric> MetricOf(std::string_view name) {
  for (size_t i = 0; i < kMetrics; ++i) {
    if (kMetricNames[i] == name) return static_cast<Metric>(i);
  }
  return std::nullopt;
}

}  // namespace allomon::heap

#endif  // ALLOMON_TOOLS_HEAP_HEAP_PROFILE_H_
