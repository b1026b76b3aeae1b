// All environment variables of Allomon, and the component that reads each.  A component ignores the
// variables of the others, since a program has them all in one environment.
//
// The comment of a variable is its description in docs/environment.md, which environment_page.py
// writes: the default, then what it does.  variables_test compares the page with this list, and
// holds that the list has all variables.
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
    // Default: any.  `host` keeps the program's own malloc for blocks that are not sampled,
    // as `allomon run --keep-malloc` does; a preload of `liballomon.so` cannot, and says so.
    // `mimalloc` says that malloc may be replaced without a message.
    {"ALLOMON_BACKEND", VariableReader::kPreload},
    // Default: none.  The profile is also written each time this signal arrives.  Choose a
    // signal that the program does not use.
    {"ALLOMON_DUMP", VariableReader::kPreload},
    // Default: the known wrappers.  Further functions that are charged to their callers.  An
    // empty value charges not even the known wrappers to their callers.
    {"ALLOMON_EXCLUDE", VariableReader::kPreload},
    // Default: none.  The file into which a benchmark with exact counts writes its call
    // sites.
    {"ALLOMON_GATE_PROFILE", VariableReader::kGates},
    // Default: `no`.  `1/N` finds memory errors with one of N samples.  `1/N:report` reports
    // an error and goes on where it can.
    {"ALLOMON_GUARD", VariableReader::kPreload},
    // Default: the options in code.  Settings of a managed heap, such as
    // `nursery=4M,growth=80`; they win over the options in code.
    {"ALLOMON_HEAP", VariableReader::kHeap},
    // Default: `100`.  For `ALLOMON_PROFILE=time`: looks per second of processor time.
    {"ALLOMON_HZ", VariableReader::kPreload},
    // Default: `no`.  `1/N` keeps one of N followed samples, on average, on the page where it
    // would lie without sampling.  Frees of the page's other blocks then cost more.
    {"ALLOMON_IN_PLACE", VariableReader::kPreload},
    // Default: `no`.  `exit`, set by `allomon run --leaks=error`, has the process wait in exit()
    // until its memory was searched for blocks that nothing refers to.
    {"ALLOMON_LEAKS", VariableReader::kPreload},
    // Default: none.  A file of suppressions for `allomon run --leaks=error`, beside those of
    // `--suppressions`.
    {"ALLOMON_LEAKS_SUPPRESSIONS", VariableReader::kCommand},
    // Default: found beside the command.  The path of the `liballomon.so` that `allomon run`
    // preloads.
    {"ALLOMON_LIBRARY", VariableReader::kCommand},
    // Default: `1`.  `0` gives call stacks without Lua's frames.
    {"ALLOMON_LUA", VariableReader::kPreload},
    // Default: `0`.  `1` counts memory that the program maps itself (mmap, mremap), too.  It
    // works in preloaded programs, and not in recordings.
    {"ALLOMON_MMAP", VariableReader::kPreload},
    // Default: `mlmon.out`.  The name of the profile.  `%p` is the process id: use it when
    // the program starts others.  `%n` numbers the files of one process.  `%%` is a percent
    // sign.  A relative name starts at the folder in which the program was started, also if
    // the program changes to another one, as daemons do.
    {"ALLOMON_OUT", VariableReader::kPreload, true},
    // Default: `512k` with `ALLOMON_PROFILE=idle`, else `0`.  Serves tracers that attach to
    // the [USDT probes](probes.md): the mean number of bytes between two samples, from 1k to
    // 1g.  `0` serves none.
    {"ALLOMON_PROBES", VariableReader::kPreload},
    // Default: `alloc`.  `live` counts only memory that is still allocated.  `time` counts
    // processor time.  `count` counts calls of functions with entry hooks.  `,stack` charges
    // callers as well, as in `live,stack`.  `idle` samples nothing until `allomon ctl` asks
    // for it.  `no` profiles nothing.
    {"ALLOMON_PROFILE", VariableReader::kPreload, true},
    // Default: `1`.  `0` gives call stacks without Python's frames, and leaves Python's
    // arenas as they are.
    {"ALLOMON_PYTHON", VariableReader::kPreload},
    // Default: `1e-4`.  Samples per word of 8 bytes.  `1` sees each block, so the numbers
    // are exact.
    {"ALLOMON_RATE", VariableReader::kPreload},
    // Default: none.  Records whole call stacks into this file, in place of a profile.  `%p`
    // is the process id.
    {"ALLOMON_RECORD", VariableReader::kPreload, true},
    // Set by `allomon run`.  The device and the inode of its memory file.
    {"ALLOMON_RECORD_INODE", VariableReader::kPreload, true},
    // Default: `256m`.  The largest size of the recording.  Commands read at most 2g of one.
    {"ALLOMON_RECORD_LIMIT", VariableReader::kPreload, true},
    // Set by `allomon run --no-children`.  The only process that records.
    {"ALLOMON_RECORD_ONLY", VariableReader::kPreload, true},
    // Default: none.  Saves copies of the recording when memory gets near its limit, at a
    // new peak, periodically, or when a block gets old.
    {"ALLOMON_SAVE", VariableReader::kPreload},
    // Default: random.  Repeats the samples of another run.
    {"ALLOMON_SEED", VariableReader::kPreload},
    // Default: `0`.  `1` writes the profile also when SIGINT kills the program.
    {"ALLOMON_SIGINT", VariableReader::kPreload},
    // Default: `0`.  `1` writes the profile also when SIGTERM kills the program.
    {"ALLOMON_SIGTERM", VariableReader::kPreload},
    // Default: `0`.  `1` prints the total, its confidence interval and the seed at exit, and
    // how much memory the program mapped itself.
    {"ALLOMON_SUMMARY", VariableReader::kPreload},
    // Default: none.  The token that clients of `allomon serve` must send.
    {"ALLOMON_TOKEN", VariableReader::kCommand},
};

}  // namespace allomon

#endif  // ALLOMON_TRACKER_FORMATS_VARIABLES_H_
