// All environment variables of Allomon, and the component that reads each.  A component ignores the
// variables of the others, since a program has them all in one environment.
//
// README.md documents each of them; variables_test checks that this list is complete.
#ifndef ALLOMON_TRACKER_FORMATS_VARIABLES_H_
#define ALLOMON_TRACKER_FORMATS_VARIABLES_H_

namespace allomon {

enum class VariableReader {
  kPreload,  // the preloaded library, or //allocator:auto_profile:
             // allocator/environment/environment.h
  kHeap,     // the managed heap: runtime/heap_options.h
  kGates,    // benchmarks with exact counts: tracker/gates/benchmark_memory_manager.h
  kCommand,  // `allomon run` and `allomon serve`
};

struct KnownVariable {
  const char* name;
  VariableReader reader;
  // It controls whether something is written, where, or how much.  If it were ignored, the program
  // would do what its user has forbidden.
  bool bounds_what_is_written = false;
};

inline constexpr KnownVariable kVariables[] = {
    {"ALLOMON_BACKEND", VariableReader::kPreload},
    {"ALLOMON_DUMP", VariableReader::kPreload},
    {"ALLOMON_EXCLUDE", VariableReader::kPreload},
    {"ALLOMON_GATE_PROFILE", VariableReader::kGates},
    {"ALLOMON_GUARD", VariableReader::kPreload},
    {"ALLOMON_HEAP", VariableReader::kHeap},
    {"ALLOMON_HZ", VariableReader::kPreload},
    {"ALLOMON_LIBRARY", VariableReader::kCommand},
    {"ALLOMON_LUA", VariableReader::kPreload},
    {"ALLOMON_MMAP", VariableReader::kPreload},
    {"ALLOMON_OUT", VariableReader::kPreload, true},
    {"ALLOMON_PROFILE", VariableReader::kPreload, true},
    {"ALLOMON_PYTHON", VariableReader::kPreload},
    {"ALLOMON_RATE", VariableReader::kPreload},
    {"ALLOMON_RECORD", VariableReader::kPreload, true},
    {"ALLOMON_RECORD_INODE", VariableReader::kPreload, true},
    {"ALLOMON_RECORD_LIMIT", VariableReader::kPreload, true},
    {"ALLOMON_RECORD_ONLY", VariableReader::kPreload, true},
    {"ALLOMON_SAVE", VariableReader::kPreload},
    {"ALLOMON_SEED", VariableReader::kPreload},
    {"ALLOMON_SIGINT", VariableReader::kPreload},
    {"ALLOMON_SIGTERM", VariableReader::kPreload},
    {"ALLOMON_SUMMARY", VariableReader::kPreload},
    {"ALLOMON_TOKEN", VariableReader::kCommand},
};

}  // namespace allomon

#endif  // ALLOMON_TRACKER_FORMATS_VARIABLES_H_
