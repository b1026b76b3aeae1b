// Reads mlmon.out, with the names in the file beside it.
#include <algorithm>
#include <string>

#include "tools/load/import.h"
#include "tracker/formats/mlmon.h"
#include "tracker/formats/source_table.h"

namespace allomon::interchange {
namespace {

using heap::HeapProfile;
using heap::Metric;

constexpr std::string_view kHead = "MLton prof\n";

absl::Status Bad(const std::string& line) { return absl::InvalidArgumentError(line); }

// Parses "file: line", whose line may be missing.
heap::Function FunctionOf(const SourceName& source) {
  heap::Function function;
  function.name = source.name;
  const size_t colon = source.position.rfind(": ");
  function.file = source.position.substr(0, colon);
  if (colon == std::string::npos) return function;
  const std::string line = source.position.substr(colon + 2);
  if (line.empty() || line.size() > 9 || line.find_first_not_of("0123456789") != line.npos) {
    function.file = source.position;
  } else {
    function.start_line = static_cast<uint32_t>(std::stoul(line));
  }
  return function;
}

// False for a count below 0, which mlprof reads, and which no heap has.
bool AddFunction(const SourceName& source, MlmonInt bytes, Metric metric, HeapProfile* profile) {
  if (bytes <= 0) return bytes == 0;
  const auto number = static_cast<uint32_t>(profile->functions.size());
  profile->functions.push_back(FunctionOf(source));
  profile->locations.emplace_back();
  profile->locations.back().lines.push_back({number, 0});
  profile->samples.emplace_back();
  profile->samples.back().stack = {number};
  profile->samples.back()[metric].bytes = static_cast<double>(bytes);
  return true;
}

}  // namespace

bool LooksLikeMlmon(std::string_view first_bytes) {
  return first_bytes.substr(0, kHead.size()) == kHead;
}

Imported ImportMlmon(std::string_view text, std::string_view script, const ImportLimits& limits) {
  if (text.size() > limits.text_bytes || script.size() > limits.text_bytes) {
    return Bad("is larger than can be read");
  }
  Mlmon mlmon;
  SourceTable table;
  std::string error;
  if (!ParseMlmon(text, &mlmon, &error)) return Bad("is cut short or damaged (" + error + ")");
  if (mlmon.kind != ProfileKind::kAlloc) return Bad("is a profile of time or calls, not of bytes");
  const std::string_view answer = AnswerOfStub(script);
  if (answer.empty() || !ParseSources(answer, &table, &error)) {
    return Bad("has a .sources that Allomon did not write, or that is damaged");
  }
  if (table.magic != mlmon.magic || table.names.size() != mlmon.masters.size()) {
    return Bad("has the .sources of another build");
  }
  HeapProfile profile;
  const Metric metric = IsStubOfLive(script) ? Metric::kLive : Metric::kAllocated;
  profile.origin = "mlmon";
  profile.has_blocks = false;
  profile.has[static_cast<size_t>(metric)] = true;
  for (size_t i = 0; i < table.names.size(); ++i) {
    if (!AddFunction(table.names[i], mlmon.masters[i].current, metric, &profile)) {
      return Bad("has counts below 0, and is no heap profile");
    }
  }
  return profile;
}

}  // namespace allomon::interchange
