// The bytes of a recording: tallies of a process's heap, in a file that the process has mapped and
// that is valid at any moment.  RECORDING.md is the manual.
//
// The file is a row of segments of 64 KiB.  The first holds FileHeader.  Each of the others begins
// with a SegmentHeader, belongs to one process, and holds records of one kind.  A record that is
// all zero is not in use.  Records never move; a number of a record counts from 1 through all
// segments of its kind and process, so that 0 means "none".
//
// Writers are on the same machine, so integers are in its byte order.  One process writes a
// segment, under a lock of its own; readers in other processes take none, and may see an update
// half done, which is an error of one sample for each running thread.
//
// Plain data, for writers and readers; no function here.
#ifndef ALLOMON_TRACKER_FORMATS_RECORDING_LAYOUT_H_
#define ALLOMON_TRACKER_FORMATS_RECORDING_LAYOUT_H_

#include <cstddef>
#include <cstdint>

namespace allomon::recording {

inline constexpr char kMagic[8] = {'A', 'L', 'L', 'O', 'R', 'E', 'C', '\n'};
inline constexpr uint32_t kLayoutVersion = 1;
inline constexpr uint64_t kSegmentBytes = 65536;
inline constexpr uint64_t kDefaultLimitBytes = uint64_t{256} << 20;
inline constexpr uint64_t kLeastLimitBytes = uint64_t{1} << 20;
inline constexpr uint64_t kMostLimitBytes = uint64_t{16} << 30;

struct FileHeader {
  char magic[8];
  uint32_t version;
  uint32_t segment_bytes;
  uint64_t limit_bytes;    // the file never gets larger
  uint64_t segments_used;  // this one included; processes take a segment by fetch-and-add
  uint64_t segments_lost;  // asked for when the limit was reached or there was no disk
};

inline constexpr uint32_t kSegmentMagic = 0x47455341;  // "ASEG"

enum class SegmentKind : uint32_t {
  kNone = 0,
  kProcess = 1,   // one ProcessRecord
  kNodes = 2,     // Node
  kRows = 3,      // Row
  kEvents = 4,    // Event
  kLive = 5,      // LiveBlock
  kThreads = 6,   // Thread
  kTimeline = 7,  // TimelinePoint
  kModules = 8,   // Module
  kText = 9,      // bytes, which TextRef refers to
};

struct SegmentHeader {
  uint32_t magic;
  SegmentKind kind;
  uint32_t process;  // number of its kProcess segment in the file; that segment holds its own
  uint32_t index;    // from 0, among the segments of this kind and process
  uint64_t reserved[6];
};
static_assert(sizeof(SegmentHeader) == 64, "records begin at a line of the cache");

template <typename Record>
inline constexpr uint64_t kRecordsPerSegment =
    (kSegmentBytes - sizeof(SegmentHeader)) / sizeof(Record);

// Bytes of the process's kText segments, headers not counted.  A text lies in one segment.
struct TextRef {
  uint32_t offset;
  uint32_t length_bytes;  // 0: none
};

// Sampled blocks, and what they stand for by the estimate of Horvitz and Thompson
// (tracker/estimate.h).  Integers, so that what is added for a block is taken off again exactly.
struct Sum {
  uint64_t samples;         // sampled blocks
  uint64_t blocks_scaled;   // estimated blocks, times kBlockScale
  uint64_t bytes;           // estimated bytes
};
inline constexpr uint64_t kBlockScale = 65536;

// A frame of a call stack, in a tree whose roots are the outermost frames.
struct Node {
  uint64_t address;  // what it is, says kind; never 0
  uint32_t parent;   // number of the caller's node; 0: none
  uint8_t kind;      // NodeKind
  uint8_t cut;       // 1: callers beyond this frame were left out
  uint16_t reserved;
};
static_assert(sizeof(Node) == 16);

enum class NodeKind : uint8_t {
  kReturnAddress = 0,  // the call is the byte before
  kExactAddress = 1,   // interrupted here by a signal
  kNamed = 2,          // a managed or interpreted function: address is a TextRef, offset in the low
                       // half; its text is "name\tfile\tline"
};

// What was allocated with one call stack, in one class of sizes.
struct Row {
  uint32_t node;        // the innermost frame; 0: no stack.  A row in use has a size class
  uint16_t size_class;  // SizeClassOf() + 1
  uint8_t source;       // AllocationSource: 0 managed, 1 unmarshalled, 2 custom, 3 malloc
  uint8_t young;        // 1: born in a nursery
  TextRef labels;       // key, zero, value, zero for each label, in the order of keys
  Sum allocated;
  Sum live;
  // What of it was live at the peak, if peak_epoch is the process's; else it has not changed since
  // the peak, and `live` is what was live then.
  Sum saved;
  uint64_t peak_epoch;
};
static_assert(sizeof(Row) == 96);

// Blocks of one row that died (or were promoted) at about one age.
enum class EventKind : uint8_t {
  kFreed = 1,      // died, and had not been in a nursery, or had left it
  kDiedYoung = 2,  // died in the nursery
  kPromoted = 3,   // left the nursery alive; it is still live
};
struct Event {
  uint32_t row;
  uint8_t kind;          // EventKind; 0: not in use
  uint8_t other_thread;  // 1: freed by a thread other than the one that allocated
  uint8_t log2_bytes;    // of the bytes allocated meanwhile by the allocating thread: 0: none or 1;
                         // k: from 2^k on.  Below 2^16 a freed block was a temporary
  uint8_t log2_nanos;    // of the time that it lived, likewise
  Sum sum;
};
static_assert(sizeof(Event) == 32);
inline constexpr uint8_t kTemporaryLog2Bytes = 16;

// A sampled block that is live.
struct LiveBlock {
  uint32_t row;  // 0: not in use
  uint32_t thread;
  uint64_t size_bytes;
  uint64_t birth_nanos;  // since the recording's start
  uint64_t birth_bytes;  // allocated by its thread until then
};
static_assert(sizeof(LiveBlock) == 32);

struct Thread {
  uint32_t tid;  // 0: not in use
  uint32_t ended;
  char name[16];  // ends with a zero
  // Words of 8 bytes that the thread has allocated, one header word per block counted in, as far as
  // its last sample: exactly, and as estimated from samples.
  uint64_t exact_words;
  uint64_t estimated_words;
  uint64_t estimated_words_variance;
  Sum allocated;
  Sum live;              // of blocks that it allocated
  uint64_t first_nanos;  // of its samples, since the recording's start
  uint64_t last_nanos;
};
static_assert(sizeof(Thread) == 112);

struct TimelinePoint {
  uint64_t nanos;  // since the recording's start
  uint64_t allocated_bytes;
  uint64_t live_bytes;
  uint64_t most_live_bytes;  // since the point before
};
inline constexpr uint32_t kMostTimelinePoints = 4096;

// Code that frames lie in.
struct Module {
  uint64_t begin;  // addresses of its mapping; 0: not in use
  uint64_t end;
  uint64_t bias;        // an address less this is the one in the module's file
  uint64_t moved_by;    // after dlclose: its addresses in nodes are larger by this; 0: loaded
  TextRef path;         // empty: the program itself, whose path is ProcessRecord::program
  uint8_t build_id_bytes;  // at most 32; 0: it has none
  uint8_t reserved[7];
  uint8_t build_id[32];
};
static_assert(sizeof(Module) == 80);

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

  // Samples that are in no row, for want of room, and the bytes of those blocks.
  uint64_t dropped_samples;
  uint64_t dropped_bytes;
  uint64_t lost;  // 1: the file was truncated or lost, and nothing has been added since
};
static_assert(sizeof(ProcessRecord) <= kSegmentBytes - sizeof(SegmentHeader));

// Classes of sizes: each size up to 15 bytes by itself, then eight per octave.
constexpr uint16_t SizeClassOf(uint64_t size_bytes) {
  if (size_bytes < 8) return static_cast<uint16_t>(size_bytes);
  const int octave = 63 - __builtin_clzll(size_bytes);
  const uint64_t eighth = (size_bytes >> (octave - 3)) & 7;
  return static_cast<uint16_t>(static_cast<uint64_t>(octave - 2) * 8 + eighth);
}
// The smallest size of a class.
constexpr uint64_t LeastSizeOf(uint16_t size_class) {
  if (size_class < 8) return size_class;
  return (uint64_t{8} + size_class % 8) << (size_class / 8 - 1);
}
static_assert(SizeClassOf(8) == 8 && SizeClassOf(15) == 15 && SizeClassOf(16) == 16 &&
              SizeClassOf(17) == 16 && SizeClassOf(18) == 17 && LeastSizeOf(17) == 18);

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_FORMATS_RECORDING_LAYOUT_H_
