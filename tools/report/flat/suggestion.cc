#include "tools/report/flat/suggestion.h"

#include <string_view>

#include "tracker/names/wrappers.h"

namespace allomon::report {
namespace {

constexpr int kLeastPercent = 60;
// A function that does work itself is rarely called from more places, and a wrapper rarely from
// fewer.
constexpr uint32_t kLeastCallers = 8;

bool TakesMost(MlmonInt part, MlmonInt total) { return part / kLeastPercent >= total / 100; }

// Quotes a name for a shell, and escapes it for fnmatch(3).
std::string Quoted(std::string_view name) {
  std::string text = "'";
  for (const char c : name) {
    const bool is_special = c == '*' || c == '?' || c == '[' || c == '\\' || c == ',' || c == '\'';
    text += is_special ? '?' : c;
  }
  return text + "'";
}

}  // namespace

std::string SuggestWrapper(const Profile& profile) {
  const std::vector<uint32_t>& callers = profile.call_sites.callers;
  const std::vector<SourceName>& names = profile.program.table.names;
  if (profile.data.kind != ProfileKind::kAlloc || profile.data.total <= 0) return "";
  for (size_t i = 0; i < callers.size() && i < names.size(); ++i) {
    if (callers[i] < kLeastCallers) continue;
    if (!TakesMost(profile.data.masters[i].current, profile.data.total)) continue;
    return names[i].name + " takes most, and was called from " + std::to_string(callers[i]) +
           " places: if it only passes memory on, profile again with ALLOMON_EXCLUDE=" +
           Quoted(BareName(names[i].name)) + ", which charges its callers";
  }
  return "";
}

}  // namespace allomon::report
