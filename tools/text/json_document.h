// Writes an object of JSON with arrays of rows, of a bounded size.
//
// Any thread.  Allocates; no other failures.
#ifndef ALLOMON_TOOLS_TEXT_JSON_DOCUMENT_H_
#define ALLOMON_TOOLS_TEXT_JSON_DOCUMENT_H_

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace allomon {

// Returns a string of JSON.  U+FFFD replaces bytes that are not UTF-8; other characters than those
// of ASCII are escaped.
std::string JsonText(const std::string& text);

// Keys, and values that are JSON already.
using JsonMembers = std::vector<std::pair<std::string, std::string>>;

// Returns the object, with `separator` between two members.
std::string JsonObject(const JsonMembers& members, const char* separator = ", ");

// The parts of a document that are left out one after the other, if it is too long without its rows
// as well.
enum class JsonDetail { kWhole, kNoNotes, kShortTexts };

// Returns the text, or its first 256 bytes with kShortTexts.
std::string ShownText(const std::string& text, JsonDetail detail);
// Returns the list as JSON, or an empty one if the detail is beyond `most`.
std::string JsonList(const std::vector<std::string>& texts, JsonDetail detail, JsonDetail most);

struct JsonDocument {
  struct Table {
    std::string key;
    std::vector<std::string> rows;  // values
    size_t left_out = 0;            // rows that are not among them
  };

  std::function<JsonMembers(JsonDetail)> head;
  // The numbers by key of what the head leaves out; those that are "0" are not shown.
  std::function<JsonMembers(JsonDetail)> left_out;
  std::vector<Table> tables;
};

// Returns the head, "left_out" if the bound or a table has left something out, and each table as an
// array.
//
// The text has at most `most_bytes`; 0: any number.  Rows at the end of the longest table are left
// out for that, so that each table keeps its first ones, and then what JsonDetail says.  The head
// with kShortTexts is not bounded further.  Cost: linear in the rows.
std::string BoundedJson(const JsonDocument& document, size_t most_bytes);

}  // namespace allomon

#endif  // ALLOMON_TOOLS_TEXT_JSON_DOCUMENT_H_
