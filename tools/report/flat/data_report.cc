#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "tools/report/flat/reports.h"
#include "tools/text/amounts.h"
#include "tools/text/plain_text.h"

namespace allomon::report {
namespace {

using Members = std::vector<std::pair<const char*, std::string>>;  // values are formatted already

// True if the text needs no escapes, as most names.
bool IsPlain(const std::string& text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return ' ' <= c && c <= '~' && c != '"' && c != '\\'; });
}

std::string Quoted(const std::string& text) {
  if (IsPlain(text)) return "\"" + text + "\"";
  return nlohmann::json(text).dump(-1, ' ', /*ensure_ascii=*/true,
                                   nlohmann::json::error_handler_t::replace);
}

std::string Object(const Members& members, const char* separator) {
  std::string object = "{";
  for (const auto& [key, value] : members) {
    if (object.size() > 1) object += separator;
    object += Quoted(key) + ": " + value;
  }
  return object + "}";
}

// Puts each element on a line of its own.
std::string Array(const std::vector<std::string>& elements) {
  std::string array = "[";
  for (const std::string& element : elements) {
    array += (array.size() > 1 ? ",\n    " : "\n    ") + element;
  }
  return array + "\n  ]";
}

std::string QuotedList(const std::vector<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts) list += (list.empty() ? "" : ", ") + Quoted(text);
  return "[" + list + "]";
}

std::string Document(const Members& members) {
  std::string object = Object(members, ",\n  ");
  object.insert(1, "\n  ");
  object.insert(object.size() - 1, "\n");
  return object + "\n";
}

const char* KindName(ProfileKind kind) {
  if (kind == ProfileKind::kAlloc) return "alloc";
  return kind == ProfileKind::kTime ? "time" : "count";
}

bool HasStack(const Profile& profile) { return profile.data.style == ProfileStyle::kStack; }

// Returns the numbers of a profile's row, in the order of JSON's keys and of CSV's columns.
Members Numbers(const MlmonCount& count, bool has_stack) {
  Members numbers = {{"current", Digits(count.current)}};
  if (!has_stack) return numbers;
  numbers.push_back({"stack", Digits(count.stack)});
  numbers.push_back({"gc", Digits(count.stack_gc)});
  return numbers;
}

Members NumbersOf(const Change& change, bool has_stack) {
  Members numbers = {{"before", Digits(change.before.current)},
                     {"after", Digits(change.after.current)},
                     {"growth", Digits(change.Growth(SortKey::kCurrent))}};
  if (!has_stack) return numbers;
  numbers.push_back({"stack_before", Digits(change.before.stack)});
  numbers.push_back({"stack_after", Digits(change.after.stack)});
  numbers.push_back({"stack_growth", Digits(change.Growth(SortKey::kStack))});
  return numbers;
}

std::string JsonRow(const SourceName& name, const Members& numbers) {
  Members members = {{"name", Quoted(name.name)}, {"position", Quoted(name.position)}};
  members.insert(members.end(), numbers.begin(), numbers.end());
  return Object(members, ", ");
}

std::string CsvText(const std::string& raw) {
  std::string text = Printable(raw, Charset::kUtf8);
  if (text.find_first_of(",\"") == std::string::npos) return text;
  for (size_t at = 0; (at = text.find('"', at)) != std::string::npos; at += 2)
    text.insert(at, "\"");
  return "\"" + text + "\"";
}

std::string CsvRow(const SourceName& name, const Members& numbers) {
  std::string row = CsvText(name.name) + "," + CsvText(name.position);
  for (const auto& [key, value] : numbers) row += "," + value;
  return row + "\n";
}

std::string CsvHead(const Members& numbers) {
  std::string head = "function,position";
  for (const auto& [key, value] : numbers) head += std::string(",") + key;
  return head + "\n";
}

Members AboutProfile(const Profile& profile) {
  return {{"profiles", QuotedList(profile.files)},
          {"program", Quoted(profile.program.file)},
          {"total", Digits(profile.data.total)},
          {"total_gc", Digits(profile.data.total_gc)},
          {"notes", QuotedList(profile.notes)}};
}

// The version rises when a member is removed or means something else.
Members AboutKind(const char* format, const Profile& profile) {
  return {{"format", Quoted(format)},
          {"version", "1"},
          {"kind", Quoted(KindName(profile.data.kind))},
          {"unit", Quoted(UnitName(profile.data.kind))}};
}

bool HasStack(const Pair& pair) { return HasStack(pair.before) && HasStack(pair.after); }

}  // namespace

std::string ToJson(const Profile& profile, const std::vector<Function>& functions, size_t rows) {
  Members members = AboutKind("flat report", profile);
  for (auto& member : AboutProfile(profile)) members.push_back(std::move(member));
  std::vector<std::string> elements;
  for (size_t i = 0; i < ShownRows(functions.size(), rows); ++i) {
    elements.push_back(JsonRow(*functions[i].name, Numbers(functions[i].count, HasStack(profile))));
  }
  members.push_back({"functions", Array(elements)});
  return Document(members);
}

std::string ToJson(const Pair& pair, const std::vector<Change>& changes, size_t rows) {
  Members members = AboutKind("flat diff", pair.before);
  members.push_back({"before", Object(AboutProfile(pair.before), ", ")});
  members.push_back({"after", Object(AboutProfile(pair.after), ", ")});
  std::vector<std::string> elements;
  for (size_t i = 0; i < ShownRows(changes.size(), rows); ++i) {
    elements.push_back(JsonRow(*changes[i].name, NumbersOf(changes[i], HasStack(pair))));
  }
  members.push_back({"functions", Array(elements)});
  return Document(members);
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
