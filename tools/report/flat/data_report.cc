#include <algorithm>
#include <utility>

#include "tools/report/flat/reports.h"
#include "tools/text/amounts.h"
#include "tools/text/json_document.h"
#include "tools/text/plain_text.h"

namespace allomon::report {
namespace {

// With kShortTexts.
constexpr size_t kShortList = 1;

size_t ListSize(const std::vector<std::string>& files, JsonDetail detail) {
  return detail == JsonDetail::kShortTexts ? std::min(files.size(), kShortList) : files.size();
}

const char* KindName(ProfileKind kind) {
  if (kind == ProfileKind::kAlloc) return "alloc";
  return kind == ProfileKind::kTime ? "time" : "count";
}

bool HasStack(const Profile& profile) { return profile.data.style == ProfileStyle::kStack; }

// Returns the numbers of a profile's row, in the order of JSON's keys and of CSV's columns.
JsonMembers Numbers(const MlmonCount& count, bool has_stack) {
  JsonMembers numbers = {{"current", Digits(count.current)}};
  if (!has_stack) return numbers;
  numbers.push_back({"stack", Digits(count.stack)});
  numbers.push_back({"gc", Digits(count.stack_gc)});
  return numbers;
}

JsonMembers NumbersOf(const Change& change, bool has_stack) {
  JsonMembers numbers = {{"before", Digits(change.before.current)},
                         {"after", Digits(change.after.current)},
                         {"growth", Digits(change.Growth(SortKey::kCurrent))}};
  if (!has_stack) return numbers;
  numbers.push_back({"stack_before", Digits(change.before.stack)});
  numbers.push_back({"stack_after", Digits(change.after.stack)});
  numbers.push_back({"stack_growth", Digits(change.Growth(SortKey::kStack))});
  return numbers;
}

std::string JsonRow(const SourceName& name, const JsonMembers& numbers) {
  JsonMembers members = {{"name", JsonText(name.name)}, {"position", JsonText(name.position)}};
  members.insert(members.end(), numbers.begin(), numbers.end());
  return JsonObject(members);
}

std::string CsvText(const std::string& raw) {
  std::string text = Printable(raw, Charset::kUtf8);
  if (text.find_first_of(",\"") == std::string::npos) return text;
  for (size_t at = 0; (at = text.find('"', at)) != std::string::npos; at += 2)
    text.insert(at, "\"");
  return "\"" + text + "\"";
}

std::string CsvRow(const SourceName& name, const JsonMembers& numbers) {
  std::string row = CsvText(name.name) + "," + CsvText(name.position);
  for (const auto& [key, value] : numbers) row += "," + value;
  return row + "\n";
}

std::string CsvHead(const JsonMembers& numbers) {
  std::string head = "function,position";
  for (const auto& [key, value] : numbers) head += "," + key;
  return head + "\n";
}

JsonMembers AboutProfile(const Profile& profile, JsonDetail detail) {
  const auto files = profile.files.begin();
  const std::vector<std::string> shown(
      files, files + static_cast<ptrdiff_t>(ListSize(profile.files, detail)));
  return {{"profiles", JsonList(shown, detail, JsonDetail::kShortTexts)},
          {"program", JsonText(ShownText(profile.program.file, detail))},
          {"total", Digits(profile.data.total)},
          {"total_gc", Digits(profile.data.total_gc)},
          {"notes", JsonList(profile.notes, detail, JsonDetail::kWhole)}};
}

// The version rises when a member is removed or means something else.
JsonMembers AboutKind(const char* format, const Profile& profile) {
  return {{"format", JsonText(format)},
          {"version", "1"},
          {"kind", JsonText(KindName(profile.data.kind))},
          {"unit", JsonText(UnitName(profile.data.kind))}};
}

bool HasStack(const Pair& pair) { return HasStack(pair.before) && HasStack(pair.after); }

JsonMembers LeftOutOf(const std::vector<const Profile*>& profiles, JsonDetail detail) {
  size_t notes = 0, files = 0;
  for (const Profile* profile : profiles) {
    if (detail != JsonDetail::kWhole) notes += profile->notes.size();
    files += profile->files.size() - ListSize(profile->files, detail);
  }
  return {{"notes", std::to_string(notes)}, {"profiles", std::to_string(files)}};
}

}  // namespace

std::string ToJson(const Profile& profile, const std::vector<Function>& functions,
                   const Bounds& bounds) {
  JsonDocument document;
  document.head = [&profile](JsonDetail detail) {
    JsonMembers members = AboutKind("flat report", profile);
    for (auto& member : AboutProfile(profile, detail)) members.push_back(std::move(member));
    return members;
  };
  document.left_out = [&profile](JsonDetail detail) { return LeftOutOf({&profile}, detail); };
  document.tables = {{"functions", {}}};
  for (size_t i = 0; i < ShownRows(functions.size(), bounds.rows); ++i) {
    document.tables[0].rows.push_back(
        JsonRow(*functions[i].name, Numbers(functions[i].count, HasStack(profile))));
  }
  return BoundedJson(document, bounds.most_bytes);
}

std::string ToJson(const Pair& pair, const std::vector<Change>& changes, const Bounds& bounds) {
  JsonDocument document;
  document.head = [&pair](JsonDetail detail) {
    JsonMembers members = AboutKind("flat diff", pair.before);
    members.push_back({"before", JsonObject(AboutProfile(pair.before, detail))});
    members.push_back({"after", JsonObject(AboutProfile(pair.after, detail))});
    return members;
  };
  document.left_out = [&pair](JsonDetail detail) {
    return LeftOutOf({&pair.before, &pair.after}, detail);
  };
  document.tables = {{"functions", {}}};
  for (size_t i = 0; i < ShownRows(changes.size(), bounds.rows); ++i) {
    document.tables[0].rows.push_back(
        JsonRow(*changes[i].name, NumbersOf(changes[i], HasStack(pair))));
  }
  return BoundedJson(document, bounds.most_bytes);
}

std::string ToCsv(const Profile& profile, const std::vector<Function>& functions, size_t rows) {
  std::string csv = CsvHead(Numbers({}, HasStack(profile)));
  for (size_t i = 0; i < ShownRows(functions.size(), rows); ++i) {
    csv += CsvRow(*functions[i].name, Numbers(functions[i].count, HasStack(profile)));
  }
  return csv;
}

std::string ToCsv(const Pair& pair, const std::vector<Change>& changes, size_t rows) {
  std::string csv = CsvHead(NumbersOf({}, HasStack(pair)));
  for (size_t i = 0; i < ShownRows(changes.size(), rows); ++i) {
    csv += CsvRow(*changes[i].name, NumbersOf(changes[i], HasStack(pair)));
  }
  return csv;
}

}  // namespace allomon::report
