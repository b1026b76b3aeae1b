// Counts the words of a text.  The hot path allocates nothing for a word that it knows.
#ifndef ALLOMON_EXAMPLES_CI_GATE_WORD_COUNT_H_
#define ALLOMON_EXAMPLES_CI_GATE_WORD_COUNT_H_

#include <map>
#include <string>
#include <string_view>

class WordCount {
 public:
  void Add(std::string_view text);
  int CountOf(std::string_view word) const;

 private:
  void AddWord(std::string_view word);

  std::map<std::string, int, std::less<>> counts_;
};

#endif  // ALLOMON_EXAMPLES_CI_GATE_WORD_COUNT_H_
