#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "tools/report/table/outputs.h"
#include "tools/text/plain_text.h"
#include "tracker/base/check.h"

namespace allomon::views {
namespace {

std::string Quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', /*ensure_ascii=*/true,
                                   nlohmann::json::error_handler_t::replace);
}

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
  if (const auto* text = std::get_if<std::string>(&data)) return Quoted(*text);
  if (const auto* number = std::get_if<double>(&data)) return NumberText(*number);
  if (const auto* truth = std::get_if<bool>(&data)) return *truth ? "true" : "false";
  return "null";
}

std::string JsonRow(const Table& table, const std::vector<Cell>& row) {
  ALLOMON_DCHECK_EQ("inv.report.cells", row.size(), table.columns.size());
  std::string text;
  for (size_t i = 0; i < row.size(); ++i) {
    if (table.columns[i].key.empty()) continue;
    text += (text.empty() ? "" : ", ") + Quoted(table.columns[i].key) + ": " + JsonOf(row[i].data);
  }
  return "{" + text + "}";
}

std::string JsonTable(const Table& table) {
  std::string text;
  for (const auto& row : table.rows) {
    text += (text.empty() ? "\n    " : ",\n    ") + JsonRow(table, row);
  }
  return "[" + text + "\n  ]";
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
  for (const auto& row : table.rows) {
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

std::string ToJson(const Report& report) {
  std::string text;
  const auto add = [&text](const std::string& key, const std::string& value) {
    text += (text.empty() ? "{\n  " : ",\n  ") + Quoted(key) + ": " + value;
  };
  for (const Fact& fact : report.facts) add(fact.key, JsonOf(fact.data));
  std::string notes;
  for (const std::string& note : report.notes) notes += (notes.empty() ? "" : ", ") + Quoted(note);
  add("notes", "[" + notes + "]");
  for (const Table& table : report.tables) add(table.key, JsonTable(table));
  return text + "\n}\n";
}

std::string ToCsv(const Report& report) {
  std::string text;
  for (const Table& table : report.tables) text += (text.empty() ? "" : "\n") + CsvTable(table);
  return text;
}

}  // namespace allomon::views
