// Profiles for the tests of allomon flame: put together by names, and a synthetic server's.
#ifndef ALLOMON_TESTS_FLAME_SUPPORT_PROFILES_H_
#define ALLOMON_TESTS_FLAME_SUPPORT_PROFILES_H_

#include <array>
#include <cstddef>
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

struct ServerOptions {
  uint64_t seed = 1;
  double rate = 1e-4;
  double cache_growth = 1;   // factor for the contents of the cache
  bool has_indexer = true;   // a part that another version lacks
  size_t random_stacks = 0;  // further distinct stacks, of up to 40 frames
};

// Returns a synthetic server's heap profile: requests that are parsed and answered, a cache, a
// leak, a short peak, temporaries, inlined calls, libraries, a timeline.  It is sampled like a
// recording; the same options make the same profile.
heap::HeapProfile ServerProfile(const ServerOptions& options);

}  // namespace allomon::flame

#endif  // ALLOMON_TESTS_FLAME_SUPPORT_PROFILES_H_
