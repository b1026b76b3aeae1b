#include <algorithm>
#include <array>
#include <optional>

#include "tools/heap/heap_profile.h"
#include "tools/report/table/cells.h"
#include "tools/report/views/all_views.h"
#include "tracker/base/check.h"

namespace allomon::views {
namespace {

using heap::Estimate;

constexpr size_t kBuckets = 65;  // 0: no bytes; k: from 2^(k-1) on

size_t BucketOf(uint64_t size_bytes) {
  return size_bytes == 0 ? 0 : 64 - static_cast<size_t>(__builtin_clzll(size_bytes));
}

// Returns the size of the sample's class; without a class, the mean of its blocks.
std::optional<uint64_t> SizeOf(const heap::Sample& sample) {
  if (sample.has_size) return sample.size_bytes;
  for (const heap::Amount& amount : sample.amounts) {
    const double mean = amount.blocks > 0 ? amount.bytes / amount.blocks : -1;
    if (mean >= 0 && mean < 1e18) return static_cast<uint64_t>(mean);
  }
  return std::nullopt;
}

double LeastSize(size_t bucket) {
  return bucket == 0 ? 0 : static_cast<double>(uint64_t{1} << (bucket - 1));
}

std::string BucketText(size_t bucket) {
  const std::string least = AmountText(LeastSize(bucket), false);
  return bucket < 2 ? least : "from " + least;
}

class SizesView {
 public:
  explicit SizesView(const Scene& scene) : scene_(scene) {
    for (size_t i = 0; i < scene.stacks.stacks.size(); ++i) {
      const auto size = SizeOf(scene.SampleOf(scene.stacks.stacks[i]));
      if (!size.has_value()) continue;
      ALLOMON_DCHECK_LT("inv.report.bucket", BucketOf(*size), buckets_.size());
      buckets_[BucketOf(*size)].Add(scene.values[i]);
      known_ = true;
    }
  }

  bool known() const { return known_; }

  Table Make() const {
    Table table;
    table.key = "sizes";
    table.columns = {{"", "size"}, {"least_bytes", ""}};
    AddAmountColumns(BytesStyle(scene_), &table);
    AddAmountColumns(BlocksStyle(scene_), &table);
    table.columns.push_back({"", "", Column::Kind::kBar, kDropBar});
    for (size_t i = 0; i < kBuckets; ++i) {
      if (IsUsed(i)) table.rows.push_back(CellsOf(i));
    }
    return table;
  }

 private:
  bool IsUsed(size_t bucket) const {
    const heap::Amount& amount = buckets_[bucket].amount;
    return amount.bytes != 0 || amount.blocks != 0;
  }
  std::vector<Cell> CellsOf(size_t bucket) const {
    const Estimate& estimate = buckets_[bucket];
    std::vector<Cell> cells = {TextCell(BucketText(bucket)), DataCell(LeastSize(bucket))};
    AddAmountCells(BytesStyle(scene_), estimate, scene_.whole.amount.bytes, &cells);
    AddAmountCells(BlocksStyle(scene_), estimate, scene_.whole.amount.blocks, &cells);
    Cell bar;
    bar.own = PercentOf(estimate.amount.bytes, scene_.whole.amount.bytes) / 100;
    bar.paint = PaintOf(100 * bar.own);
    cells.push_back(bar);
    return cells;
  }

  const Scene& scene_;
  std::array<Estimate, kBuckets> buckets_;
  bool known_ = false;
};

}  // namespace

absl::Status AddSizes(const Scene& scene, Report* report) {
  const SizesView view(scene);
  if (!view.known() && !scene.stacks.stacks.empty()) {
    return absl::InvalidArgumentError(
        "no sizes are known: the file counts neither blocks nor sizes; a recording has them "
        "(allomon run -- PROGRAM)");
  }
  report->tables.push_back(view.Make());
  return absl::OkStatus();
}

}  // namespace allomon::views
