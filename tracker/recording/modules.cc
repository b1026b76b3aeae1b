#include "tracker/recording/modules.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstring>

#include "tracker/base/own_memory.h"
#include "tracker/recording/build_id.h"

namespace allomon::recording {
namespace {

bool SameBuildId(const Module& a, const Module& b) {
  return a.build_id_bytes == b.build_id_bytes && a.build_id_bytes != 0 &&
         memcmp(a.build_id, b.build_id, a.build_id_bytes) == 0;
}

}  // namespace

void ModuleTable::Begin(SegmentSource* source, uint32_t* count, TextStore* texts) {
  modules_.Begin(source, count);
  texts_ = texts;
}

void ModuleTable::Clear() {
  modules_.Clear();
  if (loaded_ != nullptr) internal::OwnMemory::Unmap(loaded_, kMostLoaded * sizeof(Loaded));
  loaded_ = nullptr;
  loaded_count_ = last_ = 0;
}

// A return address may be the first byte behind a module's last function.
uint64_t ModuleTable::MovedBy(uintptr_t address) {
  const Loaded* module = Find(address - 1);
  if (module == nullptr) module = Learn(address - 1);
  return module == nullptr ? 0 : module->moved_by;
}

const ModuleTable::Loaded* ModuleTable::Find(uintptr_t address) {
  if (last_ < loaded_count_ && address - loaded_[last_].begin < loaded_[last_].end -
                                                                   loaded_[last_].begin) {
    return &loaded_[last_];
  }
  const Loaded* const end = loaded_ + loaded_count_;
  const Loaded* const behind =
      std::upper_bound(static_cast<const Loaded*>(loaded_), end, address,
                       [](uintptr_t value, const Loaded& module) { return value < module.begin; });
  if (behind == loaded_ || address >= behind[-1].end) return nullptr;
  last_ = static_cast<size_t>(behind - 1 - loaded_);
  return behind - 1;
}

// _dl_find_object() takes no lock.  The module stays, since a frame of it is on the stack.
const ModuleTable::Loaded* ModuleTable::Learn(uintptr_t address) {
  dl_find_object found;
  if (_dl_find_object(reinterpret_cast<void*>(address), &found) != 0) return nullptr;
  Module module = {};
  module.begin = reinterpret_cast<uintptr_t>(found.dlfo_map_start);
  module.end = reinterpret_cast<uintptr_t>(found.dlfo_map_end);
  module.bias = found.dlfo_link_map->l_addr;
  module.build_id_bytes = static_cast<uint8_t>(ReadBuildId(
      module.begin, module.end, module.bias, module.build_id, sizeof(module.build_id)));
  const char* const path = found.dlfo_link_map->l_name;
  uint32_t number = FindGone(module, path);
  const uint64_t moved_by = number == 0 ? 0 : modules_.At(number).moved_by;
  if (number == 0) number = Write(module, path);
  return number == 0 ? nullptr : AddLoaded({module.begin, module.end, moved_by, number});
}

const ModuleTable::Loaded* ModuleTable::AddLoaded(const Loaded& module) {
  if (loaded_ == nullptr) {
    loaded_ = static_cast<Loaded*>(internal::OwnMemory::Map(kMostLoaded * sizeof(Loaded)));
  }
  if (loaded_ == nullptr || loaded_count_ == kMostLoaded) return nullptr;
  size_t at = loaded_count_++;
  for (; at > 0 && loaded_[at - 1].begin > module.begin; --at) loaded_[at] = loaded_[at - 1];
  loaded_[at] = module;
  last_ = at;
  return &loaded_[at];
}

// The record of the same module at the same place, from before it went.
uint32_t ModuleTable::FindGone(const Module& module, const char* path) const {
  for (uint32_t number = 1; number <= modules_.size(); ++number) {
    const Module& known = modules_.At(number);
    if (known.moved_by != 0 && known.begin == module.begin && known.end == module.end &&
        known.bias == module.bias && known.path.length_bytes == strlen(path) &&
        memcmp(texts_->At(known.path), path, known.path.length_bytes) == 0 &&
        SameBuildId(known, module)) {
      return number;
    }
  }
  return 0;
}

uint32_t ModuleTable::Write(const Module& module, const char* path) {
  Module record = module;
  record.path = texts_->Add(path, strlen(path));
  return modules_.Add(record);
}

ModuleTable::Range ModuleTable::Unload(uintptr_t begin, uintptr_t end, uint64_t by) {
  const auto overlaps = [&](const Loaded& module) {
    return module.begin < end && begin < module.end;
  };
  Loaded* const last = loaded_ + loaded_count_;
  Loaded* const found = std::find_if(loaded_, last, overlaps);
  if (found == last) return {};
  const Loaded gone = *found;
  std::copy(found + 1, last, found);
  --loaded_count_;
  if (gone.moved_by != 0) return {};
  modules_.At(gone.number).moved_by = by;
  return {gone.begin, gone.end};
}

}  // namespace allomon::recording
