// Perfetto's trace, read back by a reader with numbers of its own: totals are pprof's, each number
// refers to something, and files of one process are dumps in time.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "tests/interchange/example_profile.h"
#include "tests/interchange/otlp_reader.h"
#include "tools/export/export.h"
#include "tools/pprof/pprof.h"

namespace allomon::interchange {
namespace {

using heap::HeapProfile;
using heap::Metric;
using testing::Message;

constexpr uint64_t kSecond = 1'000'000'000;

// All parts of a dump of one heap at one time.
struct Dump {
  std::string heap;
  uint64_t pid = 0, time = 0, start = 0, interval = 0;
  std::map<uint64_t, Message> samples;  // by call stack
  double Sum(uint64_t field) const {
    double sum = 0;
    for (const auto& [stack, sample] : samples) sum += static_cast<double>(sample.Number(field));
    return sum;
  }
};

class Trace {
 public:
  explicit Trace(const std::string& bytes) {
    uint64_t index = 0;
    for (const Message& packet : Message(bytes).Subs(1)) {
      EXPECT_EQ(packet.Number(10), 1u) << "one sequence";
      EXPECT_EQ(packet.Number(13), packets_++ == 0 ? 1u : 2u) << "flags";
      AddInterned(packet.Sub(12));
      if (packet.Has(11)) counters.emplace_back(packet.Number(8), packet.Sub(11).Number(30));
      if (packet.Has(60)) tracks.push_back(packet.Sub(60));
      if (!packet.Has(37)) continue;
      const Message profile = packet.Sub(37);
      EXPECT_EQ(profile.Number(7), index++);
      AddDump(profile.Sub(5));
      is_open_ = profile.Number(6) != 0;
      if (is_open_) ++continued;
    }
    EXPECT_FALSE(is_open_);
    CheckTables();
  }

  // Outermost first.
  std::vector<std::string> NamesOf(uint64_t stack) const {
    std::vector<std::string> names;
    for (const Message::Value& frame : table_.at(7).at(stack).All(2)) {
      names.push_back(TextOf(5, table_.at(6).at(frame.number).Number(2)));
    }
    return names;
  }
  std::string TextOf(uint64_t table, uint64_t iid) const {
    return table_.at(table).at(iid).Bytes(2);
  }
  const std::map<uint64_t, Message>& Table(uint64_t field) const { return table_.at(field); }
  const Dump& Of(const std::string& heap, size_t number = 0) const {
    for (const Dump& dump : dumps) {
      if (dump.heap == heap && number-- == 0) return dump;
    }
    ADD_FAILURE() << "no dump of " << heap;
    return dumps.front();
  }

  std::vector<Dump> dumps;
  std::vector<std::pair<uint64_t, uint64_t>> counters;  // time and value
  std::vector<Message> tracks;
  size_t continued = 0;

 private:
  void AddInterned(const Message& interned) {
    for (const uint64_t field : {5, 6, 7, 16, 17, 18, 19}) {
      for (const Message& item : interned.Subs(field)) {
        EXPECT_NE(item.Number(1), 0u);
        EXPECT_TRUE(table_[field].emplace(item.Number(1), item).second) << "twice";
      }
    }
  }

  void AddDump(const Message& message) {
    if (!is_open_) {
      dumps.push_back({message.Bytes(11),
                       message.Number(1),
                       message.Number(9),
                       message.Number(15),
                       message.Number(12),
                       {}});
      EXPECT_EQ(message.Number(13), message.Number(12)) << "or readers leave out counts of a peak";
    }
    EXPECT_EQ(message.Bytes(11), dumps.back().heap) << "a part of the same dump";
    for (const Message& sample : message.Subs(2)) {
      EXPECT_TRUE(dumps.back().samples.emplace(sample.Number(1), sample).second);
    }
  }

  // Besides references: a reader knows frames by mapping, address and name, and stacks by frames.
  void CheckTables() {
    std::set<std::tuple<uint64_t, uint64_t, uint64_t>> frames;
    for (const auto& [iid, frame] : table_[6]) {
      EXPECT_EQ(table_[5].count(frame.Number(2)), 1u);
      EXPECT_EQ(table_[19].count(frame.Number(3)), 1u);
      EXPECT_EQ(table_[18].count(frame.Number(5)), frame.Has(5) ? 1u : 0u);
      EXPECT_TRUE(frame.Has(4)) << "needed beside a mapping";
      EXPECT_TRUE(frames.emplace(frame.Number(2), frame.Number(3), frame.Number(4)).second);
    }
    for (const auto& [iid, mapping] : table_[19]) {
      EXPECT_EQ(table_[16].count(mapping.Number(2)), mapping.Has(2) ? 1u : 0u);
      EXPECT_EQ(table_[17].count(mapping.Number(7)), mapping.Has(7) ? 1u : 0u);
    }
    std::set<std::vector<uint64_t>> stacks;
    for (const auto& [iid, stack] : table_[7]) {
      std::vector<uint64_t> numbers;
      for (const Message::Value& frame : stack.All(2)) numbers.push_back(frame.number);
      for (const uint64_t number : numbers) EXPECT_EQ(table_[6].count(number), 1u);
      EXPECT_FALSE(numbers.empty());
      EXPECT_TRUE(stacks.insert(numbers).second);
    }
    for (const Dump& dump : dumps) {
      for (const auto& [stack, sample] : dump.samples) EXPECT_EQ(table_[7].count(stack), 1u);
    }
  }

  std::map<uint64_t, std::map<uint64_t, Message>> table_;
  size_t packets_ = 0;
  bool is_open_ = false;  // the next packet is a part of the same dump
};

void ExpectTotals(const Trace& trace, const HeapProfile& profile) {
  const auto pprof = pprof::DecodePprof(pprof::EncodePprof(profile));
  ASSERT_TRUE(pprof.ok());
  const Dump& malloc = trace.Of("libc.malloc");
  EXPECT_EQ(malloc.Sum(2), testing::TotalBytes(*pprof, Metric::kAllocated));
  EXPECT_EQ(malloc.Sum(2) - malloc.Sum(3), testing::TotalBytes(*pprof, Metric::kLive));
  EXPECT_EQ(malloc.Sum(5), testing::TotalBlocks(*pprof, Metric::kAllocated));
  EXPECT_EQ(malloc.Sum(5) - malloc.Sum(6), testing::TotalBlocks(*pprof, Metric::kLive));
  EXPECT_GT(malloc.Sum(3), 0);
  for (const Metric metric : {Metric::kPeak, Metric::kTemporary}) {
    const Dump& dump = trace.Of(std::string("libc.malloc (") + heap::MetricName(metric) + ")");
    EXPECT_EQ(dump.Sum(8), testing::TotalBytes(*pprof, metric));
    EXPECT_EQ(dump.Sum(9), testing::TotalBlocks(*pprof, metric));
    EXPECT_EQ(dump.Sum(2) + dump.Sum(3), 0);
  }
}

Trace Exported(const HeapProfile& profile) {
  return Trace(testing::Export("perfetto", profile, Metric::kLive));
}

Trace SeriesOf(const std::vector<HeapProfile>& profiles) {
  auto files = ExportSeries(*FindExportFormat("perfetto"), profiles, Metric::kLive);
  EXPECT_TRUE(files.ok() && files->size() == 1);
  return Trace(files->front().bytes);
}

TEST(PerfettoTest, TotalsAreThoseOfPprof) {
  for (const HeapProfile& profile : {testing::OddProfile(), testing::LargeProfile(300)}) {
    ExpectTotals(Exported(profile), profile);
  }
}

TEST(PerfettoTest, LargeDumpHasSeveralPackets) {
  const HeapProfile profile = testing::LargeProfile(5000);
  const Trace trace = Exported(profile);
  EXPECT_GT(trace.continued, 0u);
  ExpectTotals(trace, profile);
}

TEST(PerfettoTest, StacksAreOutermostFirst) {
  const Trace trace = Exported(testing::OddProfile());
  std::set<std::vector<std::string>> stacks;
  for (const auto& [stack, sample] : trace.Of("libc.malloc").samples) {
    stacks.insert(trace.NamesOf(stack));
  }
  using Names = std::vector<std::string>;
  EXPECT_EQ(stacks.count(Names{"main", "f(int)"}), 1u);
  EXPECT_EQ(stacks.count(Names{"main", "f(int)", "ns::g<char; \"int\">", "h::operator()#1 50%",
                               "f(int)", "ns::g<char; \"int\">", "h::operator()#1 50%"}),
            1u);
  EXPECT_EQ(stacks.count(Names{"(no stack)"}), 1u);
  EXPECT_EQ(stacks.count(Names{"main", "two\nlines\tand \\ \xef\xbf\xbd\xef\xbf\xbd \xe2\x82\xac"}),
            1u);
  const Message mapping = trace.Table(19).at(1);
  EXPECT_EQ(trace.TextOf(17, mapping.Number(7)), "usr/bin/an example");
  EXPECT_EQ(trace.TextOf(16, mapping.Number(2)), "\xab\xcd\xef\x01\x23");
  EXPECT_EQ(mapping.Number(4), 0x400000u);
  EXPECT_EQ(trace.Table(6).at(1).Number(4), 0x10u) << "of the first location";
  EXPECT_EQ(trace.TextOf(18, trace.Table(6).at(1).Number(5)), "src/main.cc");
  EXPECT_EQ(trace.Table(6).at(1).Number(6), 11u);
}

TEST(PerfettoTest, TimesAndTracks) {
  HeapProfile profile = testing::OddProfile();
  profile.start_unix_nanos = 1'700'000'000'123'456'789;
  const Trace trace = Exported(profile);
  const uint64_t start = 1'700'000'000'123'456'789;
  const Dump& malloc = trace.Of("libc.malloc");
  EXPECT_EQ(malloc.pid, 4242u);
  EXPECT_EQ(malloc.interval, 8000u);
  EXPECT_EQ(malloc.start, start);
  EXPECT_EQ(malloc.time, start + 5 * kSecond / 2);
  EXPECT_EQ(trace.Of("libc.malloc (peak)").time, start + 5 * kSecond / 4);
  ASSERT_EQ(trace.tracks.size(), 2u);
  EXPECT_EQ(trace.tracks[0].Sub(3).Number(1), 4242u);
  EXPECT_EQ(trace.tracks[0].Sub(3).Bytes(6), "an") << "the command's first word";
  EXPECT_EQ(trace.tracks[1].Number(5), trace.tracks[0].Number(1));
  ASSERT_EQ(trace.counters.size(), 4u);
  EXPECT_EQ(trace.counters[2], std::pair(start + 5 * kSecond / 4, uint64_t{900'000}));
}

TEST(PerfettoTest, SeveralFilesAreDumpsInTime) {
  HeapProfile later = testing::OddProfile();
  later.start_unix_nanos = 1000;
  HeapProfile earlier = later;
  earlier.duration_seconds = 1;
  for (heap::Sample& sample : earlier.samples) {
    for (heap::Amount& amount : sample.amounts) amount = {amount.blocks / 2, amount.bytes / 2};
  }
  const Trace trace = SeriesOf({later, earlier});
  ASSERT_EQ(trace.dumps.size(), 4u);
  const Dump& first = trace.dumps[0];
  const Dump& second = trace.dumps[1];
  EXPECT_EQ(first.heap, "libc.malloc");
  EXPECT_EQ(second.heap, "libc.malloc");
  EXPECT_EQ(first.time, 1000 + kSecond);
  EXPECT_EQ(second.start, first.time) << "what is between two dumps";
  EXPECT_EQ(second.time, 1000 + 5 * kSecond / 2);
  EXPECT_EQ(trace.dumps[2].heap, "libc.malloc (peak)") << "of the last file, behind the dumps";
  EXPECT_EQ(first.samples.size(), second.samples.size());
  for (const auto& [stack, sample] : first.samples) {
    const Message& now = second.samples.at(stack);
    EXPECT_LE(sample.Number(2), now.Number(2)) << "or readers refuse the difference";
    EXPECT_LE(sample.Number(3), now.Number(3));
  }
  ExpectTotals(SeriesOf({later}), later);
}

TEST(PerfettoTest, SeveralProcessesStayApart) {
  HeapProfile other = testing::OddProfile();
  other.pid = 7;
  const Trace trace = SeriesOf({testing::OddProfile(), other});
  EXPECT_EQ(trace.dumps.size(), 6u);
  EXPECT_EQ(trace.dumps[0].Sum(2), trace.dumps[1].Sum(2));
  EXPECT_NE(trace.dumps[0].pid, trace.dumps[1].pid);
}

HeapProfile ProfileOf(Metric only) {
  HeapProfile profile = testing::OddProfile();
  profile.has = {};
  profile.has[static_cast<size_t>(only)] = true;
  for (heap::Sample& sample : profile.samples) {
    for (size_t i = 0; i < heap::kMetrics; ++i) {
      if (static_cast<Metric>(i) != only) sample.amounts[i] = {};
    }
  }
  return profile;
}

// All of it was said to be live.
TEST(PerfettoTest, AllocationsAloneAreAHeapOfTheirOwn) {
  const HeapProfile profile = ProfileOf(Metric::kAllocated);
  const Trace trace = Exported(profile);
  ASSERT_EQ(trace.dumps.size(), 1u);
  EXPECT_EQ(trace.dumps[0].heap, "libc.malloc (alloc)");
  EXPECT_EQ(trace.dumps[0].Sum(2), 0);
  const auto pprof = pprof::DecodePprof(pprof::EncodePprof(profile));
  ASSERT_TRUE(pprof.ok());
  EXPECT_EQ(trace.dumps[0].Sum(8), testing::TotalBytes(*pprof, Metric::kAllocated));
}

TEST(PerfettoTest, LiveBlocksAloneAreNotFreed) {
  HeapProfile profile = ProfileOf(Metric::kLive);
  profile.rate = 0;
  profile.pid = 0;
  const Trace trace = Exported(profile);
  ASSERT_EQ(trace.dumps.size(), 1u);
  EXPECT_EQ(trace.dumps[0].Sum(3), 0);
  EXPECT_EQ(trace.dumps[0].interval, 1u);
  const auto pprof = pprof::DecodePprof(pprof::EncodePprof(profile));
  ASSERT_TRUE(pprof.ok());
  EXPECT_EQ(trace.dumps[0].Sum(2), testing::TotalBytes(*pprof, Metric::kLive));
}

}  // namespace
}  // namespace allomon::interchange
