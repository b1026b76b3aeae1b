#include "tools/report/picture/treemap.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "tracker/base/check.h"

namespace allomon::report {
namespace {

class Divider {
 public:
  Divider(const std::vector<double>& weights, const Rectangle& area)
      : weights_(weights),
        left_(area),
        scale_(area.width * area.height / std::accumulate(weights.begin(), weights.end(), 0.0)) {}

  std::vector<Rectangle> Divide() {
    ALLOMON_DCHECK("inv.report.order", std::is_sorted(weights_.rbegin(), weights_.rend()));
    for (size_t first = 0; first < weights_.size();) {
      const size_t end = RowEnd(first);
      LayRow(first, end);
      first = end;
    }
    ALLOMON_DCHECK_EQ("inv.report.cells", rectangles_.size(), weights_.size());
    return rectangles_;
  }

 private:
  double Area(size_t i) const { return weights_[i] * scale_; }

  // Returns the longer side divided by the shorter side, for the most oblong rectangle of the row.
  double Oblongness(size_t first, size_t end, double row_area) const {
    const double side = std::min(left_.width, left_.height);
    const double squared = side * side / (row_area * row_area);
    return std::max(squared * Area(first), 1 / (squared * Area(end - 1)));
  }

  // Adds rectangles to the row as long as that makes them squarer.
  size_t RowEnd(size_t first) const {
    double area = Area(first);
    double oblongness = Oblongness(first, first + 1, area);
    size_t end = first + 1;
    for (; end < weights_.size(); ++end) {
      const double next = Oblongness(first, end + 1, area + Area(end));
      if (next > oblongness) break;
      oblongness = next;
      area += Area(end);
    }
    return end;
  }

  // Lays the row along the shorter side of the remaining area, and removes it from that area.
  void LayRow(size_t first, size_t end) {
    double area = 0;
    for (size_t i = first; i < end; ++i) area += Area(i);
    const bool column = left_.width >= left_.height;
    const double thickness = area / (column ? left_.height : left_.width);
    double at = column ? left_.y : left_.x;
    for (size_t i = first; i < end; ++i) {
      const double length = Area(i) / thickness;
      rectangles_.push_back(column ? Rectangle{left_.x, at, thickness, length}
                                   : Rectangle{at, left_.y, length, thickness});
      at += length;
    }
    (column ? left_.x : left_.y) += thickness;
    (column ? left_.width : left_.height) -= thickness;
  }

  const std::vector<double>& weights_;
  Rectangle left_;
  const double scale_;
  std::vector<Rectangle> rectangles_;
};

}  // namespace

std::vector<Rectangle> Treemap(const std::vector<double>& weights, const Rectangle& area) {
  if (weights.empty()) return {};
  return Divider(weights, area).Divide();
}

}  // namespace allomon::report
