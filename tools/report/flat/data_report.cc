#include <algorithm>
#include <functional>
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

// How much of what stands around the rows is shown.
enum class Detail { kWhole, kNoNotes, kShortTexts };

constexpr size_t kShortText = 256;  // bytes of a text, with kShortTexts
constexpr size_t kShortList = 1;    // texts of a list

std::string QuotedText(const std::string& text, Detail detail) {
  return Quoted(detail == Detail::kShortTexts ? text.substr(0, kShortText) : text);
}

size_t ListSize(const std::vector<std::string>& texts, Detail detail) {
  return detail == Detail::kShortTexts ? std::min(texts.size(), kShortList) : texts.size();
}

std::string QuotedList(const std::vector<std::string>& texts, Detail detail) {
  std::string list;
  for (size_t i = 0; i < ListSize(texts, detail); ++i) {
    list += (list.empty() ? "" : ", ") + QuotedText(texts[i], detail);
  }
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

Members AboutProfile(const Profile& profile, Detail detail) {
  const std::vector<std::string> no_notes;
  return {{"profiles", QuotedList(profile.files, detail)},
          {"program", QuotedText(profile.program.file, detail)},
          {"total", Digits(profile.data.total)},
          {"total_gc", Digits(profile.data.total_gc)},
          {"notes", QuotedList(detail == Detail::kWhole ? profile.notes : no_notes, detail)}};
}

// The version rises when a member is removed or means something else.
Members AboutKind(const char* format, const Profile& profile) {
  return {{"format", Quoted(format)},
          {"version", "1"},
          {"kind", Quoted(KindName(profile.data.kind))},
          {"unit", Quoted(UnitName(profile.data.kind))}};
}

bool HasStack(const Pair& pair) { return HasStack(pair.before) && HasStack(pair.after); }

using Head = std::function<Members(Detail)>;

std::string LeftOut(size_t rows, Detail detail, const std::vector<const Profile*>& profiles) {
  size_t notes = 0, files = 0;
  for (const Profile* profile : profiles) {
    if (detail != Detail::kWhole) notes += profile->notes.size();
    files += profile->files.size() - ListSize(profile->files, detail);
  }
  Members members;
  if (rows != 0) members.push_back({"functions", std::to_string(rows)});
  if (notes != 0) members.push_back({"notes", std::to_string(notes)});
  if (files != 0) members.push_back({"profiles", std::to_string(files)});
  return Object(members, ", ");
}

// Leaves out rows from the end until the document has at most `most_bytes` (0: any number), then
// notes, then ends of texts.
std::string BoundedDocument(const Head& head, const std::vector<const Profile*>& profiles,
                            std::vector<std::string> rows, size_t most_bytes) {
  Members members = head(Detail::kWhole);
  members.push_back({"functions", Array(rows)});
  std::string text = Document(members);
  if (most_bytes == 0 || text.size() <= most_bytes) return text;

  constexpr size_t kMostLeftOut = 120;     // bytes of that member
  constexpr size_t kBytesBetweenRows = 6;  // a comma, a new line and four blanks
  size_t bytes = text.size() + kMostLeftOut;
  size_t shown = rows.size();
  while (shown > 0 && bytes > most_bytes) bytes -= rows[--shown].size() + kBytesBetweenRows;
  const size_t left_out = rows.size() - shown;
  rows.resize(shown);
  for (const Detail detail : {Detail::kWhole, Detail::kNoNotes, Detail::kShortTexts}) {
    members = head(detail);
    members.push_back({"left_out", LeftOut(left_out, detail, profiles)});
    members.push_back({"functions", Array(rows)});
    text = Document(members);
    if (text.size() <= most_bytes) break;
  }
  return text;
}

}  // namespace

std::string ToJson(const Profile& profile, const std::vector<Function>& functions,
                   const Bounds& bounds) {
  std::vector<std::string> elements;
  for (size_t i = 0; i < ShownRows(functions.size(), bounds.rows); ++i) {
    elements.push_back(JsonRow(*functions[i].name, Numbers(functions[i].count, HasStack(profile))));
  }
  const auto head = [&profile](Detail detail) {
    Members members = AboutKind("flat report", profile);
    for (auto& member : AboutProfile(profile, detail)) members.push_back(std::move(member));
    return members;
  };
  return BoundedDocument(head, {&profile}, std::move(elements), bounds.most_bytes);
}

std::string ToJson(const Pair& pair, const std::vector<Change>& changes, const Bounds& bounds) {
  std::vector<std::string> elements;
  for (size_t i = 0; i < ShownRows(changes.size(), bounds.rows); ++i) {
    elements.push_back(JsonRow(*changes[i].name, NumbersOf(changes[i], HasStack(pair))));
  }
  const auto head = [&pair](Detail detail) {
    Members members = AboutKind("flat diff", pair.before);
    members.push_back({"before", Object(AboutProfile(pair.before, detail), ", ")});
    members.push_back({"after", Object(AboutProfile(pair.after, detail), ", ")});
    return members;
  };
  return BoundedDocument(head, {&pair.before, &pair.after}, std::move(elements), bounds.most_bytes);
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
