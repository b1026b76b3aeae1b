// Notes of profiles that could not be written, by processes whose standard error nobody reads any
// more: daemons, mostly.  `allomon list` shows them.
//
// A note is a file of its own, in the first of the folders where it can be made.  A user has at
// most kMostLossNotes, and a newer one replaces an older one: a thousand programs with an output
// that cannot be written fill no memory.
//
// Plain values; nothing here allocates.
#ifndef ALLOMON_TRACKER_FORMATS_LOSS_NOTE_H_
#define ALLOMON_TRACKER_FORMATS_LOSS_NOTE_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace allomon {

inline constexpr const char* kLossNoteFolders[] = {"/dev/shm", "/tmp"};
// A file is FOLDER/allomon-USER-SLOT.lost, where SLOT is the process id modulo kMostLossNotes.
inline constexpr char kLossNotePrefix[] = "/allomon-";
inline constexpr char kLossNoteSuffix[] = ".lost";
inline constexpr uint32_t kMostLossNotes = 64;

// All of the file; numbers in the machine's byte order, texts end with a zero.  Readers take it for
// hostile.
struct LossNote {
  char magic[8];
  uint64_t process_id;
  int64_t realtime_seconds;  // when it was lost
  char program[16];          // as the kernel names the thread that ended it
  char text[4000];           // why; empty: nothing is lost
};
inline constexpr char kLossNoteMagic[8] = {'A', 'L', 'L', 'O', 'L', 'O', 'S', 'T'};
static_assert(std::is_trivially_copyable<LossNote>::value && sizeof(LossNote) <= 4096, "a page");

}  // namespace allomon

#endif  // ALLOMON_TRACKER_FORMATS_LOSS_NOTE_H_
