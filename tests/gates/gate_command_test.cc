#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tools/gate/gate.h"

namespace allomon::gate {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class GateCommand : public testing::Test {
 protected:
  static std::string Path(const std::string& name) { return testing::TempDir() + "gate_" + name; }

  static std::string Write(const std::string& name, const std::string& text) {
    std::ofstream(Path(name)) << text;
    return Path(name);
  }

  static std::string Read(const std::string& name) {
    std::ostringstream text;
    text << std::ifstream(Path(name)).rdbuf();
    return text.str();
  }

  static std::string Entry(const std::string& name, const std::string& figures) {
    return "{\"name\": \"" + name + "\", \"run_type\": \"iteration\", \"threads\": 1, " +
           "\"iterations\": 1000, " + figures + "}";
  }

  // Per iteration, in a pass of 16.
  static std::string Memory(double allocations, int bytes, int peak) {
    return "\"allocs_per_iter\": " + std::to_string(allocations) +
           ", \"total_allocated_bytes\": " + std::to_string(bytes * 16) +
           ", \"max_bytes_used\": " + std::to_string(peak);
  }

  static std::string Run(const std::string& entries) {
    return "{\"context\": {}, \"benchmarks\": [" + entries + "]}";
  }

  static Result Compare(const std::string& baseline, const std::string& current,
                        std::vector<std::string> more = {}) {
    more.push_back("--baseline=" + Write("base.json", baseline));
    more.push_back("--current=" + Write("now.json", current));
    return RunGate(more);
  }

  static void ExpectBadInput(const Result& result, const std::string& about) {
    EXPECT_EQ(result.status, 2);
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, AllOf(StartsWith("allomon gate: "), HasSubstr(about)));
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }

  const std::string base_ = Run(Entry("BM_A", Memory(2, 100, 60)));
};

TEST_F(GateCommand, EqualRunsPass) {
  const Result result = Compare(base_, base_);
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.out, "1 benchmark, 3 figures compared: none grew\n");
}

TEST_F(GateCommand, EachFigureThatGrowsFails) {
  const std::string runs[] = {Run(Entry("BM_A", Memory(3, 100, 60))),
                              Run(Entry("BM_A", Memory(2, 101, 60))),
                              Run(Entry("BM_A", Memory(2, 100, 61)))};
  const std::string names[] = {"allocations", "bytes", "peak bytes"};
  for (int i = 0; i < 3; ++i) {
    const Result result = Compare(base_, runs[i]);
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.out, HasSubstr("BM_A       " + names[i]));
    EXPECT_THAT(result.out, HasSubstr("1 benchmark failed"));
  }
}

TEST_F(GateCommand, ShrinkingPassesAndIsMentioned) {
  const Result result = Compare(base_, Run(Entry("BM_A", Memory(1, 99, 60))));
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.out, HasSubstr("2 figures shrank"));
}

TEST_F(GateCommand, MaxGrowthIsOfTheBaseline) {
  const std::string now = Run(Entry("BM_A", Memory(2, 105, 60)));
  EXPECT_EQ(Compare(base_, now, {"--max-growth=5%"}).status, 0);
  EXPECT_EQ(Compare(base_, now, {"--max-growth", "4.9%"}).status, 1);
}

TEST_F(GateCommand, GrowthFromNothingIsNoPercentage) {
  const Result result = Compare(Run(Entry("BM_A", Memory(0, 0, 0))),
                                Run(Entry("BM_A", Memory(0.0625, 1, 1))), {"--max-growth=1000%"});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.out, AllOf(HasSubstr("0.062"), HasSubstr("from 0")));
}

TEST_F(GateCommand, BytesArePerIterationOfTheCountedPass) {
  // 5 timed iterations, so 5 counted ones; 1000 of one thread, so 16.
  const std::string few =
      "{\"name\": \"BM_A\", \"iterations\": 5, \"threads\": 1, \"allocs_per_iter\": 1, "
      "\"total_allocated_bytes\": 50, \"max_bytes_used\": 10}";
  const std::string many =
      "{\"name\": \"BM_A\", \"iterations\": 2000, \"threads\": 2, \"allocs_per_iter\": 1, "
      "\"total_allocated_bytes\": 160, \"max_bytes_used\": 10}";
  EXPECT_EQ(Compare(Run(few), Run(many)).out, "1 benchmark, 3 figures compared: none grew\n");
  EXPECT_EQ(Compare(Run(many), Run(few)).out, "1 benchmark, 3 figures compared: none grew\n");
}

TEST_F(GateCommand, InstructionsMayVaryByTwoPercent) {
  const auto run = [](int instructions) {
    return Run(Entry("BM_A", "\"INSTRUCTIONS\": " + std::to_string(instructions)));
  };
  EXPECT_EQ(Compare(run(1000), run(1020)).status, 0);
  EXPECT_EQ(Compare(run(1000), run(1021)).status, 1);
}

TEST_F(GateCommand, OfRepetitionsTheSmallestCountsAndAggregatesDoNot) {
  const std::string now =
      Run(Entry("BM_A", Memory(9, 900, 900)) + "," + Entry("BM_A", Memory(2, 100, 60)) +
          ", {\"name\": \"BM_A_mean\", \"run_type\": \"aggregate\", \"iterations\": 2}");
  EXPECT_EQ(Compare(base_, now).out, "1 benchmark, 3 figures compared: none grew\n");
}

TEST_F(GateCommand, RemovedAndAddedBenchmarksFailAndAreNamed) {
  const Result result = Compare(base_, Run(Entry("BM_B", Memory(2, 100, 60))));
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.out, HasSubstr("BM_A is in the baseline but was not run"));
  EXPECT_THAT(result.out, HasSubstr("BM_B is not in the baseline"));
  EXPECT_THAT(result.out, HasSubstr("2 benchmarks failed"));
}

TEST_F(GateCommand, UpdateWritesABaselineThatComparesEqual) {
  std::remove(Path("new.json").c_str());
  const std::string current = Write("now.json", Run(Entry("BM_A", Memory(2.0625, 101, 60))));
  const std::vector<std::string> files = {"--baseline=" + Path("new.json"), "--current=" + current};
  std::vector<std::string> update = files;
  update.push_back("--update");
  EXPECT_EQ(RunGate(update).status, 0);
  EXPECT_EQ(RunGate(files).out, "1 benchmark, 3 figures compared: none grew\n");
  // The same for a baseline.
  const std::string first = Read("new.json");
  EXPECT_EQ(RunGate({"--baseline=" + Path("new.json"), "--current=" + Path("new.json"), "--update"})
                .status,
            0);
  EXPECT_EQ(Read("new.json"), first);
}

// Returns the profile of a pass of one iteration with two calls in one function.
std::string Profile(const std::string& sites) {
  return "{\"allomon_gate_profile\": 1, \"passes\": [" + sites + "]}";
}
std::string Pass(int allocations, const std::string& sites) {
  const std::string bytes = std::to_string(allocations * 8);
  return "{\"allocations\": " + std::to_string(allocations) + ", \"bytes\": " + bytes +
         ", \"peak_bytes\": " + bytes + ", \"sites\": [" + sites + "]}";
}
std::string Site(int allocations, int line) {
  return "{\"allocations\": " + std::to_string(allocations) +
         ", \"bytes\": " + std::to_string(allocations * 8) +
         ", \"frames\": [{\"function\": \"std::map::emplace\", \"file\": \"\", \"line\": 0}, "
         "{\"function\": \"Parse\", \"file\": \"./parse.cc\", \"line\": " +
         std::to_string(line) + "}]}";
}

class GateSites : public GateCommand {
 protected:
  static std::string Runs(int allocations) {
    return Run("{\"name\": \"BM_A\", \"iterations\": 1, \"threads\": 1, \"allocs_per_iter\": " +
               std::to_string(allocations) +
               ", \"total_allocated_bytes\": " + std::to_string(allocations * 8) +
               ", \"max_bytes_used\": " + std::to_string(allocations * 8) + "}");
  }

  // The baseline allocates twice on line 10.
  void SetUp() override {
    const Result updated = RunGate({"--baseline=" + Path("base.json"), "--update",
                                    "--current=" + Write("now.json", Runs(2)),
                                    "--profile=" + Write("p.json", Profile(Pass(2, Site(2, 10))))});
    ASSERT_EQ(updated.status, 0) << updated.err;
  }

  static Result CompareWith(int allocations, const std::string& sites,
                            std::vector<std::string> more = {}) {
    more.push_back("--baseline=" + Path("base.json"));
    more.push_back("--current=" + Write("now.json", Runs(allocations)));
    more.push_back("--profile=" + Write("p.json", Profile(Pass(allocations, sites))));
    return RunGate(more);
  }
};

TEST_F(GateSites, MovedCodeIsNoGrowth) { EXPECT_EQ(CompareWith(2, Site(2, 99)).status, 0); }

TEST_F(GateSites, OnlyTheNewLineIsNamedThoughItsFunctionIsKnown) {
  for (const auto& sites : {Site(1, 7) + "," + Site(2, 11), Site(2, 5) + "," + Site(1, 7)}) {
    const Result result = CompareWith(3, sites);
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.out, HasSubstr("+1 allocation, +8 bytes per iteration:\n"
                                      "      std::map::emplace\n"
                                      "      Parse  ./parse.cc:7\n"));
    EXPECT_THAT(result.out, Not(testing::AnyOf(HasSubstr(".cc:11"), HasSubstr(".cc:5"))));
  }
}

TEST_F(GateSites, OfTwoEqualLinesEitherMayBeTheNewOne) {
  const Result result = CompareWith(4, Site(2, 7) + "," + Site(2, 11));
  EXPECT_THAT(result.out, AllOf(HasSubstr(".cc:7"), HasSubstr(".cc:11"),
                                HasSubstr("or, allocating the same: Parse")));
}

TEST_F(GateSites, MoreOfTheSameLineIsTheDifference) {
  EXPECT_THAT(CompareWith(5, Site(5, 10)).out, HasSubstr("+3 allocations, +24 bytes"));
}

std::string Moved(int allocations, int bytes, const std::string& function) {
  return "{\"allocations\": " + std::to_string(allocations) +
         ", \"bytes\": " + std::to_string(bytes) + ", \"frames\": [{\"function\": \"" + function +
         "\", \"file\": \"./parse.cc\", \"line\": 3}]}";
}

// +3 and -2 are the growth of 1; without the -2 a reader would look for two allocations that do not
// exist.
TEST_F(GateSites, WhatVanishedIsListedWithAMinus) {
  const Result result = CompareWith(3, Moved(3, 24, "Lex"));
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.out,
              HasSubstr("  +3 allocations, +24 bytes per iteration:\n"
                        "      Lex  ./parse.cc:3\n"
                        "  -2 allocations, -16 bytes per iteration, allocated no more:\n"
                        "      std::map::emplace\n"
                        "      Parse in ./parse.cc\n"));
}

TEST_F(GateSites, FewerBytesInMoreAllocationsAreOneLine) {
  const Result result = CompareWith(3, Site(2, 10) + "," + Moved(1, 8, "Lex"));
  EXPECT_THAT(result.out, Not(HasSubstr("allocated no more")));
  std::string smaller = Site(3, 10);
  smaller.replace(smaller.find("24"), 2, "12");
  EXPECT_THAT(CompareWith(3, smaller + "," + Moved(0, 12, "Lex")).out,
              HasSubstr("  +1 allocation, -4 bytes per iteration:\n"));
  smaller.replace(smaller.find("12"), 2, "15");
  EXPECT_THAT(CompareWith(3, smaller + "," + Moved(0, 12, "Lex")).out,
              HasSubstr("  +1 allocation, -1 byte per iteration:\n"));
}

TEST_F(GateSites, WhatIsNotListedIsSummedUp) {
  std::string sites;
  for (int i = 0; i < 7; ++i) sites += (i == 0 ? "" : ",") + Moved(1, 8, "f" + std::to_string(i));
  EXPECT_THAT(CompareWith(7, sites).out,
              HasSubstr("  +2 allocations, +16 bytes: 2 more call stacks"));
}

TEST_F(GateSites, BaselineWithoutSitesIsSaid) {
  ASSERT_EQ(RunGate({"--baseline=" + Path("base.json"), "--update",
                     "--current=" + Write("now.json", Runs(2))})
                .status,
            0);
  EXPECT_THAT(CompareWith(3, Site(3, 10)).out, HasSubstr("the baseline has no call sites"));
}

TEST_F(GateSites, AnnotationPointsAtTheLine) {
  const Result result = CompareWith(3, Site(1, 7) + "," + Site(2, 11), {"--github"});
  EXPECT_THAT(result.out, HasSubstr("\n::error file=parse.cc,line=7,title=BM_A grew::BM_A grew%0A"
                                    "allocations 2 -> 3"));
}

TEST_F(GateSites, ProfileOfAnotherRunIsRefused) {
  const Result result =
      RunGate({"--baseline=" + Path("base.json"), "--current=" + Write("now.json", Runs(2)),
               "--profile=" + Write("p.json", Profile(Pass(3, Site(3, 10))))});
  ExpectBadInput(result, "p.json is of another run");
}

TEST_F(GateSites, WhatIsNoProfileIsRefused) {
  for (const char* text : {"{}", "[]", "{\"allomon_gate_profile\": 1}",
                           "{\"allomon_gate_profile\": 1, \"passes\": [3]}"}) {
    ExpectBadInput(RunGate({"--baseline=" + Path("base.json"), "--current=" + Path("now.json"),
                            "--profile=" + Write("p.json", text)}),
                   "p.json: not a profile of benchmarks");
  }
}

TEST_F(GateCommand, JunitHasATestCasePerBenchmarkAndEscapesNames) {
  const std::string awkward = "BM_T<A&B>/\\\"x\\\"";
  const Result result =
      Compare(Run(Entry(awkward, Memory(1, 8, 8)) + "," + Entry("BM_B", Memory(1, 8, 8))),
              Run(Entry(awkward, Memory(2, 8, 8)) + "," + Entry("BM_B", Memory(1, 8, 8))),
              {"--junit=" + Path("junit.xml")});
  EXPECT_EQ(result.status, 1);
  const std::string xml = Read("junit.xml");
  EXPECT_THAT(xml, HasSubstr("tests=\"2\" failures=\"1\""));
  EXPECT_THAT(xml, HasSubstr("name=\"BM_T&lt;A&amp;B&gt;/&quot;x&quot;\">"));
  EXPECT_THAT(xml, HasSubstr("<failure message=\"allocations 1 -&gt; 2\">"));
  EXPECT_THAT(xml, HasSubstr("name=\"BM_B\"/>"));
}

TEST_F(GateCommand, FilesThatCannotBeUsedAreNamed) {
  ExpectBadInput(RunGate({"--baseline=" + Path("none"), "--current=" + Write("now.json", base_)}),
                 "gate_none: there is no baseline; --update writes it");
  ExpectBadInput(RunGate({"--baseline=" + Path("none"), "--current=" + testing::TempDir()}),
                 "cannot be read: Is a directory");
  ExpectBadInput(Compare("", base_), "base.json:1: not JSON, or cut short");
  for (size_t length = 0; length < base_.size(); length += 7) {
    ExpectBadInput(Compare(base_.substr(0, length), base_), "not JSON, or cut short");
  }
  ExpectBadInput(Compare("{\n\"benchmarks\": [\n1e999]}", base_), "too large");
  for (const char* text : {"3", "[]", "{}", "{\"benchmarks\": 3}"}) {
    ExpectBadInput(Compare(text, base_), "base.json: not the JSON of Google Benchmark");
  }
  ExpectBadInput(Compare(Run(""), base_), "no benchmarks in it");
  ExpectBadInput(Compare(Run("3"), base_), "has no name");
  ExpectBadInput(Compare(Run("{\"name\": \"BM_A\", \"error_occurred\": 3}"), base_), "wrong type");
}

TEST_F(GateCommand, BenchmarksThatCannotBeUsedAreNamed) {
  ExpectBadInput(Compare(Run(Entry("BM_A", "\"real_time\": 1")), base_),
                 "base.json: BM_A: no allocation figures; give its main");
  ExpectBadInput(Compare(base_, Run(Entry("BM_A", "\"allocs_per_iter\": -0.0625"))),
                 "now.json: BM_A: its allocations were not counted");
  ExpectBadInput(Compare(base_, Run(Entry("BM_A", "\"allocs_per_iter\": \"3\""))),
                 "now.json: BM_A: allocs_per_iter is no number");
  ExpectBadInput(Compare(base_, Run(Entry("BM_A", "\"allocs_per_iter\": 3"))),
                 "now.json: BM_A has no bytes, which the baseline has");
  ExpectBadInput(Compare(base_, Run("{\"name\": \"BM_A\", \"iterations\": 0, "
                                    "\"total_allocated_bytes\": 3}")),
                 "BM_A: iterations is missing or 0");
  ExpectBadInput(Compare(base_, Run(Entry("BM_A",
                                          "\"error_occurred\": true, "
                                          "\"error_message\": \"no file\""))),
                 "now.json: BM_A: failed: no file");
}

TEST_F(GateCommand, ArgumentsThatCannotBeUsedAreNamed) {
  ExpectBadInput(RunGate({}), "--baseline=FILE is missing");
  ExpectBadInput(RunGate({"--baseline=x"}), "--current=FILE is missing");
  ExpectBadInput(RunGate({"--baseline"}), "--baseline needs a value");
  ExpectBadInput(RunGate({"--bogus=3"}), "unknown option --bogus=3; --help");
  ExpectBadInput(RunGate({"--update=3"}), "--update takes no value");
  ExpectBadInput(RunGate({"--update", "--baseline=a", "--current=b", "--history=c"}),
                 "leave out --history");
  ExpectBadInput(RunGate({"--history=c", "--commit=d"}), "name it by --current");
  ExpectBadInput(RunGate({"--history=c", "--profile=d"}), "name it by --current");
  for (const char* growth : {"5", "0.05", "", "%", "-1%", "five", "5%%", "nan%", "1e999%"}) {
    ExpectBadInput(Compare(base_, base_, {std::string("--max-growth=") + growth}),
                   "is not a percentage; write for example 5%");
  }
}

// Of repetitions the smallest counts, so that of two benchmarks one would never be seen.
TEST_F(GateCommand, TwoBenchmarksOfOneNameAreRefused) {
  const auto entry = [](double allocations, int repetition) {
    return Entry("BM_A", Memory(allocations, 8, 8) +
                             ", \"repetition_index\": " + std::to_string(repetition));
  };
  const std::string twice = Run(entry(1, 0) + "," + entry(100, 0));
  ExpectBadInput(Compare(twice, twice), "now.json: BM_A: two benchmarks have this name");
  const std::string repeated = Run(entry(1, 0) + "," + entry(1, 1));
  EXPECT_EQ(Compare(repeated, repeated).status, 0);
}

TEST_F(GateCommand, NamesDoNotControlTheTerminal) {
  const auto run = [](int allocations) {
    return Run(Entry("BM_\\u001b[31m\\n", Memory(allocations, 8, 8)));
  };
  const std::string out = Compare(run(1), run(2)).out;
  EXPECT_THAT(out, AllOf(HasSubstr("BM_\\x1b[31m\\x0a"), Not(HasSubstr("\x1b"))));
  ExpectBadInput(Compare(run(1), Run(Entry("\\u001b", "\"x\": 1"))), "\\x1b: no allocation");
}

TEST_F(GateCommand, OutputThatCannotBeWrittenFails) {
  const std::string nowhere = testing::TempDir() + "no/such/folder/x";
  ExpectBadInput(Compare(base_, base_, {"--junit=" + nowhere}), nowhere);
  ExpectBadInput(
      RunGate({"--baseline=" + nowhere, "--current=" + Write("now.json", base_), "--update"}),
      nowhere);
}

TEST_F(GateCommand, HelpIsNoError) {
  const Result result = RunGate({"--help"});
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.out, StartsWith("usage: allomon gate"));
}

}  // namespace
}  // namespace allomon::gate
