#ifndef ALLOMON_TESTS_FLAME_SUPPORT_PROFILE_MAKER_H_
#define ALLOMON_TESTS_FLAME_SUPPORT_PROFILE_MAKER_H_

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tools/heap/heap_profile.h"

namespace allomon::flame {

struct MadeFrame {
  std::string name;  // a name that begins with ~ is inlined into the previous frame
  std::string file = "";
  uint32_t line = 0;
  std::string module = "/usr/bin/server";  // empty: no module
};

using MadeStack = std::vector<MadeFrame>;  // outermost first

// Puts a profile together by names.
class ProfileMaker {
 public:
  explicit ProfileMaker(double rate);

  void Add(const MadeStack& stack, uint64_t size_bytes,
           const std::array<heap::Amount, heap::kMetrics>& amounts);

  heap::HeapProfile& profile() { return profile_; }

 private:
  uint32_t FunctionOf(const MadeFrame& frame);
  uint32_t MappingOf(const std::string& module);
  uint32_t LocationOf(const MadeStack& frames);

  heap::HeapProfile profile_;
  std::map<std::string, uint32_t> functions_;
  std::map<std::string, uint32_t> mappings_;
  std::map<std::string, uint32_t> locations_;
};

}  // namespace allomon::flame

#endif  // ALLOMON_TESTS_FLAME_SUPPORT_PROFILE_MAKER_H_
