#include "tools/explain/json.h"

#include <nlohmann/json.hpp>
#include <vector>

namespace allomon::explain {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostNames = 32;

// It rises when a member is removed or means something else; members may be new in any version.
constexpr int kJsonVersion = 1;

// The command that divides the largest row of the heap.
Json NextOf(const Explanation& found, const std::vector<Row>& rows) {
  Json next = Json::array();
  if (found.pid == 0 || found.backend.empty()) return next;
  const std::string pid = std::to_string(found.pid);
  uint64_t most = 0;
  for (const Row& row : rows) {
    std::string command;
    if (row.id == "free_in_pages") command = "allomon report --view=pages " + pid + " --json";
    if (row.id == "live" || row.id == "large") command = "allomon top " + pid + " --json";
    if (command.empty() || row.resident_bytes <= most) continue;
    most = row.resident_bytes;
    next = Json::array({command});
  }
  return next;
}

Json JsonOf(const Row& row) {
  Json item = {{"id", row.id}, {"name", row.name}, {"resident_bytes", row.resident_bytes}};
  if (row.count != 0) item["count"] = row.count;
  if (row.untouched_bytes != 0) item["untouched_bytes"] = row.untouched_bytes;
  if (!row.remedy.empty()) item["remedy"] = row.remedy;
  if (row.saves_bytes != 0) item["saves_bytes"] = row.saves_bytes;
  return item;
}

std::string JsonOf(const Explanation& found, const std::vector<Row>& rows) {
  Json json = {{"format", "allomon explain"},
               {"version", kJsonVersion},
               {"next", NextOf(found, rows)},
               {"process", found.name},
               {"pid", found.pid},
               {"threads", found.threads},
               {"seconds", found.seconds},
               {"allocator", found.backend},
               {"resident_bytes", found.kernels.resident_bytes},
               {"proportional_bytes", found.kernels.proportional_bytes},
               {"huge_bytes", found.kernels.huge_bytes},
               {"swapped_bytes", found.kernels.swapped_bytes},
               {"sum_bytes", found.account.totals.resident_bytes},
               {"untouched_bytes", UntouchedBytes(found.account)},
               {"moved", found.moved},
               {"rows", Json::array()},
               {"notes", found.account.notes}};
  for (const Row& row : rows) json["rows"].push_back(JsonOf(row));
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string ToJson(const Explanation& found) {
  std::string text = JsonOf(found, found.account.rows);
  for (size_t names = kMostNames; text.size() > kMostJsonBytes; names /= 2) {
    text = JsonOf(found, WithoutSmallNames(found.account.rows, names));
    if (names == 0) break;  // the others are fewer than 30
  }
  return text;
}

}  // namespace allomon::explain
