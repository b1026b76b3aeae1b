#include "tools/load/load_sum.h"

#include <cstddef>
#include <utility>

#include "tools/heap/join.h"
#include "tracker/names/base_name.h"

namespace allomon::load {
namespace {

// Returns why two profiles must not be added up; empty if they may.
std::string WhyNot(const heap::HeapProfile& sum, const heap::HeapProfile& other) {
  const std::string why_not = WhyNotOneProgram(sum, other);
  if (!why_not.empty()) return why_not;
  for (size_t i = 0; i < heap::kMetrics; ++i) {
    if (sum.has[i] && other.has[i]) return "";
  }
  return "counts nothing that the other files count: give files of one kind";
}

}  // namespace

std::string WhyNotOneProgram(const heap::HeapProfile& sum, const heap::HeapProfile& other) {
  const std::string first = BaseName(sum.program);
  const std::string second = BaseName(other.program);
  if (first.empty() || second.empty() || first == second) return "";
  return "is of " + second + ", not of " + first + ": give files of one program";
}

absl::StatusOr<heap::HeapProfile> LoadSum(const std::vector<std::string>& files,
                                          const LoadOptions& options, report::Progress* progress) {
  heap::HeapProfile sum;
  for (size_t i = 0; i < files.size(); ++i) {
    if (progress != nullptr) {
      progress->Show("reading " + std::to_string(i + 1) + " of " + std::to_string(files.size()));
    }
    auto profile = LoadHeapProfile(files[i], options);
    if (!profile.ok()) return profile.status();
    if (i == 0) {
      sum = *std::move(profile);
      continue;
    }
    const std::string why_not = WhyNot(sum, *profile);
    if (!why_not.empty()) return absl::InvalidArgumentError(files[i] + " " + why_not);
    heap::AddProfile(*profile, &sum);
  }
  return sum;
}

}  // namespace allomon::load
