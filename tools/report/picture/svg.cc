#include "tools/report/picture/svg.h"

#include <cstdio>

#include "tools/text/names.h"
#include "tools/text/plain_text.h"

namespace allomon::report {
namespace {

// The width of a letter as a share of the font's size.  Viewers do not tell the width of their
// fonts.  An average letter of Helvetica and DejaVu Sans is between 0.5 and 0.6 wide, in bold a
// tenth more, so this value is rarely too small.
constexpr double kLetterWidth = 0.6;
constexpr double kBoldLetterWidth = 0.7;

// The distance of two lines of a name, as a share of the font's size.
constexpr double kNameLines = 1.2;

std::string Number(double value) {
  char text[400];
  snprintf(text, sizeof text, "%.2f", value);
  return text;
}

std::string Attribute(const char* name, const std::string& value) {
  return std::string(" ") + name + "=\"" + value + "\"";
}

std::string Attribute(const char* name, double value) { return Attribute(name, Number(value)); }

int Letters(double room, const Svg::TextStyle& style) {
  return static_cast<int>(room / (style.size * (style.bold ? kBoldLetterWidth : kLetterWidth)));
}

std::string Shown(const std::string& raw) { return XmlEscaped(Printable(raw, Charset::kUtf8)); }

}  // namespace

Svg::Svg(double width, double height)
    : body_(
          "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\"" +
          Attribute("width", width) + Attribute("height", height) +
          Attribute("viewBox", "0 0 " + Number(width) + " " + Number(height)) +
          " font-family=\"Helvetica, Arial, DejaVu Sans, sans-serif\">\n"
          "<defs><pattern id=\"gc\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
          "patternTransform=\"rotate(45)\"><rect width=\"6\" height=\"6\" fill=\"#eef1f4\"/>"
          "<rect width=\"2.5\" height=\"6\" fill=\"#8593a3\"/></pattern></defs>\n") {
  Box({0, 0, width, height}, "#ffffff", {});
}

void Svg::Box(const Rectangle& box, const std::string& fill, const Lines& tooltip) {
  if (box.width <= 0 || box.height <= 0) return;
  body_ += "<rect" + Attribute("x", box.x) + Attribute("y", box.y) + Attribute("width", box.width) +
           Attribute("height", box.height) + Attribute("fill", fill);
  // Escapes each line by itself, because a newline within a name must not start another line.
  std::string title;
  for (const std::string& line : tooltip) title += (title.empty() ? "" : "\n") + Shown(line);
  body_ += title.empty() ? "/>\n" : "><title>" + title + "</title></rect>\n";
}

void Svg::Text(double x, double y, double room, const std::string& text, const TextStyle& style) {
  const std::string shown = Printable(text, Charset::kUtf8);
  Shape(x, y, CutToEnd(shown, Letters(room, style), Charset::kUtf8), style);
}

int Svg::Name(double x, double y, double room, const std::string& name, const TextStyle& style,
              int most_lines) {
  const int letters = Letters(room, style);
  const std::string shown = Printable(name, Charset::kUtf8);
  const std::string both = ClassAndFunction(shown);
  const size_t colons = both.rfind("::");
  if (most_lines == 1 || colons == std::string::npos || Columns(both) <= letters) {
    Shape(x, y, FitName(shown, letters, Charset::kUtf8), style);
    return 1;
  }
  const size_t function = colons + 2;
  Shape(x, y, CutToBeginning(both.substr(0, function), letters, Charset::kUtf8), style);
  Shape(x, y + kNameLines * style.size, FitName(both.substr(function), letters, Charset::kUtf8),
        style);
  return 2;
}

void Svg::Shape(double x, double y, const std::string& cut, const TextStyle& style) {
  if (cut.empty()) return;
  body_ += "<text" + Attribute("x", x) + Attribute("y", y) + Attribute("font-size", style.size) +
           Attribute("fill", style.fill) + (style.bold ? " font-weight=\"bold\"" : "") +
           (style.anchor == Anchor::kEnd ? " text-anchor=\"end\"" : "") +
           // The text ignores the pointer, so that it does not hide the tooltip of its tile.
           " pointer-events=\"none\">" + XmlEscaped(cut) + "</text>\n";
}

void Svg::Line(double x1, double y1, double x2, double y2) {
  body_ += "<line" + Attribute("x1", x1) + Attribute("y1", y1) + Attribute("x2", x2) +
           Attribute("y2", y2) + " stroke=\"#c4ccd4\"/>\n";
}

std::string Svg::Finish() const { return body_ + "</svg>\n"; }

}  // namespace allomon::report
