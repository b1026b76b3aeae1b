// What the packets of Perfetto's trace refer to by number: texts, mappings, frames, call stacks.
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

// Numbers items from 1 on.  What is new is appended to a message InternedData.
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

// For several profiles, whose equal stacks have one number.
class Tables {
 public:
  // Returns the number of a sample's stack.  `profile` must be the one of the last BeginProfile().
  uint64_t CallstackOf(const heap::HeapProfile& profile, const heap::Sample& sample);
  void BeginProfile(const heap::HeapProfile& profile);

  // Returns a message InternedData of what is new since the call before; may be empty.
  std::string TakeNew();
  size_t new_bytes() const { return new_.size(); }

 private:
  uint64_t MappingOf(const heap::HeapProfile& profile, uint32_t number);
  // Of a frame of a function that a location has, or of its unnamed one.
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
