// The layout of a recording: counts of a process's heap, in a file that the process has mapped and
// that is valid at any moment.  RECORDING.md is the manual.
//
// The file is a sequence of segments of 64 KiB.  The first holds FileHeader.  Each of the others
// begins with a SegmentHeader, belongs to one process, and holds records of one kind.  A record
// that is all zero is not in use.  Records never move.  A record's number counts from 1 through all
// segments of its kind and process, so that 0 means "none".
//
// Writers are on the same machine, so integers are in its byte order.  Each segment is written by
// one process.  Its threads take no lock to count a block, and readers in other processes take no
// lock either: they may see one unfinished update for each running thread, an error of one sample.
//
// A writer never reads its own writes back, since other processes can write the file.  Values that
// the process needs are in its own memory (tracker/recording).
//
// Version 1 is in recording_layout_1.h; readers know both.
//
// Plain data, for writers and readers; no function with state here.
#ifndef ALLOMON_TRACKER_FORMATS_RECORDING_LAYOUT_H_
#define ALLOMON_TRACKER_FORMATS_RECORDING_LAYOUT_H_

#include <cstddef>
#include <cstdint>

#include "tracker/formats/file_identity.h"

namespace allomon::recording {

inline constexpr char kMagic[8] = {'A', 'L', 'L', 'O', 'R', 'E', 'C', '\n'};
inline constexpr uint32_t kLayoutVersion = 2;
inline constexpr uint64_t kSegmentBytes = 65536;
inline constexpr uint64_t kDefaultLimitBytes = uint64_t{256} << 20;
inline constexpr uint64_t kLeastLimitBytes = uint64_t{1} << 20;
// The minimum rate of a recording: a hit in 8 TB.  Readers take a lower one for damage.
inline constexpr double kLeastRate = 1e-12;
inline constexpr uint64_t kMostLimitBytes = uint64_t{16} << 30;
// A reader takes no more than this from one file.
inline constexpr uint64_t kMostReadBytes = uint64_t{2} << 30;

struct FileHeader {
  char magic[8];
  uint32_t version;
  uint32_t segment_bytes;
  uint64_t limit_bytes;    // the file never gets larger
  uint64_t segments_used;  // this one included; processes take a segment by fetch-and-add
  uint64_t segments_lost;  // requested when the limit was reached or the disk was full
};

// The desk of a memory file, kExitDeskOffset bytes from its beginning: a process that is about to
// exit waits there until the file's owner has looked at its memory (tools/run/exit_desk.h).
struct ExitDesk {
  uint32_t is_open;  // 1: the owner attends to it
  uint32_t asking;   // the kernel's id of the thread that waits in exit(); 0: no thread
  uint64_t beats;    // grows for as long as the owner attends to it
};
inline constexpr uint64_t kExitDeskOffset = 4096;

inline constexpr uint32_t kSegmentMagic = 0x47455341;  // "ASEG"

enum class SegmentKind : uint32_t {
  kNone = 0,
  kProcess = 1,    // one ProcessRecord
  kNodes = 2,      // Node
  kRows = 3,       // Row
  kEvents = 4,     // Event
  kLive = 5,       // LiveBlock
  kThreads = 6,    // Thread
  kTimeline = 7,   // TimelinePoint
  kModules = 8,    // Module
  kText = 9,       // bytes, which TextRef refers to
  kSaved = 10,     // SavedCount
  kScopes = 11,    // Scope
  kResident = 12,  // ResidentPoint; one segment, or none
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
inline constexpr uint64_t kRecordsPerSegment = (kSegmentBytes - sizeof(SegmentHeader)) /
                                               sizeof(Record);

// Bytes of the process's kText segments, headers not counted.  A text lies in one segment.
struct TextRef {
  uint32_t offset;
  uint32_t length_bytes;  // 0: none
};

// A number with a fraction, in units of 2^-32.  Each word is stored separately, so a reader may see
// the sum off by less than 1; writers carry fractions that pass 2^32.
struct Wide {
  uint64_t whole;
  uint64_t fraction;
};

// A frame of a call stack, in a tree with the outermost frames as roots; or the type of blocks, at
// the innermost end of a stack.
struct Node {
  uint64_t address;  // its meaning depends on `kind`; never 0
  uint32_t parent;   // number of the caller's node; 0: no caller
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
  kType = 3,  // no frame: the type of managed blocks that `parent` asked for.  address is a
              // TextRef likewise; no node has it as its parent
};

// The sampler consists of two independent samplers, half 0 and half 1, which hit each word with the
// probability 1 - sqrt(1 - rate).  A block is sampled if either samples it.  Each half determines
// the time of the peak; the other half's samples determine what was live then (RECORDING.md, 5).
inline constexpr uint32_t kHalves = 2;

// Flags of a row.
inline constexpr uint8_t kYoung = 1;     // its blocks were born in a nursery
inline constexpr uint8_t kGreatest = 2;  // weighed as the class's greatest size, else as its least
inline constexpr uint8_t kOfHalf[kHalves] = {4, 8};  // sampled by that half; one of them, or both
// Memory of source custom was mapped by the program itself, or was reported by its owner.  Neither:
// an older writer, which did not tell them apart.
inline constexpr uint8_t kMapped = 16;
inline constexpr uint8_t kReported = 32;

// Sampled blocks with one call stack and one set of labels, in one class of sizes, with one weight.
// It fills one cache line.  Its four counters are only added to.
struct Row {
  uint32_t node;        // the innermost frame, or a kType; 0: no stack.  A row in use has a size
                        // class
  uint16_t size_class;  // SizeClassOf() + 1
  uint8_t source;       // AllocationSource: 0 managed, 1 unmarshalled, 2 custom, 3 malloc
  uint8_t flags;
  TextRef labels;   // key, zero, value, zero for each label, in the order of keys
  uint64_t blocks;  // sampled, and their bytes: a managed block's with its header
  uint64_t bytes;
  uint64_t freed_blocks;  // of these, those that have died
  uint64_t freed_bytes;
  // The row's live blocks at the peak of half i: saved[i] if peak_epoch[i] is the process's.  Else
  // the row has not changed since, and its live blocks now are those of the peak.
  uint32_t peak_epoch[kHalves];
  uint32_t saved[kHalves];  // number of a SavedCount; 0: no live blocks
};
static_assert(sizeof(Row) == 64);

struct SavedCount {
  uint64_t blocks;
  uint64_t bytes;
};

// Blocks of one row that died (or were promoted) at about one age.
enum class EventKind : uint8_t {
  kFreed = 1,      // died, and was not in a nursery, or had left it
  kDiedYoung = 2,  // died in the nursery
  kPromoted = 3,   // left the nursery alive; it is still live
};
struct Event {
  uint32_t row;
  uint8_t kind;          // EventKind; 0: not in use
  uint8_t other_thread;  // 1: freed by a thread other than the one that allocated
  uint8_t log2_bytes;    // of the bytes allocated meanwhile by the allocating thread: 0: 0 or 1
                         // byte; k: from 2^k on; kAgeUnknown.  Below 2^16 a freed block was a
                         // temporary
  uint8_t log2_nanos;    // of its lifetime, likewise
  uint64_t blocks;
  uint64_t bytes;
};
static_assert(sizeof(Event) == 24);
inline constexpr uint8_t kTemporaryLog2Bytes = 16;
inline constexpr uint8_t kAgeUnknown = 255;  // its thread had no record of its own

// A sampled block that is live.
struct LiveBlock {
  uint32_t row;  // 0: not in use
  uint32_t thread;
  uint64_t size_bytes;
  uint64_t birth_nanos;  // since the recording's start
  uint64_t birth_bytes;  // allocated by its thread until then
};
static_assert(sizeof(LiveBlock) == 32);

// A scope of labels with an end, as long as a sampled block of it is live.  Its
// blocks are those that its thread allocated from its begin to its end with the scope's label.
struct Scope {
  uint32_t thread;       // 0: not in use
  uint32_t label;        // which of `labels` is the scope's own, from 0
  TextRef labels;        // in force in the scope, in the form of a row's
  uint64_t begin_nanos;  // since the recording's start; not after the birth of its first block
  uint64_t end_nanos;    // 0: it is still open
};
static_assert(sizeof(Scope) == 32);
// Scope::thread: the program ended the label for all blocks, of any thread, that had it then.
inline constexpr uint32_t kEveryThread = UINT32_MAX;

struct Thread {
  uint32_t tid;  // 0: not in use
  uint32_t ended;
  char name[16];  // ends with a zero
  // Words of 8 bytes that the thread has allocated until its last sample, with one header word per
  // block: the exact number, and the estimate from samples.
  uint64_t exact_words;
  double estimated_words;
  double estimated_words_variance;
  uint64_t first_nanos;  // of its samples, since the recording's start
  uint64_t last_nanos;   // of its samples and of the deaths that it caused
  uint64_t samples;
  Wide blocks;  // estimated, of the blocks that it allocated
  Wide bytes;
  uint64_t freed_samples;  // of these, those that have died
  Wide freed_blocks;
  Wide freed_bytes;
  double excess_words;  // of estimated_words: they stand for words after its last sample
};
static_assert(sizeof(Thread) == 152);

struct TimelinePoint {
  uint64_t nanos;  // since the recording's start
  uint64_t allocated_bytes;
  uint64_t live_bytes;
  uint64_t most_live_bytes;  // since the point before
};
inline constexpr uint32_t kMostTimelinePoints = 4096;

// The resident memory at the TimelinePoint of the same number.
struct ResidentPoint {
  uint64_t bytes;  // of the process, by the kernel, as last read until then; 0: not known
};
static_assert(kMostTimelinePoints <= kRecordsPerSegment<ResidentPoint>);

// Code that frames lie in.
struct Module {
  uint64_t begin;  // addresses of its mapping; 0: not in use
  uint64_t end;
  uint64_t bias;           // an address less this is the one in the module's file
  uint64_t moved_by;       // offset of its addresses in nodes after dlclose; 0: loaded
  TextRef path;            // empty: the program itself, with path ProcessRecord::program
  uint8_t build_id_bytes;  // at most 32; 0: it has none
  uint8_t file_known;      // FileState, of a module without a build id, when it was first met
  uint8_t reserved[6];
  uint8_t build_id[32];  // without one: a FileIdentity, if file_known says so
};
static_assert(sizeof(Module) == 80);

static_assert(sizeof(FileIdentity) == sizeof(Module::build_id));

// Numbers of records missing in a recording because there was no room, by kind.
enum class Shortage : uint32_t {
  kSamples = 0,  // sampled blocks in no row
  kBytes = 1,    // requested sizes of those blocks
  kEnds = 2,     // deaths and promotions in no event, so without ages
  kThreads = 3,  // threads that share the last record, and whose blocks have no ages
  kNames = 4,    // names of functions: their frames have addresses instead
  kSaved = 5,    // rows whose part of the peak was not saved
  kFrames = 6,   // frames in code for whose module there was no room
  kScopes = 7,   // ends of scopes of labels, and of labels
  // Frees that were seen when the address was handed out again; room was not short.
  kUnseen = 8,
};
inline constexpr uint32_t kShortages = 16;  // the others are reserved

// The knowledge of the heap's pages in a copy of a recording (ALLOMON_SAVE).
enum class HeapKnown : uint64_t {
  kNot = 0,             // nobody looked: no copy, or an older one
  kWhole = 1,           // and the recording began with the process
  kSincePart = 2,       // and it began later: live blocks may be older
  kOtherAllocator = 3,  // pages of this allocator cannot be counted from inside
  kUnreadable = 4,      // /proc/self/mem or /proc/self/maps was not there
};

// The heap when a copy was made; bytes, all 0 where it is not known.
struct HeapPages {
  HeapKnown known;
  uint64_t live_bytes;          // blocks in use, each as large as its size class
  uint64_t free_bytes;          // blocks that were handed out once, of pages with live ones
  uint64_t kept_bytes;          // committed pages without live blocks, resident or not
  uint64_t sampled_free_bytes;  // between sampled blocks
  uint64_t file_bytes;          // resident pages of files and of shared memory
};

// The memory of the process as a whole, as it was last read.  All is 0 where it never was: in older
// files, and where /proc is not there.
struct ProcessMemory {
  uint64_t nanos;                // when, since the recording's start
  uint64_t resident_bytes;       // by the kernel
  uint64_t live_bytes;           // as estimated at that moment
  uint64_t most_resident_bytes;  // of all times that it was read
  HeapPages heap;                // of a copy
};
static_assert(sizeof(ProcessMemory) == 80);

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
    uint32_t nodes, rows, events, live, threads, timeline, modules, text_bytes, saved, scopes;
  } records;

  uint64_t last_nanos;  // of a sample or death, since the start; threads may have later ones
  // Live bytes at the peak: the mean of each half's estimate for the moment that the other half
  // determines.  The rows agree, up to a block for each thread that was in malloc at that moment.
  uint64_t peak_bytes;
  uint64_t peak_nanos;
  uint32_t peak_epoch[kHalves];  // grows with each new peak of that half
  uint64_t timeline_interval_nanos;
  uint64_t lost;  // 1: the file was truncated or lost, and nothing has been added since
  uint64_t missing[kShortages];  // by Shortage
  // The allocator underneath, and the file whose malloc it stands in for (or nothing), each ended
  // by a zero.  Empty: not known, as in older files.
  TextRef allocator;
  ProcessMemory memory;
};
static_assert(offsetof(ProcessRecord, memory) == 296);
static_assert(sizeof(ProcessRecord) <= kSegmentBytes - sizeof(SegmentHeader));

inline constexpr uint32_t kMostThreads = 65536;  // all further threads share the last record

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
// The greatest one.
constexpr uint64_t GreatestSizeOf(uint16_t size_class) {
  return LeastSizeOf(static_cast<uint16_t>(size_class + 1)) - 1;
}
static_assert(SizeClassOf(8) == 8 && SizeClassOf(15) == 15 && SizeClassOf(16) == 16 &&
              SizeClassOf(17) == 16 && SizeClassOf(18) == 17 && LeastSizeOf(17) == 18);

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_FORMATS_RECORDING_LAYOUT_H_
