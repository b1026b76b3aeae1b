// The modules that frames lie in: the loader is asked each time a frame may be new, inside malloc,
// without the loader's lock and without a system call; and the kernel, when a module without a
// build id is first met.  The C library loads and unloads modules by itself (iconv, NSS, PAM), and
// tells nobody: so a module is known by what is there now, never by what was there before.
#ifndef ALLOMON_TRACKER_RECORDING_MODULES_H_
#define ALLOMON_TRACKER_RECORDING_MODULES_H_

#include <cstddef>
#include <cstdint>

#include "tracker/recording/recorder_lock.h"
#include "tracker/recording/records.h"
#include "tracker/recording/text.h"

namespace allomon::recording {

class ModuleTable {
 public:
  ModuleTable() = default;
  ~ModuleTable() { Clear(); }
  ModuleTable(const ModuleTable&) = delete;
  ModuleTable& operator=(const ModuleTable&) = delete;

  void Begin(SegmentSource* source, WrittenField<uint32_t> count, TextStore* texts);
  void Clear();

  // A module that has gone: to addresses in nodes in [begin, end], `by` is to be added.  An end of
  // 0: none has.
  struct Gone {
    uintptr_t begin = 0;
    uintptr_t end = 0;
    uint64_t by = 0;
  };

  // What is added to this address of code in a node: nothing, except for a module that was unloaded
  // and has come back to the same place.  Its frames are then what they became when it went, so
  // that a library that comes and goes takes its room once.  *gone is set if another module was
  // there before: then the caller asks again, since there may have been several.  *is_known: the
  // module has a record.  Not under the lock.
  uint64_t MovedBy(uintptr_t address, SegmentFile* file, Gone* gone, bool* is_known);

  // The module with code in [begin, end] has gone.  Under the lock.
  Gone Unload(uintptr_t begin, uintptr_t end, uint64_t by) ALLOMON_REQUIRES(recorder_lock);

 private:
  // A module, in own memory: its record, and what it is known by.
  struct Own {
    Module record;  // its moved_by is not 0 where it has gone, or has come back
    uint64_t path_hash;
    bool is_loaded;
  };
  static constexpr uint32_t kMostModules = 1u << 16;

  static bool IsSame(const Own& a, const Own& b);
  // Indexes from 1; 0: it is not there.
  uint32_t FindLocked(const Own& asked, Gone* gone) ALLOMON_REQUIRES(recorder_lock);
  uint32_t AddLocked(const Own& asked, const char* path) ALLOMON_REQUIRES(recorder_lock);
  Gone UnloadAt(uint32_t index, uint64_t by) ALLOMON_REQUIRES(recorder_lock);

  Records<Module, SegmentKind::kModules> modules_;
  TextStore* texts_ = nullptr;
  OwnArray<Own, kMostModules> own_;
  uint32_t count_ = 0;
  uint32_t silent_ = 0;  // that have gone without a word
  uint32_t last_ = 0;    // index of the module that was asked for last
};

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_RECORDING_MODULES_H_
