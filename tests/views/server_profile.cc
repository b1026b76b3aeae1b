#include "tests/views/hand_made.h"

namespace allomon::views {
namespace {

using heap::Metric;

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
