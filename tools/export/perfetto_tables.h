// Tables that the packets of Perfetto's trace refer to: texts, mappings, frames, call stacks.
#ifndef ALLOMON_TOOLS_EXPORT_PERFETTO_TABLES_H_
#define ALLOMON_TOOLS_EXPORT_PERFETTO_TABLES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tools/export/perfetto_fields.h"
#include "tools/heap/heap_profile.h"

namespace allomon::interchange::perfetto {

// Numbers items from 1 on.  New items are appended to a message of all tables.
class Table {
 public:
  Table(InternedField field, std::string* interned) : field_(field), interned_(interned) {}

  // `fields` are those of the item without its number, `key` tells items apart.
  uint64_t Add(std::string key, std::string_view fields);
  uint64_t AddText(std::string_view text);

 private:
  const InternedField field_;
  std::string* const interned_;
  std::unordered_map<std::string, uint64_t> numbers_;
};

// Equal stacks have one number, also if they are of several profiles.
class Tables {
 public:
  // Returns the number of a sample's stack.  `profile` must be the one of the last BeginProfile().
  uint64_t CallstackOf(const heap::HeapProfile& profile, const heap::Sample& sample);
  void BeginProfile(const heap::HeapProfile& profile);

  // Returns a message of the items that are new since the call before; may be empty.
  std::string TakeNew();
  size_t new_bytes() const { return new_.size(); }

 private:
  uint64_t MappingOf(const heap::HeapProfile& profile, uint32_t number);
  // The function is one of the location, or stands for an unnamed one.
  uint64_t FrameOf(const heap::HeapProfile& profile, const heap::Location& location,
                   const heap::Function& function, uint32_t line);
  const std::vector<uint64_t>& FramesOf(const heap::HeapProfile& profile, uint32_t location);

  std::string new_;
  Table functions_{kFunctionNames, &new_}, frames_{kFrames, &new_}, callstacks_{kCallstacks, &new_},
      build_ids_{kBuildIds, &new_}, mapping_paths_{kMappingPaths, &new_},
      source_paths_{kSourcePaths, &new_}, mappings_{kMappings, &new_};
  std::vector<std::vector<uint64_t>> frames_of_location_;  // outermost first; empty: not made yet
};

}  // namespace allomon::interchange::perfetto

#endif  // ALLOMON_TOOLS_EXPORT_PERFETTO_TABLES_H_
