#include "tools/export/functions.h"

#include <map>
#include <string_view>
#include <utility>

namespace allomon::interchange {

Functions FunctionsOf(const Stacks& stacks) {
  Functions functions;
  std::map<std::pair<std::string_view, std::string_view>, uint32_t> numbers;  // by name and file
  for (uint32_t i = 0; i < stacks.frames.size(); ++i) {
    const Frame& frame = stacks.frames[i];
    const auto next = static_cast<uint32_t>(functions.first_frame.size());
    const auto [at, is_new] = numbers.try_emplace({frame.name, frame.file}, next);
    if (is_new) functions.first_frame.push_back(i);
    functions.of_frame.push_back(at->second);
  }
  return functions;
}

}  // namespace allomon::interchange
