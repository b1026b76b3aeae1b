#ifndef ALLOMON_TOOLS_REPORT_TREEMAP_H_
#define ALLOMON_TOOLS_REPORT_TREEMAP_H_

#include <vector>

namespace allomon::report {

struct Rectangle {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;
};

// Divides `area` among `weights` (above 0, descending), each as much as its share, as close
// to squares as a greedy choice gets: the squarified treemap of Bruls, Huizing and van Wijk
// (2000).  The rectangles in the order of the weights; they overlap nowhere and leave nothing
// out.  O(n^2) at worst, for a row of equals; meant for some hundred.
std::vector<Rectangle> Treemap(const std::vector<double>& weights, const Rectangle& area);

}  // namespace allomon::report

#endif  // ALLOMON_TOOLS_REPORT_TREEMAP_H_
