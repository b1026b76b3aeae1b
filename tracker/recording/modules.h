// The modules that frames lie in, learned when a frame is first seen: inside malloc, without the
// loader's lock and without a system call.
//
// Guarded by the recorder's lock.
#ifndef ALLOMON_TRACKER_RECORDING_MODULES_H_
#define ALLOMON_TRACKER_RECORDING_MODULES_H_

#include <cstddef>
#include <cstdint>

#include "tracker/recording/records.h"
#include "tracker/recording/text.h"

namespace allomon::recording {

class ModuleTable {
 public:
  ModuleTable() = default;
  ~ModuleTable() { Clear(); }
  ModuleTable(const ModuleTable&) = delete;
  ModuleTable& operator=(const ModuleTable&) = delete;

  void Begin(SegmentSource* source, uint32_t* count, TextStore* texts);
  void Clear();

  // What stands in a node for this address of code: the address itself, except for a module that
  // was unloaded and has come back to the same place.  Its frames are then what they became when it
  // went, so that a library that comes and goes takes its room once.
  uint64_t AddressInNodes(uintptr_t address) { return address + MovedBy(address); }

  // The module with code in [begin, end] goes.  Returns its whole range: to addresses in nodes that
  // lie there, `by` is to be added.  Empty if no node has such an address.
  struct Range {
    uintptr_t begin = 0;
    uintptr_t end = 0;
  };
  Range Unload(uintptr_t begin, uintptr_t end, uint64_t by);

 private:
  struct Loaded {
    uintptr_t begin;
    uintptr_t end;
    uint64_t moved_by;  // not 0: it has come back
    uint32_t number;
  };
  static constexpr size_t kMostLoaded = 4096;

  uint64_t MovedBy(uintptr_t address);
  const Loaded* Find(uintptr_t address);
  const Loaded* Learn(uintptr_t address);
  const Loaded* AddLoaded(const Loaded& module);
  uint32_t FindGone(const Module& module, const char* path) const;
  uint32_t Write(const Module& module, const char* path);

  Records<Module, SegmentKind::kModules> modules_;
  TextStore* texts_ = nullptr;
  Loaded* loaded_ = nullptr;  // by address, in own memory
  size_t loaded_count_ = 0;
  size_t last_ = 0;  // where the last address was found
};

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_RECORDING_MODULES_H_
