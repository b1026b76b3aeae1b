#include "tools/report/flat/words.h"

#include <cmath>

#include "tools/text/amounts.h"

namespace allomon::report {

std::string FilesText(const Profile& profile) {
  const size_t more = profile.files.size() - 1;
  if (more == 0) return profile.files[0];
  return profile.files[0] + " and " + std::to_string(more) +
         (more == 1 ? " more profile" : " more profiles");
}

std::string SummaryText(const Profile& profile) {
  return FilesText(profile) + ": " + TotalsText(profile.data, profile.live);
}

std::string ProgramText(const Profile& profile) {
  return "functions by " + profile.program.file +
         (profile.program_found ? ", found beside the profile" : "");
}

std::string NoteText(const std::string& note) { return "note: " + note; }

std::string PlaceText(const SourceName& name) {
  std::string place = name.position;
  const size_t colon = place.rfind(": ");
  if (colon == std::string::npos || colon + 2 == place.size()) return place;
  if (place.find_first_not_of("0123456789", colon + 2) == std::string::npos) {
    place.erase(colon + 1, 1);
  }
  return place;
}

std::string GrowthText(const Change& change, SortKey key) {
  const MlmonInt before = Measure(change.before, key);
  if (before == 0) return Measure(change.after, key) == 0 ? "" : "new";
  if (Measure(change.after, key) == 0) return "gone";
  const double percent = PercentOf(change.Growth(key), std::fabs(static_cast<double>(before)));
  if (percent >= 900 && before > 0) return Times(1 + percent / 100);
  return (percent > 0 ? "+" : "") + Percentage(percent);
}

const char* MeasureText(SortKey key) {
  if (key == SortKey::kStack) return "with what it called";
  return key == SortKey::kGc ? "by the collector meanwhile" : "itself";
}

std::string MoreText(size_t count) {
  return std::to_string(count) + " more function" + (count == 1 ? "" : "s");
}

}  // namespace allomon::report
