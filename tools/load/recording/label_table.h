// The sets of labels of several processes, each once.
#ifndef ALLOMON_TOOLS_LOAD_RECORDING_LABEL_TABLE_H_
#define ALLOMON_TOOLS_LOAD_RECORDING_LABEL_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tools/heap/heap_profile.h"

namespace allomon::recording {

class LabelTable {
 public:
  // A number for the text of a row's labels; 0: none.  More texts than a recording can have are
  // taken for one whose labels are not known.
  uint32_t Add(std::string_view text);

  // A copy for a sample.  Where copies take more than kMostCopiedBytes, that of labels that are not
  // known.
  std::vector<heap::Label> CopyOf(uint32_t number);
  bool is_full() const { return is_full_; }

 private:
  uint32_t AddWhole(std::string_view text);

  std::vector<std::vector<heap::Label>> sets_;
  std::unordered_map<std::string, uint32_t> numbers_;
  uint64_t text_bytes_ = 0;
  uint64_t copied_bytes_ = 0;
  bool is_full_ = false;
};

}  // namespace allomon::recording

#endif  // ALLOMON_TOOLS_LOAD_RECORDING_LABEL_TABLE_H_
