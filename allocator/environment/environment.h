// The settings of a preloaded Allomon, read from its environment.
#ifndef ALLOMON_ALLOCATOR_ENVIRONMENT_ENVIRONMENT_H_
#define ALLOMON_ALLOCATOR_ENVIRONMENT_ENVIRONMENT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tracker/formats/variables.h"

namespace allomon {

struct EnvironmentOptions {
  double rate = 1e-4;             // ALLOMON_RATE, samples per word, in [0, 1]
  std::string out = "mlmon.out";  // ALLOMON_OUT, %p: process id, %n: counts files, %%: a percent
  std::optional<uint64_t> seed;   // ALLOMON_SEED
  bool summary = false;           // ALLOMON_SUMMARY=1: a line on stderr at exit
  std::string profile;            // ALLOMON_PROFILE, see kProfileSyntax; "no"; "idle"; or ""
  uint32_t hz = 100;              // ALLOMON_HZ, 1 .. 10000; of kind time
  bool sigterm = false;           // ALLOMON_SIGTERM=1: also write when killed by SIGTERM
  bool sigint = false;            // ALLOMON_SIGINT=1: the same for SIGINT
  // ALLOMON_EXCLUDE, patterns of functions charged to callers; empty: not even known wrappers
  std::optional<std::string> exclude;
  std::string backend;  // ALLOMON_BACKEND: the malloc that serves what is not sampled; "": any
  bool mmap = false;    // ALLOMON_MMAP=1: count the host's own mappings
  bool python = true;   // ALLOMON_PYTHON=0: call stacks without the frames of Python
  bool lua = true;      // ALLOMON_LUA=0: the same for Lua's
  std::string record;   // ALLOMON_RECORD, a file, %p: process id, %%: a percent; "": no recording
  // ALLOMON_RECORD_INODE=DEVICE:INODE, of the memory file that ALLOMON_RECORD names; 0: any
  uint64_t record_device = 0;
  uint64_t record_inode = 0;
  uint64_t record_limit_bytes = uint64_t{256} << 20;  // ALLOMON_RECORD_LIMIT
  std::string save;          // ALLOMON_SAVE, see triggers::kSettingsSyntax; "": no copies
  bool leaks = false;        // ALLOMON_LEAKS=exit: `allomon run` searches for lost blocks at exit
  uint64_t record_only = 0;  // ALLOMON_RECORD_ONLY, the only process that records; 0: all do
  // ALLOMON_PROBES: bytes between the samples for USDT probes; 0: they are not served
  std::optional<uint64_t> probe_gap_bytes;
  int dump_signal = 0;           // ALLOMON_DUMP=USR1: also write whenever this signal arrives
  uint32_t guard_one_in = 0;     // ALLOMON_GUARD=1/N or 1/N:report; 0: no guard
  bool guard_goes_on = false;    // :report
  uint32_t in_place_one_in = 0;  // ALLOMON_IN_PLACE=1/N; 0: no sample stays in place
};

// Reads variables of the form NAME=value from a null-terminated list such as `environ`.
// On failure returns false, and *error is one line that names the variable, the mistake and the
// allowed values.
//
// Variables of other components are ignored (tracker/formats/variables.h).  An unknown ALLOMON_
// variable is most likely a typing mistake: `say` gets a line for each, with the nearest known
// name.  If the nearest name bounds what is written, it is an error.
bool ReadEnvironment(char** variables, EnvironmentOptions* options,
                     void (*say)(const std::string& line), std::string* error);

// Returns `out` with every %p replaced by the process id, %n by the number of the file, and %% by
// %.
std::string ExpandOut(const std::string& out, int64_t process_id, uint64_t file_number);
bool NamesProcess(const std::string& out);

// ---- Suggestions for unknown environment variables, which are mostly typing mistakes.
//
// Pure functions; they allocate by operator new.

// nullptr: no component reads it.
const KnownVariable* FindVariable(std::string_view name);

// Returns the variable that was probably meant, or nullptr: the one with the fewest letters
// changed, left out, added or exchanged, at most a third of its letters; or one of which either
// name begins with the other.  Both names include "ALLOMON_".
const KnownVariable* NearestVariable(std::string_view name);

}  // namespace allomon

#endif  // ALLOMON_ALLOCATOR_ENVIRONMENT_ENVIRONMENT_H_
