#include "tools/interchange/load_any.h"

#include <string>
#include <utility>

#include "tools/interchange/import.h"
#include "tools/load/load.h"
#include "tools/load/read_bytes.h"
#include "tools/pprof/gzip.h"

namespace allomon::interchange {
namespace {

absl::StatusOr<heap::HeapProfile> LoadMlmon(const std::string& file, std::string_view text) {
  const auto script = load::ReadBytes(file + ".sources", ImportLimits().text_bytes);
  if (!script.ok()) {
    return absl::InvalidArgumentError("the names of " + file +
                                      " are missing: " + std::string(script.status().message()));
  }
  auto profile = ImportMlmon(text, *script);
  if (profile.ok()) return profile;
  return absl::InvalidArgumentError(file + ": " + std::string(profile.status().message()));
}

}  // namespace

absl::StatusOr<heap::HeapProfile> LoadAny(const ExportOptions& options) {
  auto bytes = load::ReadBytes(options.file, pprof::kMaxFileBytes);
  if (!bytes.ok()) return bytes.status();
  if (LooksLikeMlmon(*bytes)) return LoadMlmon(options.file, *bytes);
  load::LoadOptions load_options;
  load_options.debug_dir = options.debug_dir;
  load_options.counts_metric = options.counts_metric;
  return load::ParseHeapProfile(options.file, *std::move(bytes), load_options);
}

}  // namespace allomon::interchange
