#include "examples/ci_gate/word_count.h"

void WordCount::Add(std::string_view text) {
  while (!text.empty()) {
    const size_t end = text.find(' ');
    if (end != 0) AddWord(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

#ifndef ADD_A_REGRESSION

void WordCount::AddWord(std::string_view word) {
  const auto found = counts_.find(word);
  if (found != counts_.end()) {
    ++found->second;
  } else {
    counts_.emplace(word, 1);
  }
}

#else

// Shorter, and it looks harmless.  But it makes a std::string of every word.
void WordCount::AddWord(std::string_view word) { ++counts_[std::string(word)]; }

#endif

int WordCount::CountOf(std::string_view word) const {
  const auto found = counts_.find(word);
  return found == counts_.end() ? 0 : found->second;
}
