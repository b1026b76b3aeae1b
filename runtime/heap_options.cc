#include "runtime/heap_options.h"

#include <charconv>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>

namespace allomon::gc {
namespace {

absl::Status Bad(std::string_view word, std::string_view why) {
  return absl::InvalidArgumentError("heap option '" + std::string(word) + "': " + std::string(why));
}

std::string_view WithoutBlanksAround(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) + 1 - first);
}

// Parses a decimal number with an optional suffix K, M or G.
std::optional<uint64_t> ParseSize(std::string_view text) {
  uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || end - rest > 1) return std::nullopt;
  int shift = 0;
  if (rest != end) {
    const size_t unit = std::string_view("KMG").find(*rest);
    if (unit == std::string_view::npos) return std::nullopt;
    shift = 10 * (static_cast<int>(unit) + 1);
  }
  if (number > std::numeric_limits<uint64_t>::max() >> shift) return std::nullopt;
  return number << shift;
}

// Sets the option called `name`; false if there is no such option.
bool SetOption(HeapOptions& options, std::string_view name, uint64_t value) {
  if (name == "nursery") return options.nursery_bytes = value, true;
  if (name == "growth") return options.growth_percent = static_cast<uint32_t>(value), true;
  if (name == "floor") return options.growth_floor_bytes = value, true;
  if (name == "limit") return options.limit_bytes = value, true;
  if (name == "soft_limit") return options.soft_limit_bytes = value, true;
  if (name == "cgroup") return options.cgroup_percent = static_cast<uint32_t>(value), true;
  if (name == "verify") return options.verify = value != 0, true;
  if (name == "stress") return options.stress_every = static_cast<uint32_t>(value), true;
  if (name == "pretenure") return options.pretenure = value != 0, true;
  if (name == "incremental") return options.incremental_from_bytes = value, true;
  if (name == "background") return options.background = value != 0, true;
  if (name == "late") return options.late_thread_ms = static_cast<uint32_t>(value), true;
  if (name == "collectors") return options.collectors = static_cast<uint32_t>(value), true;
  if (name == "collectors_from") return options.collectors_from_bytes = value, true;
  if (name == "slice") return options.slice_looks = static_cast<uint32_t>(value), true;
  if (name == "mark_stack") return options.mark_stack_entries = value, true;
  return false;
}

absl::Status ParseWord(HeapOptions& options, std::string_view word) {
  const size_t equals = word.find('=');
  const std::string_view name = WithoutBlanksAround(word.substr(0, equals));
  if (name == "sites") {
    options.sites_path =
        equals == std::string_view::npos ? "" : WithoutBlanksAround(word.substr(equals + 1));
    return options.sites_path.empty() ? Bad(word, "wants a file: sites=FILE") : absl::OkStatus();
  }
  // A switch without a value is on.
  const std::optional<uint64_t> value =
      equals == std::string_view::npos ? 1
                                       : ParseSize(WithoutBlanksAround(word.substr(equals + 1)));
  if (!value.has_value()) return Bad(word, "not a number, or one with K, M or G behind it");
  const bool narrow = name == "growth" || name == "cgroup" || name == "stress" || name == "slice" ||
                      name == "late" || name == "collectors";
  if (narrow && *value > std::numeric_limits<uint32_t>::max()) return Bad(word, "too large");
  if (!SetOption(options, name, *value)) {
    return Bad(word,
               "known are nursery, growth, floor, limit, soft_limit, cgroup, verify, stress, "
               "pretenure, sites, incremental, background, collectors, collectors_from, late, "
               "slice and mark_stack");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status HeapOptions::Parse(std::string_view text) {
  HeapOptions parsed = *this;
  text = WithoutBlanksAround(text);
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const absl::Status status = ParseWord(parsed, WithoutBlanksAround(text.substr(0, comma)));
    if (!status.ok()) return status;
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
  *this = parsed;
  return absl::OkStatus();
}

absl::Status HeapOptions::ParseEnvironment() {
  const char* text = getenv("ALLOMON_HEAP");  // NOLINT(concurrency-mt-unsafe): as all of C++
  if (text == nullptr) return absl::OkStatus();
  const absl::Status status = Parse(text);
  if (status.ok()) return status;
  return absl::InvalidArgumentError("ALLOMON_HEAP=" + std::string(text) + ": " +
                                    std::string(status.message()));
}

absl::Status HeapOptions::Validate() const {
  if (nursery_bytes < (64 << 10) || nursery_bytes > (size_t{1} << 30)) {
    return Bad("nursery", "must be between 64K and 1G");
  }
  if (growth_percent < 10 || growth_percent > 10000) {
    return Bad("growth", "must be between 10 and 10000 percent");
  }
  if (cgroup_percent > 100) return Bad("cgroup", "must be at most 100 percent; 0 is never");
  // One chunk suffices: the first thread is then attached with the part of its nursery that fits
  // one.
  if (limit_bytes != 0 && limit_bytes < kLeastLimitBytes) {
    return Bad("limit", "must be 0 (none) or at least 2M, the unit in which the heap grows");
  }
  if (collectors > kMostCollectors) return Bad("collectors", "must be at most 32");
  if (mark_stack_entries < kLeastMarkStackEntries) return Bad("mark_stack", "must be at least 16");
  return absl::OkStatus();
}

}  // namespace allomon::gc
