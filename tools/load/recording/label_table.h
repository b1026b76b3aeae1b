// The sets of labels of several processes, each stored once.
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
  // Returns a number for the text of a row's labels; 0 for the empty text.  When all texts together
  // exceed kMostTextBytes, a new text gets the set "(other)".
  uint32_t Add(std::string_view text);

  // Returns a copy of a set for a sample.  When all copies together exceed kMostCopiedBytes, it is
  // a copy of "(other)".
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
