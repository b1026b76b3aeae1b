#include "tools/load/load.h"

#include <utility>

#include "tools/load/read_bytes.h"
#include "tools/pprof/gzip.h"
#include "tools/pprof/pprof.h"

namespace allomon::load {
namespace {

absl::Status Named(const std::string& name, const absl::Status& status) {
  return absl::InvalidArgumentError(name + " " + std::string(status.message()));
}

absl::StatusOr<heap::HeapProfile> ParsePlain(std::string_view bytes) {
  if (bytes.empty()) return absl::InvalidArgumentError("is empty: record the program again");
  if (pprof::LooksLikePprof(bytes)) return pprof::DecodePprof(bytes);
  return absl::InvalidArgumentError(
      "is no heap profile: what can be read are recordings, pprof, heap_v2 and collapsed stacks");
}

}  // namespace

absl::StatusOr<heap::HeapProfile> ParseHeapProfile(const std::string& name, std::string bytes,
                                                   const LoadOptions& /*options*/) {
  if (pprof::IsGzip(bytes)) {
    auto contents = pprof::Gunzip(bytes);
    if (!contents.ok()) return Named(name, contents.status());
    bytes = *std::move(contents);
  }
  auto profile = ParsePlain(bytes);
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
  return pprof::IsGzip(first_bytes) || pprof::LooksLikePprof(first_bytes);
}

}  // namespace allomon::load
