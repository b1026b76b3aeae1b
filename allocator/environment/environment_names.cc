#include <algorithm>
#include <cstdint>
#include <vector>

#include "allocator/environment/environment.h"
#include "tracker/base/check.h"

namespace allomon {
namespace {

constexpr std::string_view kPrefix = "ALLOMON_";
// Longer names get no suggestion.
constexpr size_t kMostLetters = 64;
constexpr size_t kLeastBeginning = 3;

// Counts the letters to change, leave out, add or exchange with their neighbours (optimal string
// alignment).
size_t Distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> cost(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = i + j;
        continue;
      }
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1,
                             cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  const size_t distance = cost[a.size()][b.size()];
  ALLOMON_DCHECK_LE("inv.environment.distance", distance, std::max(a.size(), b.size()));
  ALLOMON_DCHECK_LE("inv.environment.distance", std::max(a.size(), b.size()),
                    std::min(a.size(), b.size()) + distance);
  return distance;
}

bool BeginsWith(std::string_view text, std::string_view beginning) {
  return beginning.size() >= kLeastBeginning && text.substr(0, beginning.size()) == beginning;
}

bool IsNear(std::string_view word, std::string_view known, size_t distance) {
  return distance <= std::max<size_t>(1, known.size() / 3) || BeginsWith(word, known) ||
         BeginsWith(known, word);
}

}  // namespace

const KnownVariable* FindVariable(std::string_view name) {
  for (const KnownVariable& variable : kVariables) {
    if (name == variable.name) return &variable;
  }
  return nullptr;
}

const KnownVariable* NearestVariable(std::string_view name) {
  const std::string_view word = name.substr(std::min(kPrefix.size(), name.size()));
  if (word.size() > kMostLetters) return nullptr;
  const KnownVariable* nearest = nullptr;
  size_t least = SIZE_MAX;
  for (const KnownVariable& variable : kVariables) {
    const std::string_view known = std::string_view(variable.name).substr(kPrefix.size());
    const size_t distance = Distance(word, known);
    if (distance >= least || !IsNear(word, known, distance)) continue;
    least = distance;
    nearest = &variable;
  }
  return nearest;
}

}  // namespace allomon
