#include "tools/flame/json_text.h"

#include <charconv>
#include <cmath>
#include <cstdio>

#include "tools/text/plain_text.h"

namespace allomon::flame {
namespace {

constexpr double kMostExact = 9007199254740992.0;  // 2^53: larger integers are not all exact

void AppendFormatted(const char* format, double value, std::string* out) {
  char text[64];
  snprintf(text, sizeof text, format, value);
  out->append(text);
}

}  // namespace

std::string JsonString(std::string_view text) {
  std::string json = "\"";
  for (char c : Printable(text, Charset::kUtf8)) {
    if (c == '<') {
      json += "\\u003c";
    } else {
      if (c == '"' || c == '\\') json += '\\';
      json += c;
    }
  }
  return json + "\"";
}

void AppendWhole(double value, std::string* out) {
  if (!std::isfinite(value)) value = 0;
  if (std::fabs(value) >= kMostExact) return AppendFormatted("%.17g", value, out);
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, std::llround(value)).ptr;
  out->append(text, end);
}

void AppendRough(double value, std::string* out) {
  if (!std::isfinite(value)) value = 0;
  AppendFormatted("%.3g", value, out);
}

std::string JsonNumber(double value) {
  std::string text;
  AppendFormatted("%.9g", std::isfinite(value) ? value : 0, &text);
  return text;
}

JsonWriter& JsonWriter::Begin(char bracket) {
  Comma();
  text_ += bracket;
  needs_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::End(char bracket) {
  text_ += bracket;
  needs_comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::Key(std::string_view name) {
  Raw(JsonString(name));
  text_ += ':';
  needs_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::Whole(double value) {
  Comma();
  AppendWhole(value, &text_);
  return *this;
}

JsonWriter& JsonWriter::Rough(double value) {
  Comma();
  AppendRough(value, &text_);
  return *this;
}

JsonWriter& JsonWriter::Raw(std::string_view json) {
  Comma();
  text_ += json;
  return *this;
}

void JsonWriter::Comma() {
  if (needs_comma_) text_ += ',';
  needs_comma_ = true;
}

}  // namespace allomon::flame
