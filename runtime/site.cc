#include "runtime/site.h"

#include <fstream>
#include <string_view>
#include <utility>

#include "runtime/internal/tables/site_table.h"
#include "tracker/base/uncancelled.h"
#include "tracker/formats/write_file.h"

namespace allomon::gc {

using internal::SiteTable;

SiteSurvival Site::survival() const {
  const SiteTable::Counts counts = SiteTable::Get().CountsOf(*this);
  return {counts.promoted.all, counts.promoted.part, counts.changes};
}

Site::~Site() {
  if (SiteTable::Knows(*this)) SiteTable::Get().Forget(*this);
}

namespace {

// The file's first line; each other line is "old NAME" or "young NAME".
constexpr std::string_view kFirstLine = "allomon sites 1";

absl::Status Unreadable(const std::string& path, const std::string& why) {
  return absl::InvalidArgumentError(path + ": " + why);
}

// Reads "old NAME" or "young NAME"; false if the line is neither.
bool ParseLine(std::string_view line, SiteTable::States* states) {
  const size_t blank = line.find(' ');
  const std::string_view state = line.substr(0, blank);
  const bool old = state == "old";
  if (blank == std::string_view::npos || (!old && state != "young")) return false;
  states->emplace_back(line.substr(blank + 1), old);
  return true;
}

}  // namespace

absl::Status SaveSites(const std::string& path) {
  const allomon::internal::Uncancelled uncancelled;
  std::string text = std::string(kFirstLine) + "\n";
  for (const auto& [name, old] : SiteTable::Get().Save()) {
    if (name.find('\n') == std::string::npos) text += (old ? "old " : "young ") + name + "\n";
  }
  std::string error;
  if (WriteFileAtomically(path, text, 0644, &error)) return absl::OkStatus();
  return absl::UnavailableError(error);
}

absl::Status LoadSites(const std::string& path) {
  const allomon::internal::Uncancelled uncancelled;
  std::ifstream file(path);
  if (!file) return absl::NotFoundError(path + ": cannot be read; SaveSites() writes such a file");
  std::string line;
  if (!std::getline(file, line) || line != kFirstLine) {
    return Unreadable(
        path, "not a file of SaveSites(): its first line is not '" + std::string(kFirstLine) + "'");
  }
  SiteTable::States states;
  for (int number = 2; std::getline(file, line); ++number) {
    if (!ParseLine(line, &states)) {
      return Unreadable(
          path, "line " + std::to_string(number) + " is neither 'old NAME' nor " + "'young NAME'");
    }
  }
  if (file.bad()) return absl::UnavailableError(path + ": cannot be read to its end");
  SiteTable::Get().Load(std::move(states));
  return absl::OkStatus();
}

}  // namespace allomon::gc
