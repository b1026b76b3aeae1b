// A profile as it was recorded, as a value.  All written text is a function of this value and of
// the program's symbol tables.
//
// Plain data.  Amounts are in the finest unit of their kind (formats/count_units.h).
#ifndef ALLOMON_TRACKER_PROFILE_WRITE_PROFILE_SNAPSHOT_H_
#define ALLOMON_TRACKER_PROFILE_WRITE_PROFILE_SNAPSHOT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tracker/formats/mlmon.h"

namespace allomon {

// A function that the program names, or that an interpreter has registered.
struct NamedFunction {
  std::string name;      // of ALLOMON_FUNCTION(): its signature
  std::string position;  // "file: line"
};

// The functions that the program text names, in the order of their places in the table.
struct ProgramFunctions {
  std::vector<uintptr_t> hooks;           // the address of the hook of each hooked function
  std::vector<NamedFunction> registered;  // ALLOMON_FUNCTION(), in the order of registration
};

// An interned call stack, and the amount that was charged to it.
struct ChargedStack {
  const uintptr_t* frames = nullptr;  // innermost first; valid for ever
  uint32_t depth = 0;                 // 0: the stack is unknown
  MlmonInt amount = 0;
};

struct ProfileSnapshot {
  // The kind of the amounts.
  ProfileKind kind = ProfileKind::kAlloc;
  ProfileStyle style = ProfileStyle::kCurrent;
  bool live = false;  // for kind alloc: only live blocks, not all allocated ones

  // The options of the recording.
  double rate = 1;      // samples per word
  uint64_t seed = 0;    // of the sampler
  uint32_t hz = 0;      // of kind time
  std::string exclude;  // patterns of functions charged to their callers (names/wrappers.h)

  // The mapping from stacks to functions.  kFunctions: not needed, since functions were charged.
  // kHookedCallers: the innermost function with an entry hook.  kSymbols: the innermost function of
  // the code that is no wrapper.
  enum class Charge { kFunctions, kHookedCallers, kSymbols };
  Charge charge = Charge::kSymbols;
  bool answers_for_itself = false;  // the executable can tell mlprof its functions

  ProgramFunctions functions;
  std::vector<MlmonCount> function_counts;  // by place: the fixed three, hooks, registered ones
  std::vector<NamedFunction> managed;       // functions of interpreted programs
  std::vector<MlmonCount> managed_counts;   // the counts of `managed`
  std::vector<ChargedStack> stacks;
  std::vector<ChargedStack> gc_stacks;  // the collector's use with these stacks below it
  double variance = 0;                  // of the sum, in bytes squared
  uint64_t dropped_bytes = 0;           // for live: samples without room to follow them
};

}  // namespace allomon

#endif  // ALLOMON_TRACKER_PROFILE_WRITE_PROFILE_SNAPSHOT_H_
