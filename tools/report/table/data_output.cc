#include <algorithm>
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

// Texts of a report that has to be short.
constexpr size_t kShortText = 256;

Data Shortened(const Data& data) {
  const auto* text = std::get_if<std::string>(&data);
  return text == nullptr ? data : Data(text->substr(0, kShortText));
}

// A report as its parts, from which some are left out.
class JsonReport {
 public:
  explicit JsonReport(const Report& report) : report_(report) {
    for (const Table& table : report.tables) {
      auto& rows = rows_.emplace_back();
      for (const auto& row : table.rows) rows.push_back("\n    " + JsonRow(table, row));
    }
    for (const auto& rows : rows_) shown_.push_back(rows.size());
  }

  std::string Text(size_t most_bytes) {
    std::string text = Whole();
    if (most_bytes == 0 || text.size() <= most_bytes) return text;
    is_cut_ = true;
    LeaveOutRows(most_bytes);
    if (text = Whole(); text.size() <= most_bytes) return text;
    has_notes_ = false;
    if (text = Whole(); text.size() <= most_bytes) return text;
    has_short_texts_ = true;
    return Whole();
  }

 private:
  static constexpr size_t kCommaBytes = 1;

  // From the end of the longest table, so that each table keeps its largest rows.
  void LeaveOutRows(size_t most_bytes) {
    std::vector<size_t> bytes;
    for (const auto& rows : rows_) {
      size_t& sum = bytes.emplace_back(0);
      for (const std::string& row : rows) sum += row.size() + kCommaBytes;
    }
    size_t whole = Whole().size();
    while (whole > most_bytes) {
      const auto longest = std::max_element(bytes.begin(), bytes.end()) - bytes.begin();
      const auto i = static_cast<size_t>(longest);
      if (bytes.empty() || shown_[i] == 0) return;
      const size_t row = rows_[i][--shown_[i]].size() + kCommaBytes;
      bytes[i] -= row;
      whole -= row;
      // The numbers of "left_out" have become longer, perhaps.
      if (whole <= most_bytes) whole = Whole().size();
    }
  }

  void Add(const std::string& key, const std::string& value, std::string* text) const {
    *text += (text->empty() ? "{\n  " : ",\n  ") + Quoted(key) + ": " + value;
  }

  static std::string ListOf(const std::vector<std::string>& texts) {
    std::string list;
    for (const std::string& text : texts) list += (list.empty() ? "" : ", ") + Quoted(text);
    return "[" + list + "]";
  }

  std::string LeftOut() const {
    std::string text;
    const auto add = [&text](const std::string& key, size_t number) {
      if (number == 0) return;
      text += (text.empty() ? "" : ", ") + Quoted(key) + ": " + std::to_string(number);
    };
    for (size_t i = 0; i < rows_.size(); ++i) {
      add(report_.tables[i].key, rows_[i].size() - shown_[i]);
    }
    if (!has_notes_) add("notes", report_.notes.size());
    return "{" + text + "}";
  }

  std::string Whole() const {
    std::string text;
    for (const Fact& fact : report_.facts) {
      Add(fact.key, JsonOf(has_short_texts_ ? Shortened(fact.data) : fact.data), &text);
    }
    Add("next", has_short_texts_ ? "[]" : ListOf(report_.next), &text);
    Add("notes", has_notes_ ? ListOf(report_.notes) : "[]", &text);
    if (is_cut_) Add("left_out", LeftOut(), &text);
    for (size_t i = 0; i < rows_.size(); ++i) {
      std::string table;
      for (size_t row = 0; row < shown_[i]; ++row) table += (row == 0 ? "" : ",") + rows_[i][row];
      Add(report_.tables[i].key, "[" + table + "\n  ]", &text);
    }
    return text + "\n}\n";
  }

  const Report& report_;
  std::vector<std::vector<std::string>> rows_;  // by table
  std::vector<size_t> shown_;                   // of each table, its first rows
  bool is_cut_ = false;
  bool has_notes_ = true;
  bool has_short_texts_ = false;
};

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

std::string ToJson(const Report& report, size_t most_bytes) {
  return JsonReport(report).Text(most_bytes);
}

std::string ToCsv(const Report& report) {
  std::string text;
  for (const Table& table : report.tables) text += (text.empty() ? "" : "\n") + CsvTable(table);
  return text;
}

}  // namespace allomon::views
