#ifndef ALLOMON_TOOLS_REPORT_PICTURE_TREEMAP_H_
#define ALLOMON_TOOLS_REPORT_PICTURE_TREEMAP_H_

#include <vector>

namespace allomon::report {

struct Rectangle {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;
};

// Divides `area` among `weights` (above 0, descending) by their shares.  The rectangles are as
// close to squares as a greedy choice gets: the squarified treemap of Bruls, Huizing and van Wijk
// (2000).  They are in the order of the weights, do not overlap, and leave nothing uncovered.
// O(n^2) at worst, for a row of equal weights; meant for some hundred.
std::vector<Rectangle> Treemap(const std::vector<double>& weights, const Rectangle& area);

}  // namespace allomon::report

#endif  // ALLOMON_TOOLS_REPORT_PICTURE_TREEMAP_H_
