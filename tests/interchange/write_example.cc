// Writes an example as a pprof file, and its true figures: `write_example odd|large FOLDER` makes
// FOLDER/example.pb.gz and FOLDER/truth.json.  The latter has for each metric its total bytes, and
// the bytes of functions by "file:name".
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "tests/interchange/example_profile.h"
#include "tools/heap/heap_profile.h"
#include "tools/pprof/gzip.h"
#include "tools/pprof/pprof.h"

namespace {

using allomon::heap::HeapProfile;
using allomon::heap::Metric;
using Json = nlohmann::json;

// Counts sample by sample, by other code than the exports.
Json Truth(const HeapProfile& profile, Metric metric) {
  Json functions = Json::object();
  double total = 0;
  for (const allomon::heap::Sample& sample : profile.samples) {
    const double bytes = sample[metric].bytes;
    std::set<std::string> on_stack;
    std::string innermost;
    for (const uint32_t location : sample.stack) {
      for (const allomon::heap::Line& line : profile.locations[location].lines) {
        const allomon::heap::Function& function = profile.functions[line.function];
        const std::string name = function.file + ":" + function.name;
        if (innermost.empty()) innermost = name;
        on_stack.insert(name);
      }
    }
    total += bytes;
    for (const std::string& name : on_stack) {
      Json& inclusive = functions[name]["inclusive"];
      inclusive = (inclusive.is_null() ? 0.0 : inclusive.get<double>()) + bytes;
    }
  }
  return {{"total", total}, {"functions", functions}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  namespace testing = allomon::interchange::testing;
  const HeapProfile profile =
      std::string(argv[1]) == "odd" ? testing::OddProfile() : testing::LargeProfile(300);
  const std::string folder = argv[2];
  std::ofstream(folder + "/example.pb.gz", std::ios::binary)
      << allomon::pprof::Gzip(allomon::pprof::EncodePprof(profile));
  Json truth;
  for (size_t i = 0; i < allomon::heap::kMetrics; ++i) {
    const auto metric = static_cast<Metric>(i);
    if (profile.has[i]) truth[allomon::heap::MetricName(metric)] = Truth(profile, metric);
  }
  std::ofstream(folder + "/truth.json")
      << truth.dump(1, ' ', true, Json::error_handler_t::replace) << "\n";
  return 0;
}
