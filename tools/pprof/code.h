#ifndef ALLOMON_TOOLS_PPROF_CODE_H_
#define ALLOMON_TOOLS_PPROF_CODE_H_

#include <cstdint>
#include <vector>

#include "tools/heap/heap_profile.h"
#include "tools/pprof/id_table.h"
#include "tools/pprof/source.h"

namespace allomon::pprof {

// Decodes the code that the stacks of a profile refer to: locations, functions and mappings.
class CodeDecoder {
 public:
  CodeDecoder(Source* source, heap::HeapProfile* profile) : source_(*source), profile_(*profile) {}

  bool Read();

  // The index of the location with this id; kNone if the file has no such id.
  uint32_t FindLocation(uint64_t id) const { return location_ids_.Find(id); }

  // Puts mappings into the order of their ids: a file puts the program's first.
  void SortMappings();

 private:
  bool ReadField(const WireReader& field);
  bool ReadMapping(std::string_view message);
  bool ReadLocation(std::string_view message);
  bool ReadLine(std::string_view message, heap::Location* location);
  bool ReadFunction(std::string_view message);
  bool Link();
  bool LinkLines(heap::Location* location, size_t* next_line);

  Source& source_;
  heap::HeapProfile& profile_;
  IdTable mapping_ids_;
  IdTable location_ids_;
  IdTable function_ids_;
  std::vector<uint64_t> location_mappings_;  // ids, by location
  std::vector<uint64_t> line_functions_;     // ids, one for each line of all locations, in order
};

}  // namespace allomon::pprof

#endif  // ALLOMON_TOOLS_PPROF_CODE_H_
