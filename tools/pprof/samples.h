#ifndef ALLOMON_TOOLS_PPROF_SAMPLES_H_
#define ALLOMON_TOOLS_PPROF_SAMPLES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tools/heap/heap_profile.h"
#include "tools/pprof/code.h"
#include "tools/pprof/sample_types.h"
#include "tools/pprof/source.h"

namespace allomon::pprof {

// Decodes samples, after the code that they refer to.
class SampleDecoder {
 public:
  // `values` is how many each sample has.  Labels of threads that the profile has already stand for
  // these; if it has none, it gets those that samples are labelled with.
  SampleDecoder(size_t values, std::vector<Column> columns, const CodeDecoder& code, Source* source,
                heap::HeapProfile* profile);

  bool Read();

 private:
  bool ReadSample(std::string_view message);
  bool ReadField(const WireReader& field, heap::Sample* sample);
  bool SetStack(heap::Sample* sample);
  bool SetAmounts(heap::Sample* sample);
  bool ReadLabel(std::string_view message, heap::Sample* sample);
  bool AddNumber(std::string_view key, int64_t number, std::string_view unit, heap::Sample* sample);
  bool AddText(std::string_view key, std::string_view value, heap::Sample* sample);
  bool AddLabel(std::string_view key, std::string_view value, heap::Sample* sample);
  bool AddThread(std::string_view name, heap::Sample* sample);

  const size_t values_of_each_;
  const std::vector<Column> columns_;
  const CodeDecoder& code_;
  Source& source_;
  heap::HeapProfile& profile_;
  const bool are_threads_known_;
  std::unordered_map<std::string, uint32_t> threads_;  // places, by label
  std::vector<uint64_t> ids_;                          // of the sample that is being read
  std::vector<uint64_t> values_;
};

}  // namespace allomon::pprof

#endif  // ALLOMON_TOOLS_PPROF_SAMPLES_H_
