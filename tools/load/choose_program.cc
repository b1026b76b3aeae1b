#include "tools/load/choose_program.h"

#include <utility>

#include "tools/text/plain_text.h"
#include "tracker/names/base_name.h"

namespace allomon::load {
namespace {

using heap::HeapProfile;

constexpr size_t kMostNames = 8;

std::string NameOf(const HeapProfile& profile) {
  return Printable(BaseName(profile.program), Charset::kUtf8);
}

// Returns the names of all profiles except the one at index `except`.
std::string NamesOf(const std::vector<HeapProfile>& profiles, size_t except) {
  std::string names;
  size_t count = 0;
  for (size_t i = 0; i < profiles.size(); ++i) {
    if (i == except) continue;
    if (++count > kMostNames) return names + ", ...";
    names += (count == 1 ? "" : ", ") + NameOf(profiles[i]);
  }
  return names;
}

}  // namespace

absl::StatusOr<HeapProfile> ChooseProgram(const std::string& file, const std::string& program,
                                          absl::StatusOr<std::vector<HeapProfile>> profiles) {
  if (!profiles.ok()) return profiles.status();
  size_t chosen = 0;
  while (chosen < profiles->size() &&
         (*profiles)[chosen].program.find(program) == std::string::npos) {
    ++chosen;
  }
  if (chosen == profiles->size()) {
    return absl::InvalidArgumentError(file + " has no program " + program + ": it has " +
                                      NamesOf(*profiles, chosen));
  }
  const std::string others = NamesOf(*profiles, chosen);
  HeapProfile profile = std::move((*profiles)[chosen]);
  if (!others.empty()) profile.notes.push_back("other programs of this recording: " + others);
  return profile;
}

}  // namespace allomon::load
