#include "tools/options/choices.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace allomon::options {

std::string InWords(const std::vector<Term>& words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += words[i].word;
  }
  return text;
}

namespace {

constexpr size_t kLeastLetters = 3;
constexpr size_t kMostSlips = 2;

std::string_view WithoutDashes(std::string_view name) {
  return name.substr(std::min(name.find_first_not_of('-'), name.size()));
}

// Letters that are added, removed or replaced, or neighbours that change places, each one slip
// (Damerau's distance, where no part is changed twice).
size_t SlipsBetween(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> slips(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        slips[i][j] = i + j;
        continue;
      }
      const size_t replaced = slips[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      slips[i][j] = std::min({slips[i - 1][j] + 1, slips[i][j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        slips[i][j] = std::min(slips[i][j], slips[i - 2][j - 2] + 1);
      }
    }
  }
  return slips[a.size()][b.size()];
}

// 0: `typed` begins the name.  Beyond kMostSlips: the name is not near.
size_t Distance(std::string_view typed, std::string_view name) {
  const bool begins = name.compare(0, typed.size(), typed) == 0;
  if (begins) return 0;
  // A third of the letters may be wrong.
  const size_t slips = SlipsBetween(typed, name);
  return 3 * slips <= typed.size() ? slips : kMostSlips + 1;
}

}  // namespace

std::string Nearest(const std::string& typed, const std::vector<std::string>& names) {
  constexpr size_t kMostLetters = 64;
  const std::string_view letters = WithoutDashes(typed);
  if (letters.size() < kLeastLetters || letters.size() > kMostLetters) return "";
  size_t least = kMostSlips + 1;
  std::string nearest;
  for (const std::string& name : names) {
    const std::string_view other = WithoutDashes(name);
    if (other.size() < kLeastLetters) continue;
    const size_t distance = Distance(letters, other);
    if (distance > least || distance > kMostSlips) continue;
    nearest = distance == least ? "" : name;
    least = distance;
  }
  return nearest;
}

}  // namespace allomon::options
