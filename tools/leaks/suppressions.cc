#include "tools/leaks/suppressions.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "tools/load/read_bytes.h"
#include "tools/load/text_lines.h"
#include "tools/options/values.h"

namespace allomon::leaks {
namespace {

using options::Bad;

constexpr char kKind[] = "leak:";
constexpr size_t kMostBytes = size_t{1} << 20;

// Returns a regular expression that matches anywhere.
std::string ExpressionOf(std::string_view text) {
  constexpr char kSpecial[] = ".[](){}*+?|\\^$";
  std::string expression;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_begin = text[i] == '^' && i == 0, is_end = text[i] == '$' && i + 1 == text.size();
    if (text[i] == '*') {
      // Two of them would be an error of the expression's.
      if (i == 0 || text[i - 1] != '*') expression += "(.*)";
    } else if (is_begin || is_end) {
      expression += text[i];
    } else {
      if (strchr(kSpecial, text[i]) != nullptr) expression += '\\';
      expression += text[i];
    }
  }
  return expression;
}

std::string_view Trimmed(std::string_view line) {
  constexpr char kBlank[] = " \t\r";
  const size_t begin = line.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return "";
  return line.substr(begin, line.find_last_not_of(kBlank) - begin + 1);
}

absl::Status AddLine(std::string_view line, heap::Patterns* patterns) {
  line = Trimmed(line);
  if (line.empty() || line[0] == '#') return absl::OkStatus();
  if (line.substr(0, strlen(kKind)) != kKind) return Bad("give leak:TEXT");
  const std::string_view text = Trimmed(line.substr(strlen(kKind)));
  if (text.empty() || text == "^") return Bad("leak: needs a text");
  return patterns->Add(ExpressionOf(text));
}

}  // namespace

absl::Status AddSuppressions(const std::string& path, heap::Patterns* patterns) {
  const auto text = load::ReadBytes(path, kMostBytes);
  if (!text.ok()) {
    // The rest of the line is of recordings.
    const std::string why(text.status().message());
    return Bad("--suppressions: " + why.substr(0, why.find(';')));
  }
  interchange::TextLines lines(*text);
  while (lines.Next()) {
    const absl::Status status = AddLine(lines.line(), patterns);
    if (status.ok()) continue;
    return Bad(path + ", " + std::string(lines.Error(std::string(status.message())).message()));
  }
  return absl::OkStatus();
}

void RemoveModules(const heap::Patterns& patterns, heap::HeapProfile* profile) {
  std::vector<bool> is_suppressed;
  for (const heap::Mapping& mapping : profile->mappings) {
    is_suppressed.push_back(patterns.MatchAny(mapping.path));
  }
  const auto has_suppressed = [&](const heap::Sample& sample) {
    return std::any_of(sample.stack.begin(), sample.stack.end(), [&](uint32_t number) {
      if (number >= profile->locations.size()) return false;
      const uint32_t mapping = profile->locations[number].mapping;
      return mapping < is_suppressed.size() && is_suppressed[mapping];
    });
  };
  std::vector<heap::Sample>& samples = profile->samples;
  samples.erase(std::remove_if(samples.begin(), samples.end(), has_suppressed), samples.end());
}

}  // namespace allomon::leaks
