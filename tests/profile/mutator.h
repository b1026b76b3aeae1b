#ifndef ALLOMON_TESTS_PROFILE_MUTATOR_H_
#define ALLOMON_TESTS_PROFILE_MUTATOR_H_

#include <algorithm>
#include <cstddef>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace allomon::testing {

// Damages texts: flips, cuts, repeats, and inserts pieces on which readers might fail.  The seed is
// fixed, so a failure is reproducible.
class Mutator {
 public:
  Mutator(unsigned seed, std::vector<std::string> pieces)
      : random_(seed), pieces_(std::move(pieces)) {}

  // One to four kinds of damage.
  std::string Mutate(std::string text) {
    for (size_t i = 0, times = 1 + Below(4); i < times; ++i) Damage(&text);
    return text;
  }

  size_t Below(size_t bound) { return random_() % bound; }

 private:
  void Damage(std::string* text) {
    const size_t at = Below(text->size() + 1);
    const size_t length = std::min(Below(20), text->size() - at);
    switch (Below(5)) {
      case 0:
        text->resize(at);
        break;
      case 1:
        text->erase(at, length);
        break;
      case 2:
        text->insert(at, text->substr(at, length));
        break;
      case 3:
        text->insert(at, pieces_[Below(pieces_.size())]);
        break;
      default:
        if (at < text->size()) (*text)[at] = static_cast<char>(Below(256));
    }
  }

  std::minstd_rand random_;
  std::vector<std::string> pieces_;
};

inline constexpr unsigned kFuzzSeed = 20240229;
inline constexpr int kFuzzRounds = 20000;

}  // namespace allomon::testing

#endif  // ALLOMON_TESTS_PROFILE_MUTATOR_H_
