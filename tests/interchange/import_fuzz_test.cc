// Damaged texts of other profilers give a profile that is consistent, and that every format takes,
// or one line of error: never a crash, a hang, or memory without bound.
//
// Runs for ten seconds; --minutes=60 for longer.  The seed is fixed.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tests/interchange/example_profile.h"
#include "tests/profile/mutator.h"
#include "tools/interchange/export.h"
#include "tools/interchange/import.h"
#include "tools/interchange/metric_names.h"
#include "tools/pprof/pprof.h"
#include "tools/text/plain_text.h"

namespace allomon::interchange {
namespace {

using heap::HeapProfile;
using heap::Metric;
using Clock = std::chrono::steady_clock;

constexpr size_t kMostBytes = 1 << 16;  // of a damaged text; damage may double it each time
constexpr int kRoundsBetweenLooks = 50;

struct Kind {
  const char* name;
  std::vector<std::string> seeds;
  Imported (*import)(std::string_view text);
  int accepted = 0;
  int refused = 0;
};

Imported Collapsed(std::string_view text) { return ImportCollapsed(text, Metric::kPeak); }
Imported HeapV2(std::string_view text) { return ImportHeapV2(text); }

// Its errors may have names of the file in them, which commands make harmless.
Imported Pprof(std::string_view bytes) {
  auto profile = pprof::DecodePprof(bytes);
  if (profile.ok()) return profile;
  return absl::InvalidArgumentError(
      Printable(std::string(profile.status().message()), Charset::kUtf8));
}

// The profile and the script in one text, so that both get damaged.
constexpr std::string_view kSeam = "#!/bin/sh";
Imported MlmonText(std::string_view text) {
  const size_t seam = text.find(kSeam);
  return ImportMlmon(text.substr(0, seam), seam == text.npos ? "" : text.substr(seam));
}

std::string MlmonSeed(const HeapProfile& profile) {
  const auto files = FindExportFormat("mlmon")->run(profile, Metric::kLive);
  return files->back().bytes + files->front().bytes;
}

std::vector<Kind> Kinds() {
  const HeapProfile odd = testing::OddProfile();
  const HeapProfile large = testing::LargeProfile(5);
  std::vector<Kind> kinds = {{"collapsed", {}, Collapsed},
                             {"heap_v2", {}, HeapV2},
                             {"mlmon", {MlmonSeed(odd), MlmonSeed(large)}, MlmonText},
                             {"pprof", {}, Pprof}};
  for (const HeapProfile& profile : {odd, large}) {
    kinds[0].seeds.push_back(testing::Export("collapsed", profile, Metric::kLive));
    kinds[3].seeds.push_back(pprof::EncodePprof(profile));
    kinds[1].seeds.push_back(testing::Export("heap_v2", profile, Metric::kLive));
    kinds[1].seeds.push_back(testing::Export("jemalloc", profile, Metric::kLive));
  }
  kinds[1].seeds.push_back(
      "heap_v2/524288\n  t*: 3: 2097664 [7: 4195328]\n@ 0x401001 0x402001\n"
      "  t*: 2: 2097152 [4: 4194304]\n  t0: 2: 2097152 [4: 4194304]\n\nMAPPED_LIBRARIES:\n"
      "00401000-00403000 r-xp 00001000 08:01 12 /bin/prog\n");
  return kinds;
}

[[noreturn]] void Fail(const std::string& what, const std::string& text) {
  fprintf(stderr, "%s:\n%s\n", what.c_str(), text.c_str());
  exit(1);
}

void CheckError(const std::string& message, const std::string& text) {
  if (message.empty() || message.find('\n') != message.npos)
    Fail("not one line: \"" + message + "\"", text);
}

void CheckProfile(const HeapProfile& profile, const ExportFormat& format, const std::string& text) {
  if (!testing::IsConsistent(profile)) Fail("not consistent", text);
  const auto metric = DefaultMetric(profile);
  if (!metric.has_value()) return;
  const auto files = Export(format, profile, *metric);
  if (!files.ok()) CheckError(std::string(files.status().message()), text);
}

class Fuzzer {
 public:
  void RunUntil(Clock::time_point end) {
    while (Clock::now() < end) {
      for (int i = 0; i < kRoundsBetweenLooks; ++i) RunOnce();
    }
  }

  // A fuzzer whose every input is refused would test nothing.
  bool Report() const {
    bool is_good = true;
    for (const Kind& kind : kinds_) {
      printf("%s: %d accepted, %d refused\n", kind.name, kind.accepted, kind.refused);
      is_good &= kind.accepted > kind.refused / 100 && kind.refused > 0;
    }
    return is_good;
  }

 private:
  void RunOnce() {
    Kind& kind = kinds_[mutator_.Below(kinds_.size())];
    std::string text = mutator_.Mutate(kind.seeds[mutator_.Below(kind.seeds.size())]);
    if (text.size() > kMostBytes) return;
    const auto profile = kind.import(text);
    if (!profile.ok()) {
      CheckError(std::string(profile.status().message()), text);
      ++kind.refused;
      return;
    }
    const std::vector<ExportFormat>& formats = ExportFormats();
    CheckProfile(*profile, formats[mutator_.Below(formats.size())], text);
    ++kind.accepted;
  }

  std::vector<Kind> kinds_ = Kinds();
  allomon::testing::Mutator mutator_{allomon::testing::kFuzzSeed,
                                     {";",
                                      " ",
                                      "\n",
                                      "\t",
                                      "@",
                                      ": ",
                                      "[0: 0]",
                                      "-1",
                                      "0",
                                      "1",
                                      "18446744073709551615",
                                      "99999999999999999999",
                                      "0x",
                                      "0xffffffffffffffff",
                                      "ffffffffffffffff-0",
                                      "1e308",
                                      ".5",
                                      "nan",
                                      "heap_v2/",
                                      "heap_v2/1\n",
                                      "heap profile: 1: 1 [1: 1] @ heap_v2/4\n",
                                      "t*: 1: 1 [",
                                      "MAPPED_LIBRARIES:\n",
                                      "\nMAPPED_LIBRARIES:\n400000-500000 r-xp 0 08:01 1 /bin/a\n",
                                      "# allomon rate nan\n",
                                      "# allomon rate 2\n",
                                      "# allomon rate 1e-300\n",
                                      "\\x3b",
                                      "\\x",
                                      "\r",
                                      std::string(1, '\0'),
                                      "\xff"}};
};

// -1 if the arguments are others.
double Seconds(int argc, char** argv) {
  constexpr char kMinutes[] = "--minutes=";
  constexpr double kInCi = 10;
  if (argc == 1) return kInCi;
  if (argc != 2 || strncmp(argv[1], kMinutes, sizeof kMinutes - 1) != 0) return -1;
  return atof(argv[1] + sizeof kMinutes - 1) * 60;
}

}  // namespace
}  // namespace allomon::interchange

int main(int argc, char** argv) {
  using allomon::interchange::Clock;
  const double seconds = allomon::interchange::Seconds(argc, argv);
  if (seconds < 0) {
    fprintf(stderr, "usage: import_fuzz_test [--minutes=N]\n");
    return 2;
  }
  allomon::interchange::Fuzzer fuzzer;
  fuzzer.RunUntil(Clock::now() + std::chrono::milliseconds(static_cast<long>(seconds * 1e3)));
  return fuzzer.Report() ? 0 : 1;
}
