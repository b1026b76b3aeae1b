#include "tools/mlprof/row_order.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

namespace allomon::mlprof {
namespace {

// The random numbers of MLton's library: constants of Numerical Recipes, seed 13.
class PivotGenerator {
 public:
  // The library draws one number while it is initialized.
  PivotGenerator() { Next(); }

  // Returns a number in low .. high, by the remainder with the divisor's sign.
  int64_t Between(int64_t low, int64_t high) {
    const int64_t range = high - low + 1;
    const int64_t remainder = static_cast<int32_t>(Next()) % range;
    return low + (remainder < 0 ? remainder + range : remainder);
  }

 private:
  uint32_t Next() { return state_ = 1664525u * state_ + 1013904223u; }

  uint32_t state_ = 13;
};

class Sorter {
 public:
  explicit Sorter(const std::vector<double>& percents)
      : percents_(percents), order_(percents.size()) {
    std::iota(order_.begin(), order_.end(), size_t{0});
  }

  std::vector<size_t> Sort() {
    if (order_.empty()) return order_;
    const int64_t last = static_cast<int64_t>(order_.size()) - 1;
    // The smallest element is a sentinel: Partition runs upwards without checking for the end.
    auto smallest = std::min_element(percents_.begin(), percents_.end());
    Swap(smallest - percents_.begin(), last);
    QuickSort(0, last - 1);
    InsertionSort();
    return order_;
  }

 private:
  double At(int64_t i) const { return percents_[order_[i]]; }
  void Swap(int64_t i, int64_t j) { std::swap(order_[i], order_[j]); }

  // Leaves runs of up to kShortRun + 1 elements unsorted.  The stack is explicit, since the
  // recursion may be deep.  The left part is sorted before the right one, because both draw from
  // the same generator.
  void QuickSort(int64_t low, int64_t high) {
    constexpr int64_t kShortRun = 20;
    std::vector<std::pair<int64_t, int64_t>> todo = {{low, high}};
    while (!todo.empty()) {
      auto [l, u] = todo.back();
      todo.pop_back();
      if (u - l <= kShortRun) continue;
      auto [left_end, right_start] = Partition(l, u);
      todo.push_back({right_start, u});
      todo.push_back({l, left_end});
    }
  }

  // Puts elements of at least the pivot before it, and elements of at most the pivot after it.  The
  // scans from both sides stop at equal elements, so that these split evenly.
  std::pair<int64_t, int64_t> Partition(int64_t low, int64_t high) {
    Swap(low, pivots_.Between(low, high));
    const double pivot = At(low);
    int64_t i = low;
    int64_t j = high + 1;
    while (true) {
      while (At(++i) > pivot) {
      }
      while (At(--j) < pivot) {
      }
      if (j < i) break;
      Swap(i, j);
    }
    Swap(low, j);
    return {j - 1, i};
  }

  void InsertionSort() {
    for (size_t i = 1; i < order_.size(); ++i) {
      const size_t element = order_[i];
      size_t j = i;
      for (; j > 0 && percents_[order_[j - 1]] < percents_[element]; --j) {
        order_[j] = order_[j - 1];
      }
      order_[j] = element;
    }
  }

  const std::vector<double>& percents_;
  std::vector<size_t> order_;
  PivotGenerator pivots_;
};

}  // namespace

std::vector<size_t> RowOrder(const std::vector<double>& percents) {
  return Sorter(percents).Sort();
}

}  // namespace allomon::mlprof
