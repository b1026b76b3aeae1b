#include "tools/load/load.h"

#include <utility>

#include "tools/interchange/import.h"
#include "tools/interchange/naming.h"
#include "tools/load/read_bytes.h"
#include "tools/pprof/gzip.h"
#include "tools/pprof/pprof.h"

namespace allomon::load {
namespace {

absl::Status Named(const std::string& name, const absl::Status& status) {
  return absl::InvalidArgumentError(name + " " + std::string(status.message()));
}

absl::StatusOr<heap::HeapProfile> ParseHeapV2(std::string_view bytes, const LoadOptions& options) {
  auto profile = interchange::ImportHeapV2(bytes);
  if (profile.ok() && options.names) interchange::NameLocations(options.debug_dir, &*profile);
  return profile;
}

absl::StatusOr<heap::HeapProfile> ParsePlain(std::string_view bytes, const LoadOptions& options) {
  if (bytes.empty()) return absl::InvalidArgumentError("is empty: record the program again");
  if (pprof::LooksLikePprof(bytes)) return pprof::DecodePprof(bytes);
  if (interchange::LooksLikeHeapV2(bytes)) return ParseHeapV2(bytes, options);
  if (interchange::LooksLikeCollapsed(bytes)) {
    return interchange::ImportCollapsed(bytes, options.counts_metric);
  }
  return absl::InvalidArgumentError(
      "is no heap profile: what can be read are recordings, pprof, heap_v2 and collapsed stacks");
}

}  // namespace

absl::StatusOr<heap::HeapProfile> ParseHeapProfile(const std::string& name, std::string bytes,
                                                   const LoadOptions& options) {
  if (pprof::IsGzip(bytes)) {
    auto contents = pprof::Gunzip(bytes);
    if (!contents.ok()) return Named(name, contents.status());
    bytes = *std::move(contents);
  }
  auto profile = ParsePlain(bytes, options);
  if (!profile.ok()) return Named(name, profile.status());
  return profile;
}

absl::StatusOr<heap::HeapProfile> LoadHeapProfile(const std::string& path,
                                                  const LoadOptions& options) {
  auto bytes = ReadBytes(path, pprof::kMaxFileBytes);
  if (!bytes.ok()) return bytes.status();
  return ParseHeapProfile(path, *std::move(bytes), options);
}

bool LooksLikeHeapProfile(std::string_view first_bytes) {
  return pprof::IsGzip(first_bytes) || pprof::LooksLikePprof(first_bytes) ||
         interchange::LooksLikeHeapV2(first_bytes) || interchange::LooksLikeCollapsed(first_bytes);
}

}  // namespace allomon::load
