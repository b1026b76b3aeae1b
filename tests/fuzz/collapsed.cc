// Collapsed stacks: accepted input is consistent, and every format can export it.
#include "tests/fuzz/imported.h"

namespace allomon::fuzz {

std::vector<std::string> Seeds() {
  return {ExportOfOdd("collapsed"), ExportOfLarge("collapsed"),
          "main;f;g 10\nmain;f 20\r\n main;h 1.5\nmain;\\x3b 18446744073709551615\n",
          "main;Class::method(int, char) 3\n[unknown];f_[k] 4\n"};
}

}  // namespace allomon::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace allomon;
  const std::string_view text = fuzz::TextOf(data, size);
  interchange::LooksLikeCollapsed(text.substr(0, 64));
  return fuzz::Done(
      fuzz::CheckImported(interchange::ImportCollapsed(text, heap::Metric::kPeak), text));
}
