#include "tools/options/choices.h"

namespace allomon::options {

std::string InWords(const std::vector<Term>& words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += words[i].word;
  }
  return text;
}

}  // namespace allomon::options
