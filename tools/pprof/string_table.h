#ifndef ALLOMON_TOOLS_PPROF_STRING_TABLE_H_
#define ALLOMON_TOOLS_PPROF_STRING_TABLE_H_

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace allomon::pprof {

// The strings of a profile that is being written, each once, in the order of first use.  The first
// is "".
class StringTable {
 public:
  StringTable() { Add(""); }

  // Returns the index of `text`, which must outlive the table.
  uint64_t Add(std::string_view text);
  // The same for a text that does not outlive the table.
  uint64_t AddCopy(std::string text);

  const std::vector<std::string_view>& strings() const { return strings_; }

 private:
  std::unordered_map<std::string_view, uint64_t> numbers_;
  std::vector<std::string_view> strings_;
  std::deque<std::string> copies_;
};

}  // namespace allomon::pprof

#endif  // ALLOMON_TOOLS_PPROF_STRING_TABLE_H_
