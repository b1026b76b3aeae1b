// JSON as text, for inside of a <script> element.
#ifndef ALLOMON_TOOLS_FLAME_JSON_TEXT_H_
#define ALLOMON_TOOLS_FLAME_JSON_TEXT_H_

#include <string>
#include <string_view>

namespace allomon::flame {

// `text` in quotes.  What it holds is shown, whatever its origin: control characters, bytes that
// are not UTF-8 and marks that turn the direction of writing are spelled out (Printable() in
// tools/text).  No `<` is left, so that nothing in it can end or open an element.
std::string JsonString(std::string_view text);

// The nearest integer.  What is no number, or is infinite, is 0, as JSON has neither.
void AppendWhole(double value, std::string* out);

// Three digits that count, which are enough for a variance or a plot.
void AppendRough(double value, std::string* out);

// Nine digits that count.  What is no number, or is infinite, is 0.
std::string JsonNumber(double value);

// Objects and arrays, with commas where they belong.
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
