#include <cmath>
#include <cstdio>

#include "tools/report/table/outputs.h"
#include "tools/text/json_document.h"
#include "tools/text/plain_text.h"
#include "tracker/base/check.h"

namespace allomon::views {
namespace {

// Writes integers and large numbers with all their digits.
std::string NumberText(double number) {
  if (!std::isfinite(number)) return "null";
  char text[40];
  const double size = std::fabs(number);
  const bool is_whole = (number == std::floor(number) || size >= 1e6) && size < 1e15;
  snprintf(text, sizeof text, is_whole ? "%.0f" : "%.8g", number);
  return text;
}

std::string JsonOf(const Data& data) {
  if (const auto* text = std::get_if<std::string>(&data)) return JsonText(*text);
  if (const auto* number = std::get_if<double>(&data)) return NumberText(*number);
  if (const auto* truth = std::get_if<bool>(&data)) return *truth ? "true" : "false";
  return "null";
}

std::string JsonRow(const Table& table, const std::vector<Cell>& row) {
  ALLOMON_DCHECK_EQ("inv.report.cells", row.size(), table.columns.size());
  JsonMembers members;
  for (size_t i = 0; i < row.size(); ++i) {
    if (table.columns[i].key.empty()) continue;
    members.push_back({table.columns[i].key, JsonOf(row[i].data)});
  }
  return JsonObject(members);
}

Data Shown(const Data& data, JsonDetail detail) {
  const auto* text = std::get_if<std::string>(&data);
  return text == nullptr ? data : Data(ShownText(*text, detail));
}

JsonMembers HeadOf(const Report& report, JsonDetail detail) {
  JsonMembers members;
  for (const Fact& fact : report.facts) {
    members.push_back({fact.key, JsonOf(Shown(fact.data, detail))});
  }
  members.push_back({"next", JsonList(report.next, detail, JsonDetail::kNoNotes)});
  members.push_back({"notes", JsonList(report.notes, detail, JsonDetail::kWhole)});
  return members;
}

JsonMembers LeftOutOf(const Report& report, JsonDetail detail) {
  const size_t notes = detail == JsonDetail::kWhole ? 0 : report.notes.size();
  return {{"notes", std::to_string(notes)}};
}

std::string CsvText(const std::string& raw) {
  const std::string text = Printable(raw, Charset::kUtf8);
  if (text.find_first_of(",\"") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + "\"";
}

std::string CsvOf(const Data& data) {
  if (const auto* text = std::get_if<std::string>(&data)) return CsvText(*text);
  return std::holds_alternative<std::monostate>(data) ? "" : JsonOf(data);
}

std::string CsvTable(const Table& table) {
  std::string text;
  for (const Column& column : table.columns) {
    if (!column.key.empty()) text += (text.empty() ? "" : ",") + column.key;
  }
  text += "\n";
  for (size_t r = 0; r < table.DataRows(); ++r) {
    const std::vector<Cell>& row = table.rows[r];
    ALLOMON_DCHECK_EQ("inv.report.cells", row.size(), table.columns.size());
    std::string line;
    bool is_first = true;
    for (size_t i = 0; i < row.size(); ++i) {
      if (table.columns[i].key.empty()) continue;
      line += (is_first ? "" : ",") + CsvOf(row[i].data);
      is_first = false;
    }
    text += line + "\n";
  }
  return text;
}

}  // namespace

std::string ToJson(const Report& report, size_t most_bytes) {
  JsonDocument document;
  document.head = [&report](JsonDetail detail) { return HeadOf(report, detail); };
  document.left_out = [&report](JsonDetail detail) { return LeftOutOf(report, detail); };
  for (const Table& table : report.tables) {
    auto& rows =
        document.tables.emplace_back(JsonDocument::Table{table.key, {}, table.left_out}).rows;
    for (size_t i = 0; i < table.DataRows(); ++i) rows.push_back(JsonRow(table, table.rows[i]));
  }
  return BoundedJson(document, most_bytes);
}

std::string ToCsv(const Report& report) {
  std::string text;
  for (const Table& table : report.tables) text += (text.empty() ? "" : "\n") + CsvTable(table);
  return text;
}

}  // namespace allomon::views
