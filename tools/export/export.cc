#include "tools/export/export.h"

#include <string>
#include <utility>

#include "tools/export/exporters.h"
#include "tools/heap/heap_profile.h"
#include "tools/pprof/gzip.h"
#include "tools/pprof/pprof.h"
#include "tracker/formats/write_file.h"

namespace allomon::interchange {
namespace {

// Counts inlined calls, too: a few bytes of a hostile file can stand for very many.
bool HasFewFrames(const heap::HeapProfile& profile, size_t* frames) {
  for (const heap::Sample& sample : profile.samples) {
    for (const uint32_t location : sample.stack) {
      *frames += profile.locations[location].lines.size() + 1;
      if (*frames > kMostFrames) return false;
    }
  }
  return true;
}

// Sums up to there are integers of 64 bits.
constexpr double kMostOfAll = 9.2e18;

bool FitsIn64Bits(const heap::HeapProfile& profile) {
  for (size_t metric = 0; metric < heap::kMetrics; ++metric) {
    heap::Amount sum;
    for (const heap::Sample& sample : profile.samples) sum.Add(sample.amounts[metric]);
    if (sum.bytes > kMostOfAll || sum.blocks > kMostOfAll) return false;
  }
  return true;
}

absl::Status DoesNotFit() {
  return absl::InvalidArgumentError(
      "more than 9.2e18 bytes or blocks, for which only csv and json have room");
}

absl::Status TooManyFrames() {
  return absl::InvalidArgumentError("more than " + std::to_string(kMostFrames) +
                                    " frames of stacks: record fewer (--rate, --limit)");
}

}  // namespace

absl::StatusOr<OutputFiles> Export(const ExportFormat& format, const heap::HeapProfile& profile,
                                   heap::Metric metric) {
  size_t frames = 0;
  if (!HasFewFrames(profile, &frames)) return TooManyFrames();
  const bool has_room = format.run == ToCsv || format.run == ToJson;
  return has_room || FitsIn64Bits(profile) ? format.run(profile, metric) : DoesNotFit();
}

absl::StatusOr<OutputFiles> ExportSeries(const ExportFormat& format,
                                         const std::vector<heap::HeapProfile>& profiles,
                                         heap::Metric metric) {
  size_t frames = 0;
  for (const heap::HeapProfile& profile : profiles) {
    if (!HasFewFrames(profile, &frames)) return TooManyFrames();
    if (!FitsIn64Bits(profile)) return DoesNotFit();
  }
  return format.run_series(profiles, metric);
}

const std::vector<ExportFormat>& ExportFormats() {
  static const auto* const formats = new std::vector<ExportFormat>{
      {"pprof", "go tool pprof, and allomon itself", "pb.gz", ToPprof, false},
      {"collapsed", "flamegraph.pl and its kin: a line per stack", "folded", ToCollapsed},
      {"speedscope", "speedscope", "speedscope.json", ToSpeedscope},
      {"firefox", "Firefox Profiler, profiler.firefox.com", "firefox.json", ToFirefox},
      {"devtools", "DevTools of Chrome, VS Code: V8's sampling heap profile", "heapprofile",
       ToDevtools},
      {"callgrind", "callgrind_annotate, KCachegrind", "callgrind", ToCallgrind},
      {"dhat", "dh_view.html of valgrind", "dhat.json", ToDhat},
      {"massif", "ms_print of valgrind, massif-visualizer", "massif", ToMassif},
      {"heap_v2", "go tool pprof, jeprof, gperftools' pprof", "heap", ToHeapV2},
      {"jemalloc", "jeprof: as jemalloc writes heap_v2", "heap", ToJemalloc},
      {"mlmon", "mlprof and allomon report: mlmon.out and its .sources", "mlmon.out", ToMlmon},
      {"otlp", "collectors of OpenTelemetry: profiles in protobuf", "otlp", ToOtlp, false},
      {"otlp-json", "collectors of OpenTelemetry: the same in JSON", "otlp.json", ToOtlpJson},
      {"perfetto", "Perfetto, ui.perfetto.dev: several files are dumps in time", "pftrace",
       ToPerfetto, false, ToPerfettoSeries},
      {"memprof", "llvm-profdata, and so clang's choice of hot and cold memory", "memprof.yaml",
       ToMemprof},
      {"csv", "spreadsheets and data frames: a row per stack and size", "csv", ToCsv},
      {"json", "your own programs: all that the profile has", "json", ToJson},
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
  OutputFiles files;
  files.push_back({"", std::move(bytes), kPrivateMode});
  return files;
}

using heap::Metric;

std::string MetricsOf(const heap::HeapProfile& profile) {
  std::string names;
  for (size_t i = 0; i < heap::kMetrics; ++i) {
    if (profile.has[i]) names += std::string(names.empty() ? "" : ", ") + heap::kMetricNames[i];
  }
  return names;
}

std::optional<Metric> DefaultMetric(const heap::HeapProfile& profile) {
  if (Has(profile, Metric::kLive)) return Metric::kLive;
  for (size_t i = 0; i < heap::kMetrics; ++i) {
    if (profile.has[i]) return static_cast<Metric>(i);
  }
  return std::nullopt;
}

}  // namespace allomon::interchange
