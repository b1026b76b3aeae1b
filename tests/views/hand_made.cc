#include "tests/views/hand_made.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "tools/report/table/outputs.h"
#include "tools/report/views/view.h"

namespace allomon::views {
namespace {

using heap::Metric;

Options OptionsOf(const std::vector<std::string>& args) {
  auto options = ParseOptions(args, Command::kReport);
  EXPECT_TRUE(options.ok()) << options.status();
  if (!options.ok()) return Options();
  if (options->files.empty()) options->files = {"x.pb.gz"};
  return *std::move(options);
}

Report ReportBy(const heap::HeapProfile& profile, const Options& options, int width) {
  Space space;
  space.rows = options.top.value_or(20);
  if (width > 0) space.columns = width;
  auto report = ReportOf(profile, options, space);
  EXPECT_TRUE(report.ok()) << report.status();
  return report.ok() ? *std::move(report) : Report();
}

}  // namespace

HandMade::HandMade() {
  profile.rate = 1e-4;
  profile.has[static_cast<size_t>(Metric::kAllocated)] = true;
  profile.has[static_cast<size_t>(Metric::kLive)] = true;
  profile.origin = "pprof";
  profile.program = "/usr/bin/server";
}

heap::Sample& HandMade::Add(const std::vector<std::string>& stack, double size_bytes,
                            double allocated, double live, double peak) {
  heap::Sample sample;
  for (const std::string& frame : stack) sample.stack.push_back(LocationOf(frame));
  sample.size_bytes = static_cast<uint64_t>(size_bytes);
  sample.has_size = true;
  const auto set = [&](Metric metric, double blocks) {
    sample[metric] = {blocks, blocks * size_bytes};
  };
  set(Metric::kAllocated, allocated);
  set(Metric::kLive, live);
  set(Metric::kPeak, peak);
  if (peak > 0) profile.has[static_cast<size_t>(Metric::kPeak)] = true;
  profile.samples.push_back(sample);
  return profile.samples.back();
}

uint32_t HandMade::LocationOf(const std::string& frame) {
  const auto next = static_cast<uint32_t>(profile.locations.size());
  const auto [place, is_new] = locations_.emplace(frame, next);
  if (!is_new) return place->second;
  heap::Location location;
  location.address = 0x1000 + next;
  const size_t at = frame.find('@');
  if (!frame.empty()) {
    const std::string where = at == std::string::npos ? "" : frame.substr(at + 1);
    const size_t colon = where.find(':');
    const uint32_t line =
        colon == std::string::npos
            ? 0
            : static_cast<uint32_t>(strtoul(where.c_str() + colon + 1, nullptr, 10));
    location.lines = {{FunctionOf(frame.substr(0, at), where.substr(0, colon)), line}};
  }
  profile.locations.push_back(location);
  return next;
}

uint32_t HandMade::FunctionOf(const std::string& name, const std::string& file) {
  const auto next = static_cast<uint32_t>(profile.functions.size());
  const auto [place, is_new] = functions_.emplace(name + "@" + file, next);
  if (is_new) {
    heap::Function function;
    function.name = name;
    function.file = file;
    profile.functions.push_back(function);
  }
  return place->second;
}

std::string Shown(const heap::HeapProfile& profile, const std::vector<std::string>& args,
                  int width) {
  TextStyle style;
  style.width = width;
  return ToText(ReportBy(profile, OptionsOf(args), width), style);
}

std::string Json(const heap::HeapProfile& profile, const std::vector<std::string>& args) {
  Options options = OptionsOf(args);
  options.format = Format::kJson;
  return ToJson(ReportBy(profile, options, 0), options.most_bytes);
}

std::string Csv(const heap::HeapProfile& profile, const std::vector<std::string>& args) {
  Options options = OptionsOf(args);
  options.format = Format::kCsv;
  return ToCsv(ReportBy(profile, options, 0));
}

std::string Failure(const heap::HeapProfile& profile, const std::vector<std::string>& args) {
  const auto report = ReportOf(profile, OptionsOf(args), Space());
  EXPECT_FALSE(report.ok());
  return std::string(report.status().message());
}

// ---- A server.

namespace {

constexpr int kTimelinePoints = 160;

void AddLeak(HandMade* made) {
  heap::Sample& leak = made->Add(
      {"std::string::_M_create", "parse@parse.cc:12", "handle@server.cc:40", "main@m.cc:3"}, 64,
      100000, 80000, 70000);
  leak.ages = {{20, 33, false, {50000, 50000 * 64}}, {10, 30, false, {30000, 30000 * 64}}};
  leak.deaths = {{12, 10, false, {20000, 20000 * 64}}};
  leak[Metric::kTemporary] = {20000, 20000 * 64};
}

void AddCache(HandMade* made) {
  heap::Sample& cache =
      made->Add({"grow@cache.cc:7", "handle@server.cc:44", "main@m.cc:3"}, 1e6, 200, 10, 12);
  cache.ages = {{20, 32, false, {8, 8e6}}, {20, 31, false, {2, 2e6}}};
  cache.deaths = {{26, 33, true, {190, 190e6}}};
}

void AddTexts(HandMade* made) {
  constexpr double kDied = 9e6 - 20;
  heap::Sample& text =
      made->Add({"format@log.cc:9", "handle@server.cc:50", "main@m.cc:3"}, 40, 9e6, 20, 100);
  text.deaths = {{10, 15, false, {kDied, 40 * kDied}}};
  text[Metric::kTemporary] = {kDied, 40 * kDied};
}

void AddStart(HandMade* made) {
  made->Add({"load@conf.cc:5", "main@m.cc:2"}, 4e6, 1, 1, 1).ages = {{28, 33, false, {1, 4e6}}};
}

void AddPeak(HandMade* made) {
  made->Add({"sort@batch.cc:8", "handle@server.cc:60", "main@m.cc:3"}, 4e7, 1, 0, 1).deaths = {
      {22, 26, false, {1, 4e7}}};
}

}  // namespace

HandMade Server() {
  HandMade made;
  heap::HeapProfile& profile = made.profile;
  profile.duration_seconds = 16;
  profile.pid = 17;
  profile.peak_seconds = 9.5;
  profile.has[static_cast<size_t>(Metric::kTemporary)] = true;
  AddLeak(&made);
  AddCache(&made);
  AddTexts(&made);
  AddStart(&made);
  AddPeak(&made);
  for (int i = 0; i <= kTimelinePoints; ++i) {
    const double live = 1e5 * i;
    profile.timeline.push_back({i / 10.0, 4e6 * i, live, live + (i == 95 ? 4e7 : 0)});
  }
  profile.threads = {{"main", 17, 3e8, 3.03e8, 9e12, {1e6, 2e8}, {1000, 1e7}},
                     {"worker", 18, 1e8, 0.9e8, 3e12, {1e6, 1e8}, {1000, 3e7}},
                     {"worker", 19, 1e8, 1e8, 3e12, {1e6, 1e8}, {1000, 1e6}}};
  return made;
}

}  // namespace allomon::views
