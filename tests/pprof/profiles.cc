#include "tests/pprof/profiles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "tools/heap/missing.h"

namespace allomon::pprof::testing {
namespace {

using heap::AgeCell;
using heap::Amount;
using heap::Function;
using heap::HeapProfile;
using heap::kNone;
using heap::Location;
using heap::Mapping;
using heap::Metric;
using heap::Sample;
using heap::Thread;

Sample SampleOf(std::vector<uint32_t> stack, uint64_t size_bytes, double blocks) {
  Sample sample;
  sample.stack = std::move(stack);
  sample.size_bytes = size_bytes;
  sample.has_size = true;
  const double bytes = blocks * static_cast<double>(size_bytes);
  sample[Metric::kAllocated] = {blocks, bytes};
  sample[Metric::kLive] = {std::floor(blocks / 2), std::floor(bytes / 2)};
  sample[Metric::kPeak] = {std::floor(blocks / 3), std::floor(bytes / 3)};
  sample[Metric::kTemporary] = {std::floor(blocks / 4), std::floor(bytes / 4)};
  return sample;
}

Thread ThreadOf(const std::string& name, uint64_t tid) {
  Thread thread;
  thread.name = name;
  thread.tid = tid;
  thread.exact_words = 1234567;
  thread.estimated_words = 1234000.5;
  thread.estimated_words_variance = 0.1;
  thread.allocated = {10.25, 1000.125};
  thread.live = {1, 100};
  return thread;
}

void AddHead(HeapProfile* profile) {
  profile->has = {true, true, true, true, false, false};
  profile->rate = 1e-4;
  profile->seed = 0xfedcba9876543210;
  profile->program = "/usr/bin/cook";
  profile->command = "cook --pot 'large one'";
  profile->pid = 4711;
  profile->start_unix_nanos = 1'600'000'000'123'456'789;
  profile->duration_seconds = 12.5;
  profile->peak_seconds = 3.25;
  profile->origin = "recording";
}

void ExpectSameAmount(const Amount& expected, const Amount& actual) {
  EXPECT_EQ(std::round(expected.blocks), actual.blocks);
  EXPECT_EQ(std::round(expected.bytes), actual.bytes);
}

void ExpectSameCells(const std::vector<AgeCell>& expected, const std::vector<AgeCell>& actual) {
  ASSERT_EQ(expected.size(), actual.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(expected[i].log2_bytes, actual[i].log2_bytes);
    EXPECT_EQ(expected[i].log2_nanos, actual[i].log2_nanos);
    EXPECT_EQ(expected[i].other_thread, actual[i].other_thread);
    ExpectSameAmount(expected[i].amount, actual[i].amount);
  }
}

void ExpectSameLabels(const Sample& expected, const Sample& actual) {
  ASSERT_EQ(expected.labels.size(), actual.labels.size());
  for (size_t i = 0; i < expected.labels.size(); ++i) {
    EXPECT_EQ(expected.labels[i].key, actual.labels[i].key);
    EXPECT_EQ(expected.labels[i].value, actual.labels[i].value);
  }
}

void ExpectSameSample(const Sample& expected, const Sample& actual) {
  EXPECT_EQ(expected.stack, actual.stack);
  EXPECT_EQ(expected.size_bytes, actual.size_bytes);
  EXPECT_EQ(expected.has_size, actual.has_size);
  EXPECT_EQ(expected.has_header, actual.has_header);
  EXPECT_EQ(expected.source, actual.source);
  EXPECT_EQ(expected.thread, actual.thread);
  ExpectSameLabels(expected, actual);
  for (size_t i = 0; i < heap::kMetrics; ++i) {
    ExpectSameAmount(expected.amounts[i], actual.amounts[i]);
  }
  ExpectSameCells(expected.deaths, actual.deaths);
  ExpectSameCells(expected.ages, actual.ages);
  ASSERT_EQ(expected.sizes.size(), actual.sizes.size());
  for (size_t i = 0; i < expected.sizes.size(); ++i) {
    EXPECT_EQ(expected.sizes[i].size_bytes, actual.sizes[i].size_bytes);
    ExpectSameAmount(expected.sizes[i].amount, actual.sizes[i].amount);
    EXPECT_EQ(expected.sizes[i].is_mean, actual.sizes[i].is_mean);
  }
}

void ExpectSameLocation(const Location& expected, const Location& actual) {
  EXPECT_EQ(expected.address, actual.address);
  EXPECT_EQ(expected.mapping, actual.mapping);
  ASSERT_EQ(expected.lines.size(), actual.lines.size());
  for (size_t i = 0; i < expected.lines.size(); ++i) {
    EXPECT_EQ(expected.lines[i].function, actual.lines[i].function);
    EXPECT_EQ(expected.lines[i].line, actual.lines[i].line);
    EXPECT_EQ(expected.lines[i].column, actual.lines[i].column);
  }
}

void ExpectSameFunction(const Function& expected, const Function& actual) {
  EXPECT_EQ(expected.name, actual.name);
  EXPECT_EQ(expected.linker_name, actual.linker_name);
  EXPECT_EQ(expected.file, actual.file);
  EXPECT_EQ(expected.start_line, actual.start_line);
}

void ExpectSameMapping(const Mapping& expected, const Mapping& actual) {
  EXPECT_EQ(expected.begin, actual.begin);
  EXPECT_EQ(expected.end, actual.end);
  EXPECT_EQ(expected.file_offset, actual.file_offset);
  EXPECT_EQ(expected.path, actual.path);
  EXPECT_EQ(expected.build_id, actual.build_id);
}

void ExpectSameThread(const Thread& expected, const Thread& actual) {
  EXPECT_EQ(expected.name, actual.name);
  EXPECT_EQ(expected.tid, actual.tid);
  EXPECT_EQ(expected.exact_words, actual.exact_words);
  EXPECT_EQ(expected.estimated_words, actual.estimated_words);
  EXPECT_EQ(expected.estimated_words_variance, actual.estimated_words_variance);
  EXPECT_EQ(expected.allocated.blocks, actual.allocated.blocks);
  EXPECT_EQ(expected.allocated.bytes, actual.allocated.bytes);
  EXPECT_EQ(expected.live.blocks, actual.live.blocks);
  EXPECT_EQ(expected.live.bytes, actual.live.bytes);
}

void ExpectSamePoint(const heap::TimelinePoint& expected, const heap::TimelinePoint& actual) {
  EXPECT_EQ(expected.seconds, actual.seconds);
  EXPECT_EQ(expected.allocated_bytes, actual.allocated_bytes);
  EXPECT_EQ(expected.live_bytes, actual.live_bytes);
  EXPECT_EQ(expected.most_live_bytes, actual.most_live_bytes);
}

template <typename T, typename Expect>
void ExpectSameAll(const std::vector<T>& expected, const std::vector<T>& actual, Expect expect) {
  ASSERT_EQ(expected.size(), actual.size());
  for (size_t i = 0; i < expected.size(); ++i) expect(expected[i], actual[i]);
}

void ExpectSameHead(const HeapProfile& expected, const HeapProfile& actual) {
  EXPECT_EQ(expected.has, actual.has);
  EXPECT_EQ(expected.has_blocks, actual.has_blocks);
  EXPECT_EQ(expected.is_sum, actual.is_sum);
  EXPECT_EQ(expected.rate, actual.rate);
  EXPECT_EQ(expected.seed, actual.seed);
  EXPECT_EQ(expected.program, actual.program);
  EXPECT_EQ(expected.command, actual.command);
  EXPECT_EQ(expected.pid, actual.pid);
  EXPECT_EQ(expected.start_unix_nanos, actual.start_unix_nanos);
  EXPECT_NEAR(expected.duration_seconds, actual.duration_seconds, 1e-9);
  EXPECT_EQ(expected.peak_seconds, actual.peak_seconds);
  EXPECT_EQ(expected.has_halves, actual.has_halves);
  for (const heap::MissingKind& kind : heap::kMissingKinds) {
    EXPECT_EQ(expected.missing.*kind.count, actual.missing.*kind.count) << kind.key;
  }
  EXPECT_EQ(expected.notes, actual.notes);
  EXPECT_EQ(expected.origin, actual.origin);
}

}  // namespace

HeapProfile SmallProfile() {
  HeapProfile profile;
  AddHead(&profile);
  profile.functions = {{"main", "", "/src/cook.cc", 10},
                       {"Pot::Fill(int)", "_ZN3Pot4FillEi", "/src/pot.cc", 20},
                       {"Pot::Grow()", "_ZN3Pot4GrowEv", "/src/pot.h", 30},
                       {"malloc", "", "", 0}};
  profile.mappings = {{0x7f0000000000, 0x7f0000100000, 0x1000, "/lib/libc.so.6", "c0ffee"},
                      {0x400000, 0x500000, 0, "/usr/bin/cook", "0123456789abcdef"}};
  profile.locations = {{0x401000, 1, {{0, 12}}},
                       {0x402000, 1, {{2, 33}, {1, 25}}},  // Grow inlined into Fill
                       {0x7f0000000100, 0, {{3, 0}}},
                       {0x7f0000000200, 0, {}},
                       {0x123, kNone, {{0, 13}}}};
  profile.threads = {ThreadOf("cook", 4711), ThreadOf("helper", 4712), ThreadOf("helper", 4713),
                     ThreadOf("", 4714)};
  profile.timeline = {{0, 0, 0, 0}, {0.1, 1e6, 5e5, 7e5}, {12.5, 3e6, 0.5, 1.0 / 3}};
  profile.samples = {SampleOf({2, 1, 0}, 16, 1000), SampleOf({1, 0}, 1024, 30),
                     SampleOf({3, 4}, 65536, 2), SampleOf({}, 0, 5)};
  profile.samples[0].thread = 2;
  profile.samples[1].thread = 0;
  profile.samples[3].thread = 3;
  profile.samples[1].labels = {{"request", "soup"}, {"guest", ""}};
  profile.samples[0].deaths = {{10, 12, false, {400, 6400}}, {20, 30, true, {100, 1600}}};
  profile.samples[0].ages = {{16, 28, false, {500, 8000}}};
  profile.samples[2].ages = {{40, 33, false, {1, 65536}}};
  profile.samples[0].sizes = {{16, {400, 6400}, false}, {17, {100, 1700}, true}};
  profile.samples[3].sizes = {{0, {5, 0}, false}};
  profile.samples[2].has_header = false;
  profile.samples[0].source = heap::Source::kMalloc;
  profile.samples[1].source = heap::Source::kMalloc;
  profile.samples[2].source = heap::Source::kCustomOrMapped;
  profile.samples[3].has_size = false;
  profile.notes = {"the pot was full", "two lines\nin one"};
  profile.has_halves = true;
  double count = 3;
  for (const heap::MissingKind& kind : heap::kMissingKinds) {
    profile.missing.*kind.count = count++;
  }
  return profile;
}

HeapProfile RandomProfile(int samples, uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&random](uint32_t bound) { return static_cast<uint32_t>(random() % bound); };
  HeapProfile profile;
  AddHead(&profile);
  profile.mappings = {{0x400000, 0x500000, 0, "/usr/bin/cook", "0123456789abcdef"}};
  profile.threads = {ThreadOf("cook", 4711)};
  const uint32_t frames = std::max(100, samples / 4);
  for (uint32_t i = 0; i < frames; ++i) {
    const std::string name = "kitchen::Cook<" + std::to_string(i) + ">::Stir(Pot const&)";
    profile.functions.push_back({name, "", "/src/cook" + std::to_string(i % 100) + ".cc", i});
    profile.locations.push_back({0x400000 + 16 * i, 0, {{i, below(1000)}}});
  }
  for (int i = 0; i < samples; ++i) {
    std::vector<uint32_t> stack(5 + below(40));
    for (uint32_t& location : stack) location = below(frames);
    profile.samples.push_back(SampleOf(stack, 8 << below(10), 1 + below(100000)));
    Sample& sample = profile.samples.back();
    sample.thread = 0;
    sample.source = static_cast<heap::Source>(below(heap::kSources));
    for (uint32_t cell = below(6); cell-- > 0;) {
      sample.deaths.push_back({static_cast<uint8_t>(below(30)),
                               static_cast<uint8_t>(below(30)),
                               false,
                               {1.0 + below(1000), 8.0 * below(1000)}});
    }
  }
  return profile;
}

void ExpectSame(const HeapProfile& expected, const HeapProfile& actual) {
  ExpectSameHead(expected, actual);
  ExpectSameAll(expected.samples, actual.samples, ExpectSameSample);
  ExpectSameAll(expected.locations, actual.locations, ExpectSameLocation);
  ExpectSameAll(expected.functions, actual.functions, ExpectSameFunction);
  ExpectSameAll(expected.mappings, actual.mappings, ExpectSameMapping);
  ExpectSameAll(expected.threads, actual.threads, ExpectSameThread);
  ExpectSameAll(expected.timeline, actual.timeline, ExpectSamePoint);
}

}  // namespace allomon::pprof::testing
