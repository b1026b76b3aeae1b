// Writes JSON as text that can stand inside a <script> element.
#ifndef ALLOMON_TOOLS_FLAME_JSON_TEXT_H_
#define ALLOMON_TOOLS_FLAME_JSON_TEXT_H_

#include <string>
#include <string_view>

namespace allomon::flame {

// Returns `text` in quotes.  Spells out control characters, bytes that are not UTF-8 and marks that
// turn the direction of writing, so that a reader sees all of them (Printable() in tools/text).
// The result has no `<`, so that it cannot end or open an element.
std::string JsonString(std::string_view text);

// Appends the nearest integer.  NaN and infinities become 0, because JSON has neither.
void AppendWhole(double value, std::string* out);

// Appends three significant digits, which are enough for a variance or a plot.
void AppendRough(double value, std::string* out);

// Returns nine significant digits.  NaN and infinities become 0.
std::string JsonNumber(double value);

// Writes objects and arrays, with the commas.
class JsonWriter {
 public:
  JsonWriter& Begin(char bracket);  // { or [
  JsonWriter& End(char bracket);    // } or ]
  JsonWriter& Key(std::string_view name);
  JsonWriter& String(std::string_view text) { return Raw(JsonString(text)); }
  JsonWriter& Number(double value) { return Raw(JsonNumber(value)); }
  JsonWriter& Whole(double value);
  JsonWriter& Rough(double value);
  JsonWriter& Raw(std::string_view json);

  std::string TakeText() { return std::move(text_); }

 private:
  void Comma();

  std::string text_;
  bool needs_comma_ = false;
};

}  // namespace allomon::flame

#endif  // ALLOMON_TOOLS_FLAME_JSON_TEXT_H_
