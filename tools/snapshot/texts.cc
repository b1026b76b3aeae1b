// Functions that all views of a snapshot share.
#include "tools/snapshot/views.h"
#include "tools/text/amounts.h"

namespace allomon::snapshot {

std::string BytesText(uint64_t bytes) {
  return report::Amount(ProfileKind::kAlloc, static_cast<MlmonInt>(bytes));
}

std::string CountText(uint64_t count) { return report::Exact(static_cast<MlmonInt>(count)); }

std::string PercentText(uint64_t part, uint64_t whole) {
  return report::Percentage(
      report::PercentOf(static_cast<MlmonInt>(part), static_cast<double>(whole)));
}

std::string Shown(std::string_view text, const Style& style) {
  return Printable(text, style.charset);
}

// Cuts names, because they may be strings of the program, which may be long.
std::string ObjectName(const Snapshot& snapshot, uint32_t node, const Style& style) {
  constexpr int kMostColumns = 60;
  if (snapshot.IsSynthetic(node)) {
    return node == 0 ? "(root)" : Shown(snapshot.String(snapshot.node_name[node]), style);
  }
  const std::string shown = Shown(snapshot.ClassOf(node), style);
  return CutToBeginning(shown, kMostColumns, style.charset) + " @" +
         std::to_string(snapshot.node_id[node]);
}

std::string Objects(uint64_t count) {
  return CountText(count) + (count == 1 ? " object" : " objects");
}

}  // namespace allomon::snapshot
