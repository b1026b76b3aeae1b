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

// Decodes samples.  The code that they refer to must have been decoded before.
class SampleDecoder {
 public:
  // `values` is the number of values of each sample.  Thread labels refer to the threads that the
  // profile already has; a profile without threads gets one for each label.  Without `has_threads`
  // they are labels as any other.
  SampleDecoder(size_t values, std::vector<Column> columns, const CodeDecoder& code,
                bool has_threads, Source* source, heap::HeapProfile* profile);

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
  const bool has_threads_;
  const bool are_threads_known_;
  std::unordered_map<std::string, uint32_t> threads_;  // index of the thread, by label
  std::vector<uint64_t> ids_;                          // locations of the sample being read
  std::vector<uint64_t> values_;
};

// Returns the label for the samples of each thread: its name, with its id if other threads have
// that name, so that labels are unique.
std::vector<std::string> ThreadLabels(const std::vector<heap::Thread>& threads);

}  // namespace allomon::pprof

#endif  // ALLOMON_TOOLS_PPROF_SAMPLES_H_
