#include "tests/interchange/example_profile.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "tools/export/export.h"

namespace allomon::interchange::testing {
namespace {

using heap::HeapProfile;
using heap::kNone;
using heap::Location;
using heap::Metric;
using heap::Sample;

constexpr uint64_t kCode = 0x400000;
constexpr size_t kSomeMetrics = 4;  // all except the managed ones

uint32_t AddFunction(HeapProfile* profile, const std::string& name, const std::string& file) {
  profile->functions.push_back({name, "", file, 10});
  return static_cast<uint32_t>(profile->functions.size() - 1);
}

// `functions` innermost first.
uint32_t AddLocation(HeapProfile* profile, const std::vector<uint32_t>& functions, uint32_t line) {
  Location location;
  location.address = kCode + 0x10 * (profile->locations.size() + 1);
  location.mapping = 0;
  for (uint32_t function : functions) location.lines.push_back({function, line++});
  profile->locations.push_back(location);
  return static_cast<uint32_t>(profile->locations.size() - 1);
}

// `stack` outermost first.
Sample& AddSample(HeapProfile* profile, std::vector<uint32_t> stack, uint64_t size, double blocks) {
  profile->samples.emplace_back();
  Sample& sample = profile->samples.back();
  sample.stack.assign(stack.rbegin(), stack.rend());
  sample.size_bytes = size;
  sample.has_size = true;
  sample.thread = 0;
  const double bytes = blocks * static_cast<double>(size);
  sample[Metric::kAllocated] = {blocks, bytes};
  sample[Metric::kLive] = {blocks / 4, bytes / 4};
  sample[Metric::kPeak] = {blocks / 2, bytes / 2};
  sample[Metric::kTemporary] = {blocks / 8, bytes / 8};
  sample.deaths.push_back({10, 12, false, {blocks * 3 / 4, bytes * 3 / 4}});
  sample.ages.push_back({20, 25, false, {blocks / 4, bytes / 4}});
  return sample;
}

void AddFrame(HeapProfile* profile) {
  profile->mappings.push_back({kCode, kCode + 0x100000, 0, "/usr/bin/an example", "abcdef0123"});
  profile->threads.push_back({"main", 100, 1e6, 1.01e6, 1e8, {100, 1e4}, {25, 2500}});
  profile->threads.push_back({"worker, \"second\"", 101, 0, 0, 0, {}, {}});
  for (size_t i = 0; i < kSomeMetrics; ++i) profile->has[i] = true;
  profile->rate = 1e-3;
  profile->program = "/usr/bin/an example";
  profile->command = "an example --flag";
  profile->pid = 4242;
  profile->duration_seconds = 2.5;
  profile->peak_seconds = 1.25;
  profile->origin = "test";
}

}  // namespace

HeapProfile OddProfile() {
  HeapProfile profile;
  AddFrame(&profile);
  const uint32_t main = AddFunction(&profile, "main", "src/main.cc");
  const uint32_t f = AddFunction(&profile, "f(int)", "src/f.cc");
  const uint32_t g = AddFunction(&profile, "ns::g<char; \"int\">", "src/g, h.cc");
  const uint32_t h = AddFunction(&profile, "h::operator()#1 50%", "src/g, h.cc");
  const uint32_t odd = AddFunction(&profile, "two\nlines\tand \\ \xff\xfe \xe2\x82\xac", "");
  const uint32_t other_f = AddFunction(&profile, "f(int)", "src/other.cc");
  const uint32_t unnamed = AddFunction(&profile, "", "");

  const uint32_t in_main = AddLocation(&profile, {main}, 11);
  const uint32_t in_f = AddLocation(&profile, {f}, 21);
  const uint32_t in_f_again = AddLocation(&profile, {f}, 22);
  const uint32_t in_g_in_f = AddLocation(&profile, {g, f}, 31);
  const uint32_t in_h = AddLocation(&profile, {h}, 41);
  const uint32_t in_odd = AddLocation(&profile, {odd}, 51);
  const uint32_t nowhere = AddLocation(&profile, {}, 0);
  const uint32_t in_other_f = AddLocation(&profile, {other_f}, 61);
  const uint32_t in_unnamed = AddLocation(&profile, {unnamed}, 0);

  AddSample(&profile, {in_main}, 16, 1000.5);
  AddSample(&profile, {in_main, in_f}, 32, 100.25);
  AddSample(&profile, {in_main, in_f}, 64, 50.3);  // a second size
  AddSample(&profile, {in_main, in_f}, 64, 10).thread = 1;
  AddSample(&profile, {in_main, in_f_again, in_f, in_f}, 128, 77);
  AddSample(&profile, {in_main, in_g_in_f, in_h, in_g_in_f, in_h}, 48, 33.4);
  AddSample(&profile, {in_main, in_odd}, 1024, 7);
  AddSample(&profile, {in_main, nowhere}, 80, 9);
  AddSample(&profile, {in_main, in_other_f, in_unnamed}, 24, 400);
  AddSample(&profile, {}, 4096, 2);
  AddSample(&profile, {in_h}, 1 << 20, 1).labels = {{"request", "GET; \"/\""}};
  profile.timeline = {
      {0, 0, 0, 0}, {0.5, 1e6, 5e5, 6e5}, {1.25, 2e6, 9e5, 9e5}, {2.5, 3e6, 4e5, 8e5}};
  profile.notes = {"a note"};
  return profile;
}

HeapProfile LargeProfile(size_t stacks) {
  constexpr uint32_t kFunctions = 2000;
  HeapProfile profile;
  AddFrame(&profile);
  for (uint32_t i = 0; i < kFunctions; ++i) {
    const std::string number = std::to_string(i);
    AddFunction(&profile, "module" + std::to_string(i % 40) + "::function" + number,
                "src/file" + std::to_string(i % 100) + ".cc");
    AddLocation(&profile, {i}, i);
  }
  std::minstd_rand random(1);
  for (size_t i = 0; i < stacks; ++i) {
    std::vector<uint32_t> stack = {0};
    while (stack.back() + 150 < kFunctions) stack.push_back(stack.back() + 1 + random() % 150);
    AddSample(&profile, stack, 16u << random() % 10, 1.0 + random() % 1000);
  }
  return profile;
}

bool IsConsistent(const HeapProfile& profile) {
  for (const Location& location : profile.locations) {
    if (location.mapping != kNone && location.mapping >= profile.mappings.size()) return false;
    for (const heap::Line& line : location.lines) {
      if (line.function >= profile.functions.size()) return false;
    }
  }
  for (const Sample& sample : profile.samples) {
    if (sample.thread != kNone && sample.thread >= profile.threads.size()) return false;
    for (uint32_t location : sample.stack) {
      if (location >= profile.locations.size()) return false;
    }
  }
  return true;
}

double TotalBytes(const HeapProfile& profile, Metric metric) {
  double sum = 0;
  for (const Sample& sample : profile.samples) sum += sample[metric].bytes;
  return sum;
}

double TotalBlocks(const HeapProfile& profile, Metric metric) {
  double sum = 0;
  for (const Sample& sample : profile.samples) sum += sample[metric].blocks;
  return sum;
}

std::map<std::string, Cost> CostsOf(const HeapProfile& profile, Metric metric) {
  std::map<std::string, Cost> costs;
  for (const Sample& sample : profile.samples) {
    std::set<std::string> on_stack;
    std::string innermost;
    for (uint32_t location : sample.stack) {
      for (const heap::Line& line : profile.locations[location].lines) {
        const std::string& name = profile.functions[line.function].name;
        if (innermost.empty()) innermost = name;
        on_stack.insert(name);
      }
    }
    for (const std::string& name : on_stack) costs[name].inclusive += sample[metric].bytes;
    costs[innermost].self += sample[metric].bytes;
  }
  return costs;
}

std::string Export(const std::string& format, const HeapProfile& profile, Metric metric) {
  const ExportFormat* const found = FindExportFormat(format);
  if (found == nullptr) {
    ADD_FAILURE() << "no format " << format;
    return "";
  }
  const auto files = found->run(profile, metric);
  EXPECT_TRUE(files.ok()) << files.status();
  return files.ok() ? files->back().bytes : "";
}

}  // namespace allomon::interchange::testing
