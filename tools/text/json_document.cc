#include "tools/text/json_document.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace allomon {
namespace {

constexpr size_t kShortTextBytes = 256;
constexpr char kBetweenRows[] = ",\n    ";
constexpr size_t kBytesBetweenRows = sizeof(kBetweenRows) - 1;

// Most names need no escapes.
bool IsPlain(const std::string& text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return ' ' <= c && c <= '~' && c != '"' && c != '\\'; });
}

// Writes a document with less and less of it.
class Writer {
 public:
  explicit Writer(const JsonDocument& document) : document_(document) {
    for (const JsonDocument::Table& table : document.tables) {
      shown_.push_back(table.rows.size());
      is_cut_ = is_cut_ || table.left_out > 0;
    }
  }

  std::string Text(size_t most_bytes) {
    std::string text = Whole();
    if (most_bytes == 0 || text.size() <= most_bytes) return text;
    is_cut_ = true;
    LeaveOutRows(most_bytes);
    for (const JsonDetail detail :
         {JsonDetail::kWhole, JsonDetail::kNoNotes, JsonDetail::kShortTexts}) {
      detail_ = detail;
      text = Whole();
      if (text.size() <= most_bytes) break;
    }
    return text;
  }

 private:
  void LeaveOutRows(size_t most_bytes) {
    std::vector<size_t> bytes;
    for (const JsonDocument::Table& table : document_.tables) {
      size_t& sum = bytes.emplace_back(0);
      for (const std::string& row : table.rows) sum += row.size() + kBytesBetweenRows;
    }
    size_t whole = Whole().size();
    while (whole > most_bytes) {
      const auto longest = std::max_element(bytes.begin(), bytes.end()) - bytes.begin();
      const auto i = static_cast<size_t>(longest);
      if (bytes.empty() || shown_[i] == 0) return;
      const size_t row = document_.tables[i].rows[--shown_[i]].size() + kBytesBetweenRows;
      bytes[i] -= row;
      whole -= row;
      // The numbers of "left_out" have become longer, perhaps.
      if (whole <= most_bytes) whole = Whole().size();
    }
  }

  std::string LeftOut() const {
    JsonMembers members;
    for (size_t i = 0; i < shown_.size(); ++i) {
      const JsonDocument::Table& table = document_.tables[i];
      members.push_back(
          {table.key, std::to_string(table.left_out + table.rows.size() - shown_[i])});
    }
    for (auto& member : document_.left_out(detail_)) members.push_back(std::move(member));
    const auto is_nothing = [](const auto& member) { return member.second == "0"; };
    members.erase(std::remove_if(members.begin(), members.end(), is_nothing), members.end());
    return JsonObject(members);
  }

  std::string Array(const JsonDocument::Table& table, size_t shown) const {
    std::string array = "[";
    for (size_t i = 0; i < shown; ++i) {
      array += (i == 0 ? kBetweenRows + 1 : kBetweenRows) + table.rows[i];
    }
    return array + "\n  ]";
  }

  std::string Whole() const {
    JsonMembers members = document_.head(detail_);
    if (is_cut_) members.push_back({"left_out", LeftOut()});
    for (size_t i = 0; i < shown_.size(); ++i) {
      members.push_back({document_.tables[i].key, Array(document_.tables[i], shown_[i])});
    }
    std::string object = JsonObject(members, ",\n  ");
    object.insert(1, "\n  ");
    object.insert(object.size() - 1, "\n");
    return object + "\n";
  }

  const JsonDocument& document_;
  std::vector<size_t> shown_;  // of each table, its first rows
  JsonDetail detail_ = JsonDetail::kWhole;
  bool is_cut_ = false;
};

}  // namespace

std::string JsonText(const std::string& text) {
  if (IsPlain(text)) return "\"" + text + "\"";
  return nlohmann::json(text).dump(-1, ' ', /*ensure_ascii=*/true,
                                   nlohmann::json::error_handler_t::replace);
}

std::string JsonObject(const JsonMembers& members, const char* separator) {
  std::string object = "{";
  for (const auto& [key, value] : members) {
    if (object.size() > 1) object += separator;
    object += JsonText(key) + ": " + value;
  }
  return object + "}";
}

std::string ShownText(const std::string& text, JsonDetail detail) {
  return detail == JsonDetail::kShortTexts ? text.substr(0, kShortTextBytes) : text;
}

std::string JsonList(const std::vector<std::string>& texts, JsonDetail detail, JsonDetail most) {
  std::string list;
  if (detail <= most) {
    for (const std::string& text : texts) {
      list += (list.empty() ? "" : ", ") + JsonText(ShownText(text, detail));
    }
  }
  return "[" + list + "]";
}

std::string BoundedJson(const JsonDocument& document, size_t most_bytes) {
  return Writer(document).Text(most_bytes);
}

}  // namespace allomon
