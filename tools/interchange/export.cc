#include "tools/interchange/export.h"

#include <utility>

#include "tools/interchange/exporters.h"
#include "tools/pprof/gzip.h"
#include "tools/pprof/pprof.h"

namespace allomon::interchange {

const std::vector<ExportFormat>& ExportFormats() {
  static const auto* const formats = new std::vector<ExportFormat>{
      {"pprof", "go tool pprof, and allomon itself", "pb.gz", ToPprof},
      {"collapsed", "flamegraph.pl and its kin: a line per stack", "folded", ToCollapsed},
      {"speedscope", "speedscope", "speedscope.json", ToSpeedscope},
      {"heap_v2", "go tool pprof, jeprof, gperftools' pprof", "heap", ToHeapV2},
      {"jemalloc", "jeprof: as jemalloc writes heap_v2", "heap", ToJemalloc},
  };
  return *formats;
}

const ExportFormat* FindExportFormat(std::string_view name) {
  for (const ExportFormat& format : ExportFormats()) {
    if (format.name == name) return &format;
  }
  return nullptr;
}

Exported ToPprof(const heap::HeapProfile& profile, heap::Metric /*metric*/) {
  return OneFile(pprof::Gzip(pprof::EncodePprof(profile)));
}

Exported OneFile(std::string bytes) {
  constexpr int kMode = 0666;  // the umask applies
  OutputFiles files;
  files.push_back({"", std::move(bytes), kMode});
  return files;
}

}  // namespace allomon::interchange
