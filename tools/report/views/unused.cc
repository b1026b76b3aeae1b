#include "tools/report/views/unused.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "tools/heap/block_type.h"
#include "tools/heap/heap_profile.h"
#include "tools/heap/held.h"
#include "tools/heap/missing.h"
#include "tools/heap/size_classes.h"
#include "tools/heap/sum_check.h"
#include "tracker/base/check.h"

namespace allomon::views {
namespace {

using heap::Estimate;
using heap::Sample;
using heap::Stack;

// Returns the estimate of `bytes_each` bytes for each block.
Estimate OfEachBlock(const Estimate& blocks, double bytes_each) {
  ALLOMON_DCHECK("inv.heap.class", bytes_each >= 0);
  Estimate estimate = blocks;
  const double bytes = blocks.amount.bytes;
  // Blocks without a sample stand for no larger share of their own bytes.
  estimate.most_bytes = bytes > 0 ? blocks.most_bytes * blocks.amount.blocks * bytes_each / bytes
                                  : blocks.most_blocks * bytes_each;
  estimate.amount.bytes = blocks.amount.blocks * bytes_each;
  estimate.bytes_variance = blocks.blocks_variance * bytes_each * bytes_each;
  estimate.bytes_third = blocks.blocks_third * bytes_each * bytes_each * bytes_each;
  return estimate;
}

bool MayBeOfMalloc(const Sample& sample) {
  return sample.source == heap::Source::kMalloc || sample.source == heap::Source::kUnknown;
}

// --- Rounding.

// A size is "just above" a class if it lacks at most this part of itself.
constexpr uint64_t kMostPartToSave = 8;
// Advice must save this part of a site's rounding.
constexpr double kLeastPartSaved = 8;

// Whether a program can well ask for the next smaller class instead.
bool IsJustAbove(uint64_t size_bytes, uint64_t smaller_bytes) {
  const uint64_t less = size_bytes - smaller_bytes;
  return smaller_bytes > 0 && less <= size_bytes / kMostPartToSave &&
         less <= heap::ClassBytes(size_bytes) - size_bytes;
}

class RoundingSum {
 public:
  explicit RoundingSum(const Scene& scene)
      : scene_(scene), sampling_(heap::SamplingOf(*scene.profile, heap::Metric::kLive)) {}

  Rounding Sum() {
    for (const Stack& stack : scene_.stacks.stacks) Add(stack);
    for (const auto& [key, estimate] : by_size_) Advise(key.second, estimate, &sites_[key.first]);
    for (auto& [frame, site] : sites_) {
      if (site.rounding.amount.bytes <= 0) continue;
      site.frame = frame;
      sum_.sites.push_back(std::move(site));
    }
    std::stable_sort(sum_.sites.begin(), sum_.sites.end(),
                     [](const RoundedSite& a, const RoundedSite& b) {
                       return a.rounding.amount.bytes > b.rounding.amount.bytes;
                     });
    ALLOMON_DCHECK("inv.report.part", heap::IsPartOf(OfSites(), sum_.rounding));
    return std::move(sum_);
  }

 private:
  Estimate OfSites() const {
    Estimate rounding;
    for (const RoundedSite& site : sum_.sites) rounding.Add(site.rounding);
    return rounding;
  }

  void Add(const Stack& stack) {
    const Sample& sample = scene_.SampleOf(stack);
    if (!MayBeOfMalloc(sample)) return;
    sum_.has_sizes = sum_.has_sizes || !sample.sizes.empty();
    double unknown_bytes = heap::Bounded(sample[heap::Metric::kLive]).bytes;
    const bool may_be_in_arena = heap::MayBeInArena(*scene_.profile, sample);
    for (const heap::SizeCell& cell : sample.sizes) {
      if (may_be_in_arena && cell.size_bytes <= heap::kMostArenaBytes) continue;
      unknown_bytes -= cell.amount.bytes;
      AddCell(scene_.stacks.cells[stack.begin], cell,
              heap::EstimateOf(cell.amount, sample, sampling_));
    }
    sum_.unknown_bytes += std::max(unknown_bytes, 0.0);
  }

  void AddCell(uint32_t frame, const heap::SizeCell& cell, const Estimate& estimate) {
    ALLOMON_DCHECK_LE("inv.heap.class", cell.size_bytes, heap::ClassBytes(cell.size_bytes));
    const uint64_t rounding_bytes = heap::ClassBytes(cell.size_bytes) - cell.size_bytes;
    const Estimate rounding = OfEachBlock(estimate, static_cast<double>(rounding_bytes));
    RoundedSite& site = sites_[frame];
    site.asked.Add(estimate);
    site.rounding.Add(rounding);
    sum_.asked.Add(estimate);
    sum_.rounding.Add(rounding);
    if (!cell.is_mean) by_size_[{frame, cell.size_bytes}].Add(estimate);
  }

  void Advise(uint64_t size_bytes, const Estimate& blocks, RoundedSite* site) const {
    const uint64_t smaller_bytes = heap::NextSmallerSize(size_bytes);
    if (!IsJustAbove(size_bytes, smaller_bytes)) return;
    ALLOMON_DCHECK_LT("inv.heap.class", smaller_bytes, size_bytes);
    const auto bytes_each = static_cast<double>(heap::ClassBytes(size_bytes) - smaller_bytes);
    const Estimate saving = OfEachBlock(blocks, bytes_each);
    if (saving.amount.bytes <= site->saving.amount.bytes ||
        saving.amount.bytes * kLeastPartSaved < site->rounding.amount.bytes) {
      return;
    }
    site->size_bytes = size_bytes;
    site->smaller_bytes = smaller_bytes;
    site->saving = saving;
  }

  const Scene& scene_;
  const heap::Sampling sampling_;
  Rounding sum_;
  std::map<uint32_t, RoundedSite> sites_;                      // by frame
  std::map<std::pair<uint32_t, uint64_t>, Estimate> by_size_;  // by frame and size
};

UnusedSite SiteOf(const Sample& sample, bool is_whole) {
  UnusedSite site;
  site.unused = heap::UnusedBy(sample, is_whole);
  for (const heap::UseCell& cell : sample.uses) {
    site.asked.Add(heap::SumOver(cell.weight, cell.size_bytes, is_whole));
    site.untouched_bytes += heap::SumOver(cell.weight, cell.untouched_bytes, true).amount.bytes;
    site.zero_bytes += heap::SumOver(cell.weight, cell.zero_bytes, true).amount.bytes;
  }
  return site;
}

// --- Growth.

constexpr double kLeastRatio = 1.4;  // 1.5, for sizes that are rounded
constexpr double kMostRatio = 2.3;   // 2, and what tables of prime numbers have
constexpr size_t kLeastSizes = 3;
constexpr size_t kLeastSizesUnnamed = 4;
constexpr double kMostBlocksRatio = 2;
constexpr double kWeightsOfLimit = 3.84;  // an upper limit is this many weights above 0

// Parts of the names of functions that replace a container's memory by more.
constexpr std::string_view kGrowing[] = {
    "_M_realloc_insert", "_M_realloc_append", "_M_default_append",
    "_M_range_insert",   "_M_append_range",   "_M_fill_insert",
    "_M_fill_append",    "_M_append",         "_M_mutate",
    "_M_replace_aux",    "_M_reallocate_map", "_M_rehash",
    "_slow_path",        "__append",          "__grow_by",
    "finish_grow",       "grow_amortized",    "do_reserve_and_handle"};

struct SizeSum {
  Estimate estimate;
  double mean_bytes() const { return estimate.amount.bytes / estimate.amount.blocks; }
};

class GrowthSum {
 public:
  explicit GrowthSum(const Scene& scene)
      : scene_(scene),
        sampling_(heap::SamplingOf(*scene.profile, heap::Metric::kAllocated)),
        types_(*scene.profile, scene.stacks) {}

  std::vector<GrownSite> Sum() {
    for (const Stack& stack : scene_.stacks.stacks) Add(stack);
    std::vector<GrownSite> grown;
    for (const auto& [key, sizes] : sites_) {
      GrownSite site;
      std::tie(site.frame, site.holder, site.is_named) = key;
      if (Follow(sizes, &site)) grown.push_back(std::move(site));
    }
    std::stable_sort(grown.begin(), grown.end(), [](const GrownSite& a, const GrownSite& b) {
      return a.copied.amount.bytes > b.copied.amount.bytes;
    });
    return grown;
  }

 private:
  using Key = std::tuple<uint32_t, std::string, bool>;  // frame, holder, is_named
  using Sizes = std::map<uint64_t, SizeSum>;            // by the least size of a class

  bool Grows(const Stack& stack) const {
    for (uint64_t i = stack.innermost; i <= stack.begin; ++i) {
      const std::string& name = scene_.stacks.NameOf(scene_.stacks.cells[i]).text;
      for (const std::string_view part : kGrowing) {
        if (name.find(part) != name.npos) return true;
      }
    }
    return false;
  }

  void Add(const Stack& stack) {
    const Sample& sample = scene_.SampleOf(stack);
    const Estimate estimate = heap::EstimateOf(sample[heap::Metric::kAllocated], sample, sampling_);
    if (!MayBeOfMalloc(sample) || !sample.has_size || estimate.amount.blocks <= 0 ||
        estimate.amount.bytes <= 0) {
      return;
    }
    const Key key(scene_.stacks.cells[stack.begin], types_.Of(stack).holder, Grows(stack));
    sites_[key][sample.size_bytes].estimate.Add(estimate);
  }

  // Fills in the longest chain of sizes.  False if it is no growth.
  static bool Follow(const Sizes& by_class, GrownSite* site) {
    std::vector<SizeSum> sizes;
    for (const auto& [least, sum] : by_class) sizes.push_back(sum);
    const std::vector<size_t> chain = LongestChain(sizes);
    if (chain.size() < (site->is_named ? kLeastSizes : kLeastSizesUnnamed)) return false;
    if (!site->is_named && chain.size() < sizes.size()) return false;
    for (size_t i = 0; i < chain.size(); ++i) {
      const SizeSum& size = sizes[chain[i]];
      site->sizes.push_back(size.mean_bytes());
      site->largest_blocks = size.estimate.amount.blocks;
      if (i == 0) continue;
      const SizeSum& before = sizes[chain[i - 1]];
      const double most = before.estimate.amount.blocks * kMostBlocksRatio;
      if (!site->is_named && site->largest_blocks > most) return false;
      site->copied.Add(OfEachBlock(size.estimate, before.mean_bytes()));
    }
    // Smaller sizes may be there of which no block was sampled.  All copies up to the first size
    // add up to no more than its blocks; the upper limit has that much room.
    const Estimate& first = sizes[chain.front()].estimate;
    if (first.bytes_variance > 0) {
      const double room_bytes = first.amount.bytes / kWeightsOfLimit;
      site->copied.most_bytes = std::max(site->copied.most_bytes, room_bytes);
    }
    return true;
  }

  // Returns the numbers of the sizes, ascending.
  static std::vector<size_t> LongestChain(const std::vector<SizeSum>& sizes) {
    std::vector<size_t> length(sizes.size(), 1), before(sizes.size(), SIZE_MAX);
    size_t last = 0;
    for (size_t i = 0; i < sizes.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        const double ratio = sizes[i].mean_bytes() / sizes[j].mean_bytes();
        if (ratio < kLeastRatio || ratio > kMostRatio || length[j] < length[i]) continue;
        length[i] = length[j] + 1;
        before[i] = j;
      }
      if (length[i] >= length[last]) last = i;
    }
    std::vector<size_t> chain;
    for (size_t i = last; i < sizes.size(); i = before[i]) chain.push_back(i);
    std::reverse(chain.begin(), chain.end());
    return chain;
  }

  const Scene& scene_;
  const heap::Sampling sampling_;
  heap::BlockTypes types_;
  std::map<Key, Sizes> sites_;
};

}  // namespace

Rounding RoundingOf(const Scene& scene) { return RoundingSum(scene).Sum(); }

UnusedSum UnusedOf(const Scene& scene) {
  const bool is_whole = heap::IsWhole(scene.profile->missing, heap::Metric::kLive);
  UnusedSum sum;
  std::map<uint32_t, UnusedSite> sites;  // by frame
  for (const Stack& stack : scene.stacks.stacks) {
    const Sample& sample = scene.SampleOf(stack);
    if (sample.uses.empty()) continue;
    const UnusedSite more = SiteOf(sample, is_whole);
    UnusedSite& site = sites[scene.stacks.cells[stack.begin]];
    site.unused.Add(more.unused);
    site.asked.Add(more.asked);
    site.untouched_bytes += more.untouched_bytes;
    site.zero_bytes += more.zero_bytes;
    sum.unused.Add(more.unused);
    sum.asked.Add(more.asked);
  }
  for (auto& [frame, site] : sites) {
    if (site.unused.amount.bytes <= 0) continue;
    site.frame = frame;
    sum.sites.push_back(std::move(site));
  }
  std::stable_sort(sum.sites.begin(), sum.sites.end(),
                   [](const UnusedSite& a, const UnusedSite& b) {
                     return a.unused.amount.bytes > b.unused.amount.bytes;
                   });
  return sum;
}

std::vector<GrownSite> GrowthBySizes(const Scene& scene) { return GrowthSum(scene).Sum(); }

}  // namespace allomon::views
