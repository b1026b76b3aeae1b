// Functions that only pass memory on: a program's own function around malloc, and the containers of
// a language's library.  Charging them would tell nothing, so their callers are charged instead.
// The process that writes a profile does so, and reports, which know more names.
//
// Patterns are those of a shell (fnmatch(3)), separated by commas.  One of them may be the word
// "<known>", which stands for the built-in list (../profile/README.md, "Wrappers").
#ifndef ALLOMON_TRACKER_NAMES_WRAPPERS_H_
#define ALLOMON_TRACKER_NAMES_WRAPPERS_H_

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tracker/formats/profile_kind.h"

namespace allomon {

inline constexpr std::string_view kKnownWrappers = "<known>";

// Returns the patterns for a setting of ALLOMON_EXCLUDE: the known ones if it is not set, no
// patterns if it is empty, else the known ones and its own.  The known patterns are about memory:
// they do not apply to profiles of time and calls.
std::string WrappersOf(ProfileKind kind, const std::optional<std::string>& setting);

// Returns a demangled name without its return type and its parameters:
//   "void std::vector<int>::_M_grow<int>(int&&)" -> "std::vector<int>::_M_grow<int>"
// Points into `name`.
std::string_view BareName(std::string_view name);

// A set of patterns.  Immutable: any thread may use it.
class Wrappers {
 public:
  explicit Wrappers(std::string_view patterns);

  // Whether a pattern matches the bare name, alone or with its parameters.  Cost: a comparison of
  // the first or last characters for each pattern whose only star is at an end, fnmatch for others.
  bool Contain(const std::string& name) const;

 private:
  void Add(std::string pattern);
  bool Matches(const std::string& name) const;

  // Indexed by the first character of the head, or the last of the tail.
  using ByCharacter = std::array<std::vector<std::string>, 256>;

  ByCharacter heads_;               // of "head*"
  ByCharacter tails_;               // of "*tail"
  std::vector<std::string> names_;  // without stars
  std::vector<std::string> others_;
};

}  // namespace allomon

#endif  // ALLOMON_TRACKER_NAMES_WRAPPERS_H_
