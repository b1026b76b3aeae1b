// Functions that only pass memory on: a program's own function around malloc, and the containers of
// a language's library.  What is charged to them says nothing, so their callers are charged: by the
// process that writes a profile, and by reports, which know more names.
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

// The patterns that hold for a setting of ALLOMON_EXCLUDE: the known ones where it is not set, none
// where it is empty, else the known ones and its own.  The known ones are about memory: they do not
// hold for profiles of time and calls.
std::string WrappersOf(ProfileKind kind, const std::optional<std::string>& setting);

// A demangled name without what the function returns and without its parameters:
//   "void std::vector<int>::_M_grow<int>(int&&)" -> "std::vector<int>::_M_grow<int>"
// Points into `name`.
std::string_view BareName(std::string_view name);

// A set of patterns.  Immutable: any thread may ask it.
class Wrappers {
 public:
  explicit Wrappers(std::string_view patterns);

  // Whether a pattern matches the bare name, alone or with its parameters.  Cost: a comparison of
  // the first or last characters for each pattern with a star only there, fnmatch for others.
  bool Contain(const std::string& name) const;

 private:
  void Add(std::string pattern);
  bool Matches(const std::string& name) const;

  // By the first character of the head, or the last of the tail.
  using ByCharacter = std::array<std::vector<std::string>, 256>;

  ByCharacter heads_;               // of "head*"
  ByCharacter tails_;               // of "*tail"
  std::vector<std::string> names_;  // without stars
  std::vector<std::string> others_;
};

}  // namespace allomon

#endif  // ALLOMON_TRACKER_NAMES_WRAPPERS_H_
