#include "tools/pprof/string_table.h"

#include <utility>

namespace allomon::pprof {

uint64_t StringTable::Add(std::string_view text) {
  const auto [found, is_new] = numbers_.try_emplace(text, strings_.size());
  if (is_new) strings_.push_back(text);
  return found->second;
}

uint64_t StringTable::AddCopy(std::string text) {
  const auto found = numbers_.find(text);
  if (found != numbers_.end()) return found->second;
  copies_.push_back(std::move(text));
  return Add(copies_.back());
}

}  // namespace allomon::pprof
