#include "tracker/recording/modules.h"

#include <dlfcn.h>
#include <link.h>

#include <cstring>

#include "tracker/callstack/mapped_files.h"
#include "tracker/callstack/unloaded_code.h"
#include "tracker/recording/host_filter.h"

namespace allomon::recording {
namespace {

// Offsets added to addresses in a module that was unloaded without notice.  They lie in the upper
// half of the address space, with one range for each such module. tracker/callstack/unloaded_code.h
// uses the lower half.
constexpr uint64_t kSilentlyGone = uint64_t{1} << 63;
constexpr uint64_t kSilentStep = uint64_t{1} << 48;
constexpr uint32_t kMostSilent = 1u << 14;

uint64_t HashOf(const char* text) {
  uint64_t hash = 0;
  for (; *text != '\0'; ++text) hash = Mix(hash, static_cast<unsigned char>(*text));
  return hash;
}

bool SameBuildId(const Module& a, const Module& b) {
  return a.build_id_bytes == b.build_id_bytes &&
         memcmp(a.build_id, b.build_id, a.build_id_bytes) == 0;
}

// Reads facts from a module's file when the module is first met.  This takes system calls, so it
// runs without the lock.  If the host may have a filter of system calls, these calls are not made:
// the host probably loaded the module before the filter, or lets the loader make the same calls,
// but neither is certain.
class CodeLook {
 public:
  CodeLook(uintptr_t address, const char* path, const Module& module)
      : address_(address),
        path_(path),
        is_relative_(path[0] != '/' && strchr(path, '/') != nullptr),
        is_due_(module.build_id_bytes == 0 || is_relative_) {}

  bool IsDue() const { return is_due_; }

  // The path of the module.  The loader keeps the name that dlopen() was given, which may be
  // relative to a folder that was current then.
  const char* path() const { return path_; }

  void Take(Module* module) {
    is_due_ = false;
    internal::MappedFile file;
    const bool is_noted = internal::FindNotedFile(address_, &file);
    const bool may_ask = !HasFilter();
    if (may_ask && is_relative_ &&
        internal::PathOfMapping(address_, absolute_, sizeof(absolute_))) {
      path_ = absolute_;
    }
    if (module->build_id_bytes != 0) return;
    if (!is_noted && may_ask && path_[0] == '/') {
      internal::MappedFileQuery query = {path_, address_, {}};
      internal::FindMappedFiles(&query, 1);
      file = query.found;
    }
    Store(file, module);
  }

 private:
  static void Store(const internal::MappedFile& file, Module* module) {
    module->file_known = static_cast<uint8_t>(file.state);
    if (file.state != FileState::kAtPath) return;
    memcpy(module->build_id, &file.identity, sizeof(file.identity));
  }

  const uintptr_t address_;
  const char* path_;
  const bool is_relative_;
  bool is_due_;
  char absolute_[1024];
};

}  // namespace

void ModuleTable::Begin(SegmentSource* source, WrittenField<uint32_t> count, TextStore* texts) {
  modules_.Begin(source, count);
  texts_ = texts;
}

void ModuleTable::Clear() {
  modules_.Clear();
  own_.Clear();
  count_ = silent_ = last_ = 0;
}

bool ModuleTable::IsSame(const Own& a, const Own& b) {
  return a.record.begin == b.record.begin && a.record.end == b.record.end &&
         a.record.bias == b.record.bias && a.path_hash == b.path_hash &&
         SameBuildId(a.record, b.record);
}

// _dl_find_object() takes no lock.  The module stays, since a frame of it is on the stack.
uint64_t ModuleTable::MovedBy(uintptr_t address, SegmentFile* file, Gone* gone, bool* is_known) {
  dl_find_object found;
  *is_known = true;
  if (_dl_find_object(reinterpret_cast<void*>(address), &found) != 0) return 0;
  Own asked = {};
  asked.record.begin = reinterpret_cast<uintptr_t>(found.dlfo_map_start);
  asked.record.end = reinterpret_cast<uintptr_t>(found.dlfo_map_end);
  asked.record.bias = found.dlfo_link_map->l_addr;
  asked.record.build_id_bytes = static_cast<uint8_t>(
      internal::ReadBuildId(asked.record.begin, asked.record.end, asked.record.bias,
                            asked.record.build_id, sizeof(asked.record.build_id)));
  const char* const path = found.dlfo_link_map->l_name;
  asked.path_hash = HashOf(path);
  CodeLook look(address, path, asked.record);
  uint64_t moved_by = 0;
  bool is_new = false;
  do {
    if (is_new) look.Take(&asked.record);
    is_new = false;
    *is_known = WithRoom(file, [&]() ALLOMON_REQUIRES(recorder_lock) -> uint32_t {
                  uint32_t index = FindLocked(asked, gone);
                  if (gone->end != 0) return kMostModules;
                  is_new = index == 0 && look.IsDue();
                  if (is_new) return kMostModules;
                  if (index == 0) index = AddLocked(asked, look.path());
                  if (index == 0) return 0;
                  last_ = index;
                  own_.At(index).is_loaded = true;
                  moved_by = own_.At(index).record.moved_by;
                  return index;
                }) != 0;
  } while (is_new);
  return moved_by;
}

// Finds the module.  A module without a build id is never taken for one that has come back, since
// that cannot be known.
uint32_t ModuleTable::FindLocked(const Own& asked, Gone* gone) {
  if (last_ != 0 && own_.At(last_).is_loaded && IsSame(own_.At(last_), asked)) return last_;
  for (uint32_t index = 1; index <= count_; ++index) {
    CountHeldStep();
    const Own& own = own_.At(index);
    if (own.record.begin >= asked.record.end || asked.record.begin >= own.record.end) continue;
    const bool is_same = IsSame(own, asked);
    if (own.is_loaded && is_same) return index;
    if (!own.is_loaded && is_same && own.record.build_id_bytes != 0) return index;
    if (!own.is_loaded || silent_ == kMostSilent) continue;
    *gone = UnloadAt(index, kSilentlyGone + silent_++ * kSilentStep);
    if (gone->end != 0) return 0;
  }
  return 0;
}

uint32_t ModuleTable::AddLocked(const Own& asked, const char* path) {
  ALLOMON_DCHECK_LT("inv.recording.module", asked.record.begin, asked.record.end);
  ALLOMON_DCHECK_EQ("inv.recording.module", count_, modules_.size());
  if (!own_.Reserve(count_ + 1) || !modules_.Reserve()) return 0;
  Own& own = own_.At(count_ + 1);
  own = asked;
  own.record.path = texts_->Add(path, strlen(path));
  if (*path != '\0' && own.record.path.length_bytes == 0) return 0;
  modules_.Add(own.record);
  return ++count_;
}

ModuleTable::Gone ModuleTable::UnloadAt(uint32_t index, uint64_t by) {
  Own& own = own_.At(index);
  ALLOMON_DCHECK("inv.recording.module", index <= count_ && own.is_loaded);
  own.is_loaded = false;
  if (own.record.moved_by != 0) return {};  // its addresses in nodes have been moved
  own.record.moved_by = by;
  modules_.At(index)[&Module::moved_by].Store(by);
  return {own.record.begin, own.record.end, by};
}

ModuleTable::Gone ModuleTable::Unload(uintptr_t begin, uintptr_t end, uint64_t by) {
  for (uint32_t index = 1; index <= count_; ++index) {
    const Own& own = own_.At(index);
    if (own.is_loaded && own.record.begin < end && begin < own.record.end) {
      return UnloadAt(index, by);
    }
  }
  return {};
}

}  // namespace allomon::recording
