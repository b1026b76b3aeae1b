// The few shapes of SVG 1.1 that the pictures are made of.
#ifndef ALLOMON_TOOLS_REPORT_SVG_H_
#define ALLOMON_TOOLS_REPORT_SVG_H_

#include <string>

#include "tools/report/treemap.h"

namespace allomon::report {

// A document, built from its first shape on; later ones cover earlier ones.  Texts may hold
// any bytes: what cannot be shown is escaped.
class Svg {
 public:
  Svg(double width, double height);

  // `fill` is a colour, or a pattern's "url(#name)"; `tooltip` may be empty.
  void Box(const Rectangle& box, const std::string& fill, const std::string& tooltip);

  enum class Anchor { kStart, kEnd };
  struct TextStyle {
    double size = 13;  // of a line, in pixels
    bool bold = false;
    std::string fill = "#1f2933";
    Anchor anchor = Anchor::kStart;
  };
  // Its base line begins, or ends, at x and y.  Cut, from its start, to some `room` pixels.
  void Text(double x, double y, double room, const std::string& text, const TextStyle& style);

  void Line(double x1, double y1, double x2, double y2);

  // The document, with its end.
  std::string Finish() const;

 private:
  std::string body_;
};

}  // namespace allomon::report

#endif  // ALLOMON_TOOLS_REPORT_SVG_H_
