// Notes about profiles that could not be written, left by processes without a visible standard
// error, mostly daemons.  `allomon list` shows them.
//
// A note is a file of its own, in the first of the folders where it can be made.  A user has at
// most kMostLossNotes, and a newer note replaces an older one.  So a thousand programs with an
// unwritable output do not fill memory.
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

// The content of the file.  Numbers are in the machine's byte order, texts end with a zero.
// Readers do not trust it.
struct LossNote {
  char magic[8];
  uint64_t process_id;
  int64_t realtime_seconds;  // time of the loss
  char program[16];          // the kernel's name of the thread that ended it
  char text[4000];           // why; empty: nothing is lost
};
inline constexpr char kLossNoteMagic[8] = {'A', 'L', 'L', 'O', 'L', 'O', 'S', 'T'};
static_assert(std::is_trivially_copyable<LossNote>::value && sizeof(LossNote) <= 4096, "a page");

}  // namespace allomon

#endif  // ALLOMON_TRACKER_FORMATS_LOSS_NOTE_H_
