// `go tool pprof` prints our totals for the files that we write, and we compute its totals for the
// files that Go's runtime writes.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "tests/pprof/profiles.h"
#include "tools/load/load.h"
#include "tools/pprof/gzip.h"
#include "tools/pprof/pprof.h"

namespace allomon::pprof {
namespace {

using heap::HeapProfile;
using heap::Metric;
using heap::Sample;
using testing::RandomProfile;
using testing::SmallProfile;

// A function as -top shows it.
struct Row {
  int64_t flat = 0;
  int64_t cum = 0;
};
using Rows = std::map<std::string, Row>;

struct Type {
  const char* name;
  Metric metric;
  bool is_blocks;
};

constexpr Type kTypes[] = {
    {"alloc_objects", Metric::kAllocated, true},     {"alloc_space", Metric::kAllocated, false},
    {"inuse_objects", Metric::kLive, true},          {"inuse_space", Metric::kLive, false},
    {"peak_objects", Metric::kPeak, true},           {"peak_space", Metric::kPeak, false},
    {"temporary_objects", Metric::kTemporary, true}, {"temporary_space", Metric::kTemporary, false},
};

int64_t ValueOf(const Sample& sample, const Type& type) {
  const heap::Amount& amount = sample[type.metric];
  return std::llround(type.is_blocks ? amount.blocks : amount.bytes);
}

int64_t TotalOf(const HeapProfile& profile, const Type& type) {
  int64_t total = 0;
  for (const Sample& sample : profile.samples) total += ValueOf(sample, type);
  return total;
}

// Returns the names of a stack's frames, innermost first, including inlined ones.
std::vector<std::string> NamesOf(const Sample& sample, const HeapProfile& profile) {
  std::vector<std::string> names;
  for (uint32_t location : sample.stack) {
    for (const heap::Line& line : profile.locations[location].lines) {
      names.push_back(profile.functions[line.function].name);
    }
  }
  return names;
}

Rows RowsOf(const HeapProfile& profile, const Type& type) {
  Rows rows;
  for (const Sample& sample : profile.samples) {
    const std::vector<std::string> names = NamesOf(sample, profile);
    const int64_t value = ValueOf(sample, type);
    if (names.empty() || value == 0) continue;
    rows[names.front()].flat += value;
    for (const std::string& name : std::set<std::string>(names.begin(), names.end())) {
      rows[name].cum += value;
    }
  }
  return rows;
}

class GoPprofTest : public ::testing::Test {
 protected:
  GoPprofTest() {
    const std::string home = ::testing::TempDir();
    setenv("HOME", home.c_str(), 1);
    setenv("PPROF_TMPDIR", home.c_str(), 1);
    setenv("GOCACHE", (home + "gocache").c_str(), 1);
    setenv("GO111MODULE", "off", 1);
    setenv("GOPROXY", "off", 1);
    setenv("GOFLAGS", "", 1);
  }

  static std::string PathOf(const std::string& name) { return ::testing::TempDir() + name; }

  static std::string Write(const std::string& name, const std::string& bytes) {
    std::ofstream(PathOf(name), std::ios::binary) << bytes;
    return PathOf(name);
  }
  static std::string Write(const std::string& name, const HeapProfile& profile) {
    return Write(name, Gzip(EncodePprof(profile)));
  }

  // Returns the output of the command.
  static std::string Run(const std::string& command) {
    FILE* pipe = popen((command + " 2>&1").c_str(), "r");
    std::string printed;
    char buffer[4096];
    while (size_t got = fread(buffer, 1, sizeof buffer, pipe)) printed.append(buffer, got);
    EXPECT_EQ(pclose(pipe), 0) << command << "\n" << printed;
    return printed;
  }
  static std::string Pprof(const std::string& arguments) {
    return Run("go tool pprof -nodecount=100000 -nodefraction=0 -edgefraction=0 " + arguments);
  }
  static std::string Top(const std::string& arguments) {
    return Pprof("-top -unit=B " + arguments);
  }

  // Parses "Showing nodes accounting for ..., 100% of 123B total".
  static int64_t TotalIn(const std::string& printed) {
    const size_t end = printed.find(" total\n");
    const size_t begin = printed.rfind(" of ", end);
    EXPECT_NE(begin, std::string::npos) << printed;
    return begin == std::string::npos ? -1 : atoll(printed.c_str() + begin + 4);
  }

  // Parses the lines "flat flat% sum% cum cum% name".
  static Rows RowsIn(const std::string& printed) {
    Rows rows;
    std::istringstream lines(printed.substr(printed.find("cum%\n") + 5));
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string flat, cum, skipped, name;
      words >> flat >> skipped >> skipped >> cum >> skipped >> std::ws;
      std::getline(words, name);
      const size_t inlined = name.find(" (");
      if (inlined != std::string::npos) name.resize(inlined);
      rows[name] = {atoll(flat.c_str()), atoll(cum.c_str())};
    }
    return rows;
  }

  static void ExpectRows(const Rows& expected, Rows printed) {
    for (const auto& [name, row] : expected) {
      EXPECT_EQ(row.flat, printed[name].flat) << name;
      EXPECT_EQ(row.cum, printed[name].cum) << name;
    }
  }

  // Go 1.23 and later print a column after each line: 0, since our files have no columns.
  static std::string WithoutColumns(const std::string& raw) {
    return std::regex_replace(raw, std::regex(":0 s="), " s=");
  }

  static void ExpectPrinted(const std::string& printed, const std::string& part) {
    EXPECT_NE(printed.find(part), std::string::npos) << part << " is not in\n" << printed;
  }
};

TEST_F(GoPprofTest, TopIsOurs) {
  const HeapProfile profile = RandomProfile(300, 3);
  const std::string file = Write("top.pb.gz", profile);
  for (const Type& type : kTypes) {
    const std::string printed = Top("-sample_index=" + std::string(type.name) + " " + file);
    EXPECT_EQ(TotalIn(printed), TotalOf(profile, type)) << type.name;
    ExpectRows(RowsOf(profile, type), RowsIn(printed));
  }
}

TEST_F(GoPprofTest, WhatLivesIsShownFirst) {
  const std::string printed = Top(Write("default.pb.gz", SmallProfile()));
  ExpectPrinted(printed, "Type: inuse_space");
  ExpectPrinted(printed, "File: cook");
  ExpectPrinted(printed, "Build ID: 0123456789abcdef");
  EXPECT_EQ(TotalIn(printed), TotalOf(SmallProfile(), kTypes[3]));
}

TEST_F(GoPprofTest, LinesAndInlinedFrames) {
  const std::string file = Write("lines.pb.gz", SmallProfile());
  const std::string lines = Top("-lines " + file);
  ExpectPrinted(lines, "Pot::Grow() /src/pot.h:33 (inline)");
  ExpectPrinted(lines, "Pot::Fill(int) /src/pot.cc:25");
  ExpectPrinted(lines, "main /src/cook.cc:12");
  const std::string peek = Pprof("-peek=Grow " + file);
  ExpectPrinted(peek, "Pot::Fill(int) (inline)");
  const std::string raw = WithoutColumns(Pprof("-raw " + file));
  ExpectPrinted(raw, ": 0x402000 M=");  // the mapping's number that follows differs between Go's
                                        // versions
  ExpectPrinted(raw, " Pot::Grow() /src/pot.h:33 s=30(_ZN3Pot4GrowEv)");
  ExpectPrinted(raw, "0x400000/0x500000/0x0 /usr/bin/cook 0123456789abcdef [FN][FL][LN][IN]");
  ExpectPrinted(raw, "0x7f0000000000/0x7f0000100000/0x1000 /lib/libc.so.6 c0ffee [FN]");
}

TEST_F(GoPprofTest, LabelsAreShown) {
  const std::string file = Write("labels.pb.gz", SmallProfile());
  const std::string traces = Pprof("-traces " + file);
  ExpectPrinted(traces, "thread:  helper 4713");
  ExpectPrinted(traces, "request:  soup");
  ExpectPrinted(traces, "bytes:  16B");
  const int64_t of_cook = ValueOf(SmallProfile().samples[1], kTypes[3]);
  const std::string tags = Pprof("-tags " + file);
  ExpectPrinted(tags, "request: Total");
  ExpectPrinted(tags, "soup");
  const std::string of_soup = Top("-tagfocus=request=soup " + file);
  ExpectPrinted(of_soup, std::to_string(ValueOf(SmallProfile().samples[1], kTypes[3])) + "B");
  EXPECT_EQ(TotalIn(Top("-tagfocus=thread=cook " + file)), TotalOf(SmallProfile(), kTypes[3]));
  ExpectPrinted(Top("-tagfocus=thread=cook " + file), std::to_string(of_cook) + "B");
}

TEST_F(GoPprofTest, CommentsAreForPeople) {
  const std::string file = Write("comments.pb.gz", RandomProfile(1000, 4));
  const std::string printed = Run("go tool pprof -comments " + file);
  ExpectPrinted(printed, "Heap profile by Allomon of /usr/bin/cook, process 4711\n");
  ExpectPrinted(printed, "Sampled: one hit per 80000 bytes on the average");
  EXPECT_LT(printed.size(), 500u);
}

TEST_F(GoPprofTest, DifferenceToABase) {
  const HeapProfile before = RandomProfile(200, 5);
  HeapProfile after = before;
  after.samples[7][Metric::kLive].bytes += 1'000'000'000;
  const std::string base = Write("before.pb.gz", before);
  const std::string printed = Top("-diff_base=" + base + " " + Write("after.pb.gz", after));
  Rows expected;
  for (const std::string& name : NamesOf(after.samples[7], after)) {
    expected[name].cum = 1'000'000'000;
  }
  expected[NamesOf(after.samples[7], after).front()].flat = 1'000'000'000;
  ExpectRows(expected, RowsIn(printed));
  EXPECT_EQ(TotalIn(printed), TotalOf(before, kTypes[3]));
}

TEST_F(GoPprofTest, WhatItHasMergedIsReadAgain) {
  HeapProfile other = SmallProfile();
  other.seed = 2;
  const std::string merged = PathOf("merged.pb.gz");
  Run("go tool pprof -proto -output=" + merged + " " + Write("one.pb.gz", SmallProfile()) + " " +
      Write("other.pb.gz", other));
  const auto profile = load::LoadHeapProfile(merged, {});
  ASSERT_TRUE(profile.ok()) << profile.status();
  EXPECT_EQ(profile->rate, SmallProfile().rate);
  EXPECT_TRUE(profile->is_sum);
  for (const Type& type : kTypes) {
    EXPECT_EQ(TotalOf(*profile, type), 2 * TotalOf(SmallProfile(), type)) << type.name;
  }
}

constexpr char kGoProgram[] = R"(package main

import (
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
)

var kept [][]byte

//go:noinline
func keep(bytes int) { kept = append(kept, make([]byte, bytes)) }

func main() {
	runtime.MemProfileRate, _ = strconv.Atoi(os.Args[2])
	for i := 0; i < 1000; i++ {
		keep(1000)
	}
	runtime.GC()
	file, _ := os.Create(os.Args[1])
	pprof.Lookup("heap").WriteTo(file, 0)
	file.Close()
}
)";

TEST_F(GoPprofTest, HeapProfilesOfGo) {
  const std::string program = PathOf("keep");
  Run("go build -o " + program + " " + Write("keep.go", kGoProgram));
  for (const std::string rate : {"1", "8192"}) {
    const std::string file = PathOf("go" + rate + ".pb.gz");
    Run(program + " " + file + " " + rate);
    const auto profile = load::LoadHeapProfile(file, {});
    ASSERT_TRUE(profile.ok()) << profile.status();
    EXPECT_TRUE(rate == "1" ? profile->rate == 1 : profile->rate > 0.0009);
    for (size_t i = 0; i < 4; ++i) {
      const std::string printed = Top("-sample_index=" + std::string(kTypes[i].name) + " " + file);
      EXPECT_EQ(TotalIn(printed), TotalOf(*profile, kTypes[i])) << kTypes[i].name;
      EXPECT_EQ(RowsIn(printed)["main.keep"].flat, RowsOf(*profile, kTypes[i])["main.keep"].flat);
    }
  }
}

}  // namespace
}  // namespace allomon::pprof
