#include "tracker/gates/allocation_report.h"

#include <algorithm>

#include "tracker/gates/framework_frames.h"

namespace allomon {
namespace {

constexpr size_t kShownSites = 10;
constexpr size_t kShownFrames = 16;

uint64_t WeightOf(const AllocationSite& site, AllocationQuantity quantity) {
  if (site.excess_blocks != 0) return site.excess_blocks;
  switch (quantity) {
    case AllocationQuantity::kAllocations:
      return site.allocations;
    case AllocationQuantity::kBytes:
    case AllocationQuantity::kPeakBytes:
      return site.bytes;
    case AllocationQuantity::kLeakedBlocks:
      return site.live_blocks;
  }
  return 0;
}

std::string Count(uint64_t number, const char* noun) {
  return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
}

std::string Headline(const AllocationSite& site, AllocationQuantity quantity) {
  if (quantity == AllocationQuantity::kLeakedBlocks) {
    return Count(site.live_blocks, "block") + " not freed, " + Count(site.live_bytes, "byte");
  }
  std::string text = Count(site.allocations, "allocation") + ", " + Count(site.bytes, "byte");
  if (site.excess_blocks != 0) {
    text += ", " + std::to_string(site.excess_blocks) +
            (quantity == AllocationQuantity::kPeakBytes ? " live when the limit was exceeded"
                                                        : " beyond the limit");
  }
  return text;
}

// The frames within the counted code, and the function that contains it.
std::string DescribeStack(const AllocationSite& site) {
  const auto frames = internal::ReadableFrames(site.callstack, site.inner_frames);
  std::string text;
  for (size_t i = 0; i < std::min(frames.size(), kShownFrames); ++i) {
    text += "      " + ToString(frames[i]) + "\n";
  }
  return frames.size() > kShownFrames ? text + "      ...\n" : text;
}

std::vector<const AllocationSite*> Responsible(const std::vector<AllocationSite>& sites,
                                               AllocationQuantity quantity) {
  const bool has_excess = std::any_of(sites.begin(), sites.end(),
                                      [](const auto& site) { return site.excess_blocks != 0; });
  std::vector<const AllocationSite*> found;
  for (const AllocationSite& site : sites) {
    if (WeightOf(site, quantity) == 0 || (has_excess && site.excess_blocks == 0)) continue;
    found.push_back(&site);
  }
  std::stable_sort(found.begin(), found.end(), [quantity](const auto* a, const auto* b) {
    return WeightOf(*a, quantity) > WeightOf(*b, quantity);
  });
  return found;
}

}  // namespace

uint64_t AllocationReport::Of(AllocationQuantity quantity) const {
  switch (quantity) {
    case AllocationQuantity::kAllocations:
      return allocations;
    case AllocationQuantity::kBytes:
      return bytes;
    case AllocationQuantity::kPeakBytes:
      return peak_bytes;
    case AllocationQuantity::kLeakedBlocks:
      return live_blocks;
  }
  return 0;
}

std::string AllocationReport::DescribeSites(AllocationQuantity quantity) const {
  const std::vector<const AllocationSite*> responsible = Responsible(sites, quantity);
  std::string text;
  for (size_t i = 0; i < std::min(responsible.size(), kShownSites); ++i) {
    text += "  " + Headline(*responsible[i], quantity) + ":\n" + DescribeStack(*responsible[i]);
  }
  if (responsible.size() > kShownSites) {
    text += "  and " + Count(responsible.size() - kShownSites, "more call stack") + "\n";
  }
  return text;
}

}  // namespace allomon
