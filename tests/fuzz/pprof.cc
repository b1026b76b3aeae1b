// pprof files: accepted input can be processed, every format can export it, and it is written as a
// file that can be read again.
#include "tools/pprof/pprof.h"

#include "tests/fuzz/imported.h"
#include "tests/pprof/profiles.h"
#include "tests/pprof/wire_mutator.h"
#include "tools/load/load.h"
#include "tools/pprof/gzip.h"

namespace allomon::fuzz {
namespace {

// The limit for data that grows when it is decompressed.
constexpr size_t kMostBytes = size_t{16} << 20;

void CheckWrittenAgain(const heap::HeapProfile& profile) {
  const auto again = pprof::DecodePprof(pprof::EncodePprof(profile));
  Require(again.ok(), "what was written is read", ViewOf(again.status().message()));
  Require(again->samples.size() == profile.samples.size(), "all samples are written");
  Require(again->rate == profile.rate, "the rate is written");
  for (size_t i = 0; i < profile.samples.size(); ++i) {
    Require(again->samples[i].stack.size() <= profile.samples[i].stack.size(),
            "a stack gets no longer");
  }
}

bool CheckPprof(std::string_view input) {
  std::string bytes(input);
  if (pprof::IsGzip(input)) {
    auto unpacked = pprof::Gunzip(input, kMostBytes);
    if (!unpacked.ok()) {
      RequireOneLine(unpacked.status().message());
      return false;
    }
    bytes = *std::move(unpacked);
  }
  const auto profile = pprof::DecodePprof(bytes, kMostBytes);
  if (pprof::LooksLikePprof(bytes)) {
    const auto loaded = load::ParseHeapProfile("x", std::string(input), {});
    Require(!profile.ok() || loaded.ok(), "what is decoded can be loaded");
  }
  if (!profile.ok()) {
    RequireOneLine(profile.status().message());
    return false;
  }
  RequireWhole(*profile);
  CheckWrittenAgain(*profile);
  CheckExport(*profile, input);
  return true;
}

}  // namespace

std::vector<std::string> Seeds() {
  return {pprof::EncodePprof(pprof::testing::SmallProfile()),
          pprof::Gzip(pprof::EncodePprof(pprof::testing::SmallProfile())),
          pprof::EncodePprof(interchange::testing::OddProfile())};
}

}  // namespace allomon::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace allomon::fuzz;
  return Done(CheckPprof(TextOf(data, size)));
}

// Corrects the lengths in half of the cases.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  using namespace allomon;
  const std::string_view input = fuzz::TextOf(data, size);
  if (seed % 2 == 0) return LLVMFuzzerMutate(data, size, max_size);
  pprof::testing::WireMutator fields(seed);
  if (!pprof::IsGzip(input)) return fuzz::PutBack(fields.Mutate(input), data, max_size);
  const auto unpacked = pprof::Gunzip(input, fuzz::kMostBytes);
  if (!unpacked.ok()) return LLVMFuzzerMutate(data, size, max_size);
  return fuzz::PutBack(pprof::Gzip(fields.Mutate(*unpacked)), data, max_size);
}
