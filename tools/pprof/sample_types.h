// Maps the values of a pprof sample to metrics, for Allomon's sample types and those of other
// tools.
#ifndef ALLOMON_TOOLS_PPROF_SAMPLE_TYPES_H_
#define ALLOMON_TOOLS_PPROF_SAMPLE_TYPES_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/heap/heap_profile.h"

namespace allomon::pprof {

// A type and its unit, as a file names them.
struct ValueType {
  std::string_view name;
  std::string_view unit;
};

// Says which metric a value of a sample belongs to.
struct Column {
  size_t value = 0;  // index among the sample's values
  heap::Metric metric = heap::Metric::kAllocated;
  bool is_blocks = false;
  double scale = 1;  // bytes per unit
};

// Returns the columns that EncodePprof writes, in order: those of each metric that the profile has.
// A profile without metrics gets the columns of live memory.
std::vector<Column> ColumnsToWrite(const heap::HeapProfile& profile);
ValueType TypeOf(const Column& column);

// Returns the columns of a file that are understood.  `left_out` gets the names of the others.
// Fails if no column counts bytes.
absl::StatusOr<std::vector<Column>> ColumnsToRead(const std::vector<ValueType>& types,
                                                  std::vector<std::string>* left_out);

}  // namespace allomon::pprof

#endif  // ALLOMON_TOOLS_PPROF_SAMPLE_TYPES_H_
