#include "tools/leaks/unreachable.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "tools/text/amounts.h"

namespace allomon::leaks {
namespace {

std::string NoteOf(const Unreachable& found, const Search& search) {
  std::string note =
      "only sampled blocks to which nothing refers: " + std::to_string(found.blocks) + " of " +
      std::to_string(search.sampled().size());
  if (found.directly < found.blocks) {
    note += ", " + std::to_string(found.directly) + " of them directly lost (--direct)";
  }
  note += "; the process stood for " + report::SecondsText(search.stopped_seconds());
  if (search.sleeping_threads() == 0) return note;
  return note + "; registers of " + std::to_string(search.sleeping_threads()) +
         " threads are not known, since they sleep in the kernel";
}

}  // namespace

absl::StatusOr<Unreachable> FindUnreachable(Search* search, bool only_direct,
                                            const std::string& debug_dir) {
  std::vector<size_t> places;
  std::vector<Blocks::Block> lost;
  for (size_t place = 0; place < search->sampled().size(); ++place) {
    const SampledBlock& sampled = search->sampled()[place];
    if (search->IsReached(sampled)) continue;
    places.push_back(place);
    lost.push_back(sampled.block);
  }
  const std::vector<bool> is_direct = FindDirectlyLost(search->snapshot(), lost, &search->blocks());
  Unreachable found;
  found.blocks = places.size();
  found.directly = static_cast<uint64_t>(std::count(is_direct.begin(), is_direct.end(), true));
  std::vector<size_t> shown;
  for (size_t i = 0; i < places.size(); ++i) {
    if (is_direct[i] || !only_direct) shown.push_back(places[i]);
  }
  auto profile = search->ProfileOf(shown, debug_dir);
  if (!profile.ok()) return profile.status();
  found.profile = *std::move(profile);
  found.profile.notes.push_back(NoteOf(found, *search));
  return found;
}

}  // namespace allomon::leaks
