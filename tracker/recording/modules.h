// The modules that frames lie in.  The loader is queried each time a frame may be new: inside
// malloc, without the loader's lock and without a system call.  The kernel is queried when a module
// without a build id, or with a relative name, is first met.  The C library loads and unloads
// modules by itself (iconv, NSS, PAM) without notice.  So a module is identified by what is mapped
// now, never by earlier knowledge.
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

  // A module that was unloaded: the caller adds `by` to the addresses of nodes in [begin, end].  An
  // `end` of 0 means that no module was.
  struct Gone {
    uintptr_t begin = 0;
    uintptr_t end = 0;
    uint64_t by = 0;
  };

  // Returns the offset of this address of code in a node.  It is 0, except for a module that was
  // unloaded and has come back to the same place.  Frames of such a module keep the addresses they
  // got when it was unloaded, so a library that is loaded repeatedly takes room only once.  Sets
  // *gone if another module was there before; the caller then calls again, since there may have
  // been several.  *is_known tells whether the module has a record.  Callers do not hold the lock.
  uint64_t MovedBy(uintptr_t address, SegmentFile* file, Gone* gone, bool* is_known);

  // Marks the module with code in [begin, end] as unloaded.
  Gone Unload(uintptr_t begin, uintptr_t end, uint64_t by) ALLOMON_REQUIRES(recorder_lock);

 private:
  // A module in own memory: its record, and the values that identify it.
  struct Own {
    Module record;  // its moved_by is not 0 once it was unloaded, even if it came back
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
  uint32_t silent_ = 0;  // unloaded without notice
  uint32_t last_ = 0;    // index of the module of the last query
};

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_RECORDING_MODULES_H_
