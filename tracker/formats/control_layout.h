// The layout of a control page, by which `allomon ctl` requests a running process to begin or to
// end a recording.  CONTROL.md is the manual.
//
// The page is a file of its process, which has it mapped, and reads it now and then while it
// allocates.  One command at a time writes requests: it holds the file's lock (flock).  Numbers are
// stored last, with release, and read first, with acquire.  Neither side trusts the bytes that it
// reads.
//
// Writer and reader are on the same machine, so integers are in its byte order.  Plain data; there
// are no functions here.
#ifndef ALLOMON_TRACKER_FORMATS_CONTROL_LAYOUT_H_
#define ALLOMON_TRACKER_FORMATS_CONTROL_LAYOUT_H_

#include <cstddef>
#include <cstdint>

namespace allomon::control {

inline constexpr char kMagic[8] = {'A', 'L', 'L', 'O', 'C', 'T', 'L', '\n'};
inline constexpr uint32_t kLayoutVersion = 1;
inline constexpr size_t kMostPathBytes = 1024;  // including the final zero, as all texts here
inline constexpr size_t kMostTextBytes = 512;

// The folders for a page: a process uses the first one to which it may write.  control_names.h
// describes the text between the two parts of the name.
inline constexpr const char* kFolders[] = {"/dev/shm", "/tmp"};
inline constexpr const char* kNamePrefix = "/allomon-";
inline constexpr const char* kNameSuffix = ".control";
// The suffix of a recording for which no name was given.
inline constexpr const char* kRecordingSuffix = ".rec";

enum class Verb : uint32_t {
  kNone = 0,
  kStart = 1,    // refused while it records
  kStop = 2,     // refused while it does not
  kRestart = 3,  // ends a recording, if there is one, and begins a new one
};

struct Request {
  uint64_t number;  // larger than the last one's; 0: no request yet
  Verb verb;
  uint32_t for_children;      // 1: also for children that have no page yet
  double rate;                // hits per word; below 0: the environment's setting
  uint64_t limit_bytes;       // of the file; 0: the environment's setting
  char path[kMostPathBytes];  // %p is the process id; "": the environment's, or the page's folder
};

enum class Answer : uint32_t { kNone = 0, kDone = 1, kRefused = 2 };

enum class State : uint32_t { kIdle = 0, kRecording = 1 };

// The reply of the process.  It is being changed while `sequence` is odd; a copy is consistent if
// `sequence` was the same before and after.
struct Reply {
  uint64_t sequence;
  uint64_t number;  // of the request that is answered
  Answer answer;
  State state;
  double rate;                     // of the last recording
  char recording[kMostPathBytes];  // path of the last one's file, for the process; "": none yet
  char text[kMostTextBytes];       // why it was refused
};

struct Page {
  char magic[8];  // stored last
  uint32_t version;
  uint32_t size_bytes;  // of this structure
  uint32_t pid;         // as the process itself sees it
  uint32_t parent_pid;
  uint64_t made_at_nanos;  // CLOCK_BOOTTIME
  uint64_t gap_bytes;      // a thread's mean number of allocated bytes between looks
  char library_version[32];
  uint64_t looks;            // of all threads; may miss some
  uint64_t looked_at_nanos;  // CLOCK_BOOTTIME, of the last of them
  Request request;
  Request standing;  // request for children without a page of their own; number 0: no request
  Reply reply;
};
static_assert(sizeof(Page) <= 8192);

}  // namespace allomon::control

#endif  // ALLOMON_TRACKER_FORMATS_CONTROL_LAYOUT_H_
