// The text formats of jemalloc and gperftools: accepted input is consistent, and every format can
// export it.
#include "tests/fuzz/imported.h"

namespace allomon::fuzz {

std::vector<std::string> Seeds() {
  return {ExportOfOdd("heap_v2"),
          ExportOfLarge("heap_v2"),
          ExportOfOdd("jemalloc"),
          "heap_v2/524288\n  t*: 3: 2097664 [7: 4195328]\n@ 0x401001 0x402001\n"
          "  t*: 2: 2097152 [4: 4194304]\n  t0: 2: 2097152 [4: 4194304]\n\nMAPPED_LIBRARIES:\n"
          "00401000-00403000 r-xp 00001000 08:01 12 /bin/prog\n",
          "heap profile: 3: 300 [5: 500] @ heapprofile\n3: 300 [5: 500] @ 0x401001 0x402001\n"
          "\nMAPPED_LIBRARIES:\n00401000-00403000 r-xp 00001000 08:01 12 /bin/prog\n",
          "heap profile: 1: 1 [1: 1] @ heap_v2/4\n1: 1 [1: 1] @ 0x1\n",
          "heap profile: 1: 1 [1: 1] @ growth\n1: 1 [1: 1] @ 0x1\n"};
}

}  // namespace allomon::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace allomon;
  const std::string_view text = fuzz::TextOf(data, size);
  interchange::LooksLikeHeapV2(text.substr(0, 64));
  return fuzz::Done(fuzz::CheckImported(interchange::ImportHeapV2(text), text));
}
