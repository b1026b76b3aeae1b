// Writes the shapes of SVG 1.1 that the pictures consist of.
#ifndef ALLOMON_TOOLS_REPORT_PICTURE_SVG_H_
#define ALLOMON_TOOLS_REPORT_PICTURE_SVG_H_

#include <string>
#include <vector>

#include "tools/report/picture/treemap.h"

namespace allomon::report {

// A document.  Shapes cover the ones drawn before them.  Texts may contain any bytes: bytes that
// cannot be shown are escaped.
class Svg {
 public:
  Svg(double width, double height);

  // Lines of a tooltip, which a viewer shows at the pointer.  An empty vector makes no tooltip.
  using Lines = std::vector<std::string>;

  // `fill` is a colour, or a pattern's "url(#name)".
  void Box(const Rectangle& box, const std::string& fill, const Lines& tooltip);

  enum class Anchor { kStart, kEnd };
  struct TextStyle {
    double size = 13;  // the height of a line in pixels
    bool bold = false;
    std::string fill = "#1f2933";
    Anchor anchor = Anchor::kStart;
  };
  // Draws a text whose base line begins, or ends, at x and y.  Cuts off its start if it needs more
  // than about `room` pixels.
  void Text(double x, double y, double room, const std::string& text, const TextStyle& style);

  // Draws a function's name, as Text() does, but shortened by FitName().  If class and function do
  // not fit on one line, and two are allowed, each gets its own.  Returns the number of lines.
  int Name(double x, double y, double room, const std::string& name, const TextStyle& style,
           int most_lines = 1);

  void Line(double x1, double y1, double x2, double y2);

  // Returns the whole document.
  std::string Finish() const;

 private:
  void Shape(double x, double y, const std::string& cut, const TextStyle& style);

  std::string body_;
};

}  // namespace allomon::report

#endif  // ALLOMON_TOOLS_REPORT_PICTURE_SVG_H_
