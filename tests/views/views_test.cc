// Tests the views of hand-written profiles.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/views/hand_made.h"
#include "tools/heap/born.h"
#include "tools/report/table/headline.h"
#include "tools/report/table/outputs.h"
#include "tools/text/plain_text.h"

namespace allomon::views {
namespace {

using heap::Metric;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Object = nlohmann::json;

// Returns the lines of a table, from its headings up to an empty line.
std::vector<std::string> RowsOf(const std::string& text, const std::string& heads) {
  std::vector<std::string> rows;
  size_t at = text.find("\n" + heads);
  if (at == std::string::npos) return rows;
  at = text.find('\n', at + 1) + 1;
  while (at < text.size() && text[at] != '\n') {
    const size_t end = text.find('\n', at);
    rows.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return rows;
}

std::string FirstRow(const std::string& text, const std::string& heads) {
  const auto rows = RowsOf(text, heads);
  return rows.empty() ? "" : rows.front();
}

int Widest(const std::string& text) {
  int widest = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    widest = std::max(widest, Columns(text.substr(at, end - at)));
    at = end + 1;
  }
  return widest;
}

TEST(ViewsTest, ResidentMemoryStandsBesideLive) {
  heap::HeapProfile profile = Server().profile;
  profile.memory = {2, 760.0 * (1 << 20), 217.0 * (1 << 20), 801.0 * (1 << 20)};
  EXPECT_THAT(
      Shown(profile, {}),
      HasSubstr("RSS 760.0 MiB, of which live 217.0 MiB, after 2.0 s; RSS at most 801.0 MiB\n"));
  profile.memory = {2, 3.0 * (1 << 20), 200.0 * (1 << 20), 3.0 * (1 << 20)};
  EXPECT_THAT(Shown(profile, {}), HasSubstr("RSS 3.0 MiB beside 200.0 MiB live, which need not all "
                                            "be resident, after 2.0 s\n"));
}

TEST(ViewsTest, TheHeadingNamesTheScript) {
  heap::HeapProfile profile = Server().profile;
  profile.program = "/usr/bin/python3.11";
  profile.command = "python3 -m gunicorn app:app";
  EXPECT_THAT(TitleOf(profile, {"x.pb.gz"}), StartsWith("x.pb.gz: gunicorn (pid 17), "));
}

TEST(ViewsTest, AFileOfARunningProcessHasTheNameThatItHasThere) {
  const heap::HeapProfile& profile = Server().profile;
  const auto title = [&profile](const std::string& file) { return TitleOf(profile, {file}); };
  EXPECT_THAT(title("/proc/17/root/dev/shm/x.rec"), StartsWith("/dev/shm/x.rec: server"));
  EXPECT_THAT(title("/proc/17/rootless/x"), StartsWith("/proc/17/rootless/x: "));
  EXPECT_THAT(title("/proc/root/x"), StartsWith("/proc/root/x: "));
  EXPECT_THAT(title("/proc/17"), StartsWith("/proc/17: "));
}

TEST(ViewsTest, FunctionsOfTheServer) {
  EXPECT_EQ(
      Shown(Server().profile, {"--metric=live"}),
      "x.pb.gz: server (pid 17), 16.0 s\n"
      "582.1 MiB (573.0-591.5 MiB) allocated, 57.7 MiB (56.7-58.9 MiB) live at the peak, after "
      "9.5 s, 18.2 MiB (17.2-19.5 MiB) live\n"
      "sampled about every 78.1 KiB; in 95 of 100 runs the truth is in the interval\n"
      "measured error: estimate of words -1.4 % of the exact 5e+08, within its interval\n"
      "bytes live\n"
      "\n"
      "function  where           live                95 %      %  with callees  total %\n"
      "grow      cache.cc:7   9.5 MiB         9.5-9.8 MiB  52.3%       9.5 MiB    52.3%  "
      "██████████▌\n"
      "parse     parse.cc:12  4.9 MiB         3.9-6.1 MiB  26.8%       4.9 MiB    26.8%  █████▍\n"
      "load      conf.cc:5    3.8 MiB         3.8-4.1 MiB  20.9%       3.8 MiB    20.9%  ████▏\n"
      "format    log.cc:9       800 B  noise, < 251.7 KiB   0.0%         800 B     0.0%  ▏\n"
      "\n"
      "9.5 MiB of grow live, asked for by\n"
      "  grow  cache.cc:7\n"
      "  handle  server.cc:44\n"
      "  main  m.cc:3\n"
      "2 more functions only called others: --sort=stack shows them\n"
      "next: allomon report x.pb.gz --metric=live --view=callers\n");
}

// Tests the question that each view answers.
TEST(ViewsTest, EachStoryIsTheFirstRowOfItsView) {
  const heap::HeapProfile profile = Server().profile;
  EXPECT_THAT(FirstRow(Shown(profile, {"--leaks"}), "function"), StartsWith("parse"));
  EXPECT_THAT(FirstRow(Shown(profile, {"--metric=peak"}), "function"), StartsWith("sort"));
  EXPECT_THAT(FirstRow(Shown(profile, {"--metric=temporary"}), "function"), StartsWith("format"));
  EXPECT_THAT(FirstRow(Shown(profile, {"--metric=blocks"}), "function"), StartsWith("format"));
  EXPECT_THAT(FirstRow(Shown(profile, {"--view=lifetimes"}), "function"), StartsWith("format"));
}

TEST(ViewsTest, PeakIsShownWhereLittleIsLeft) {
  EXPECT_THAT(Shown(Server().profile, {}), HasSubstr("\nbytes live at the peak\n"));
  heap::HeapProfile running = Server().profile;
  running.samples.pop_back();  // the peak
  EXPECT_THAT(Shown(running, {}), HasSubstr("\nbytes live\n"));
}

TEST(ViewsTest, TreeFoldsCallsWithoutBranches) {
  const std::string text = Shown(Server().profile, {"--view=tree", "--metric=live"});
  EXPECT_EQ(RowsOf(text, "    live"),
            (std::vector<std::string>{
                "18.2 MiB       17.2-19.5 MiB  100.0%      0 B  main        m.cc:3",
                "14.4 MiB       13.4-15.7 MiB   79.1%      0 B    handle    server.cc:40",
                " 9.5 MiB         9.5-9.8 MiB   52.3%  9.5 MiB      grow    cache.cc:7",
                " 4.9 MiB         3.9-6.1 MiB   26.8%  4.9 MiB      parse   parse.cc:12",
                "   800 B  noise, < 251.7 KiB    0.0%    800 B      format  log.cc:9",
                " 3.8 MiB         3.8-4.1 MiB   20.9%  3.8 MiB    load      conf.cc:5"}))
      << text;
}

TEST(ViewsTest, CallersOfWhatAllocated) {
  HandMade made;
  made.Add({"grow", "a", "start", "main"}, 1e6, 3);
  made.Add({"grow", "b", "start", "main"}, 1e6, 5);
  made.profile.has[static_cast<size_t>(Metric::kLive)] = false;
  const std::string text = Shown(made.profile, {"--view=callers"});
  ASSERT_EQ(RowsOf(text, "  alloc").size(), 3u) << text;
  EXPECT_THAT(RowsOf(text, "  alloc")[0], HasSubstr("  grow"));
  EXPECT_THAT(RowsOf(text, "  alloc")[1], HasSubstr("    b … main"));
  EXPECT_THAT(RowsOf(text, "  alloc")[2], HasSubstr("    a … main"));
}

TEST(ViewsTest, TreeShowsTheLargestNodesWithTheirCallers) {
  const std::string text = Shown(Server().profile, {"--view=tree", "--metric=live", "--top=3"});
  EXPECT_EQ(RowsOf(text, "    live").size(), 3u) << text;
  EXPECT_THAT(text, HasSubstr("grow"));
  EXPECT_THAT(text, HasSubstr("3 more smaller nodes; --top=N shows N"));
}

// Rows without a sum do not end silently.
TEST(ViewsTest, LeaksAndLifetimesSayHowManyRowsTheyLeaveOut) {
  HandMade made;
  for (const char* const name : {"a", "b", "c"}) {
    heap::Sample& sample = made.Add({name, "main"}, 1e6, 100, 50);
    sample.ages = {{20, 33, false, {50, 5e7}}};
    sample.deaths = {{20, 33, false, {50, 5e7}}};
    sample.labels = {{"tenant", name}};
  }
  const auto shown = [&made](const std::vector<std::string>& args) {
    return Shown(made.profile, args);
  };
  for (const char* const view : {"--leaks", "--view=lifetimes"}) {
    EXPECT_THAT(shown({view, "--top=1"}), HasSubstr("2 more functions; --top=0 shows all\n"));
    EXPECT_THAT(shown({view, "--top=3"}), Not(HasSubstr("more function")));
  }
  EXPECT_THAT(shown({"--leaks", "--by=label:tenant", "--top=2"}), HasSubstr("1 more value; "));
}

TEST(ViewsTest, LinesTellCallsOfOneFunctionApart) {
  const std::string text =
      Shown(Server().profile, {"--view=lines", "--metric=live", "--sort=stack"});
  EXPECT_THAT(text, HasSubstr("server.cc:40"));
  EXPECT_THAT(text, HasSubstr("server.cc:44"));
  EXPECT_THAT(FirstRow(text, "function"), StartsWith("main"));
}

// What knows nothing of stacks is not shown as if it were of the chosen ones.
TEST(ViewsTest, TotalsOfAllStacksAreNotThoseOfTheChosen) {
  heap::HeapProfile profile = Server().profile;
  for (const char* const chosen : {"--focus=parse", "--ignore=parse", "--focus-label=tenant"}) {
    EXPECT_THAT(Failure(profile, {"--view=threads", "--metric=live", chosen}),
                HasSubstr("threads have totals of all stacks: leave out --focus"));
    EXPECT_THAT(Failure(profile, {"--timeline", chosen}), HasSubstr("leave out --focus"));
  }
  EXPECT_THAT(Shown(profile, {"--view=threads", "--metric=live", "--exclude=parse"}),
              HasSubstr("\nmain "));
  for (heap::Sample& sample : profile.samples) sample.thread = 0;
  EXPECT_THAT(Shown(profile, {"--view=threads", "--metric=live", "--focus=no such function"}),
              HasSubstr("\nmain              0 B "));
}

TEST(ViewsTest, RecursionCountsOnce) {
  HandMade made;
  made.Add({"f", "g", "f", "g", "f", "main"}, 1e6, 10, 10);
  const Object functions = Object::parse(Json(made.profile, {}));
  for (const auto& row : functions["functions"]) EXPECT_EQ(row["total"], 1e7) << row;
}

TEST(ViewsTest, WrappersAreChargedToTheirCallers) {
  HandMade made;
  made.Add({"malloc", "operator new(unsigned long)", "std::vector<int>::push_back(int&&)", "work"},
           1e6, 10, 10);
  EXPECT_THAT(FirstRow(Shown(made.profile, {}), "function"), StartsWith("work"));
  EXPECT_THAT(FirstRow(Shown(made.profile, {"--wrappers"}), "function"), StartsWith("malloc"));
}

TEST(JsonTest, SaysWhatItIsAndWhatComesNext) {
  const heap::HeapProfile profile = Server().profile;
  const Object report = Object::parse(Json(profile, {"--metric=alloc", "--blocks"}));
  EXPECT_EQ(report["format"], "allomon report");
  EXPECT_EQ(report["version"], kJsonVersion);
  EXPECT_EQ(report["view"], "functions");
  EXPECT_EQ(report["next"],
            Object({"allomon report x.pb.gz --metric=blocks --view=callers --json"}));
  EXPECT_EQ(report["alloc_bytes_sure"], true);
  EXPECT_FALSE(report.contains("left_out"));
  for (const char* const view :
       {"functions", "tree", "callers", "lines", "sizes", "types", "threads", "modules"}) {
    const Object other = Object::parse(Json(profile, {std::string("--view=") + view}));
    EXPECT_EQ(other["view"], view);
    EXPECT_TRUE(other[view].is_array()) << view;
    EXPECT_EQ(other["next"].size(), 1u) << view;
  }
  EXPECT_EQ(Object::parse(Json(profile, {"--leaks"}))["view"], "leaks");
  EXPECT_EQ(Object::parse(Json(profile, {"--timeline"}))["view"], "timeline");
}

TEST(JsonTest, WhatComesNextIsOfTheSameBlocksAndNames) {
  HandMade made = Server();
  for (heap::Sample& sample : made.profile.samples) sample.labels = {{"tenant", "a b"}};
  const Object report = Object::parse(Json(
      made.profile, {"--focus=parse|grow", "--blocks", "--focus-label=tenant=a b", "--wrappers",
                     "--by", "label:tenant", "--view=tree", "--debug-dir=/d", "--top=3"}));
  EXPECT_EQ(report["next"],
            Object({"allomon report x.pb.gz '--focus=parse|grow' '--focus-label=tenant=a b' "
                    "--wrappers --by=label:tenant --debug-dir=/d --metric=peak --blocks "
                    "--view=lines --json"}));
  EXPECT_THAT(Shown(made.profile, {"--ignore=a b"}),
              HasSubstr("\nnext: allomon report x.pb.gz '--ignore=a b' --view=callers\n"));
}

TEST(JsonTest, TypesThatTheProcessKnowsHaveRowsOfTheirOwn) {
  HandMade made;
  const auto add = [&made](const char* type, heap::Source source) {
    heap::Sample& sample = made.Add({"make", "main"}, 32, 1000, 1000);
    sample.type = type;
    sample.source = source;
  };
  add("cons", heap::Source::kManaged);
  add("cons", heap::Source::kUnmarshalled);
  add("cons", heap::Source::kMalloc);
  add("", heap::Source::kManaged);
  const Object report = Object::parse(Json(made.profile, {"--view=types", "--metric=alloc"}));
  std::map<std::string, double> blocks;
  for (const Object& row : report["types"]) {
    const auto text = [&row](const char* key) {
      return row.contains(key) && row[key].is_string() ? row[key].get<std::string>() : "?";
    };
    blocks[text("type") + " in " + text("holder")] = row["blocks"];
  }
  EXPECT_EQ(blocks,
            (std::map<std::string, double>{
                {"cons in a managed heap", 2000}, {"cons in Python", 1000}, {"? in ?", 1000}}));
}

TEST(JsonTest, IsBoundedByItsLastRows) {
  HandMade made;
  for (int i = 0; i < 2000; ++i) made.Add({"f" + std::to_string(i), "main"}, 16.0 * (i + 1), 1000);
  const Object whole = Object::parse(Json(made.profile, {"--metric=alloc", "--top=0"}));
  for (const char* const bound : {"16k", "50000", "200k"}) {
    const std::string text =
        Json(made.profile, {"--metric=alloc", "--top=0", std::string("--max-bytes=") + bound});
    const size_t most = std::string(bound) == "16k"    ? 16384
                        : std::string(bound) == "200k" ? 204800
                                                       : 50000;
    EXPECT_LE(text.size(), most);
    EXPECT_GT(text.size(), most - 1000);  // no more was left out than had to be
    const Object report = Object::parse(text);
    const size_t shown = report["functions"].size();
    EXPECT_EQ(report["left_out"], Object({{"functions", whole["functions"].size() - shown}}));
    for (size_t i = 0; i < shown; ++i) EXPECT_EQ(report["functions"][i], whole["functions"][i]);
  }
  EXPECT_EQ(Object::parse(Json(made.profile, {"--metric=alloc", "--top=0", "--max-bytes=1g"})),
            whole);
}

// A row for all that --top leaves out would look like one more function.
TEST(JsonTest, RowsThatAreNotShownAreNoRow) {
  HandMade made;
  for (int i = 0; i < 5; ++i) {
    heap::Sample& sample = made.Add({"f" + std::to_string(i), "main"}, 16, 1000, 900);
    sample.labels = {{"tenant", std::to_string(i)}};
    sample.ages = {{20, 33, false, {900, 14400}}};
    sample.deaths = {{20, 33, false, {100, 1600}}};
  }
  const auto rows = [&made](const std::string& view, const std::string& key, size_t all) {
    const Object report = Object::parse(Json(made.profile, {view, "--top=2"}));
    EXPECT_EQ(report[key].size(), 2u) << view;
    EXPECT_EQ(report["left_out"], Object({{key, all - 2}})) << view;
    EXPECT_THAT(Csv(made.profile, {view, "--top=2"}), Not(HasSubstr("more"))) << view;
    EXPECT_FALSE(Object::parse(Json(made.profile, {view})).contains("left_out")) << view;
  };
  rows("--view=functions", "functions", 6);
  rows("--view=lines", "lines", 6);
  rows("--view=types", "types", 5);
  rows("--by=label:tenant", "labels", 5);
  rows("--leaks", "leaks", 5);
  rows("--view=tree", "tree", 6);
}

// A file may claim anything.
TEST(JsonTest, IsBoundedWhateverItsTextsAre) {
  HandMade made = Server();
  made.profile.program = std::string(100'000, 'x');
  made.profile.notes.assign(1000, std::string(100, '\x01'));
  made.Add({std::string(100'000, '\xff')}, 1000, 1e9, 1e9, 1e9);
  const std::string text = Json(made.profile, {"--top=0", "--max-bytes=16k"});
  EXPECT_LE(text.size(), kLeastJsonBytes);
  const Object report = Object::parse(text);
  EXPECT_EQ(report["left_out"]["notes"], 1000);
  EXPECT_EQ(report["functions"], Object::array());
}

// clang's -g1 has no classes around the names of inlined functions.
TEST(ViewsTest, FunctionsOfTheCxxLibraryAreChargedToTheirCallers) {
  HandMade made;
  made.Add({"allocate@/usr/include/c++/12/bits/new_allocator.h:137",
            "reserve@/usr/lib/llvm/include/c++/v1/vector:90", "Fill@fill.cc:3"},
           64, 1000, 1000);
  EXPECT_THAT(FirstRow(Shown(made.profile, {}), "function"), StartsWith("Fill"));
  EXPECT_THAT(FirstRow(Shown(made.profile, {"--wrappers"}), "function"), StartsWith("allocate"));
}

TEST(ViewsTest, AStackOfWrappersAloneIsChargedToTheInnermost) {
  HandMade made;
  made.Add({"malloc", "operator new(unsigned long)"}, 1e6, 10, 10);
  EXPECT_THAT(FirstRow(Shown(made.profile, {}), "function"), StartsWith("malloc"));
}

TEST(ViewsTest, FocusIgnoreAndExclude) {
  const heap::HeapProfile profile = Server().profile;
  const std::string focused = Shown(profile, {"--metric=live", "--focus=^gr.w$"});
  EXPECT_THAT(focused, HasSubstr("bytes live, of the chosen stacks: 9.5 MiB (9.5-9.8 MiB), 52.3%"));
  EXPECT_THAT(focused, Not(HasSubstr("parse  ")));
  EXPECT_THAT(Shown(profile, {"--metric=live", "--ignore=cache\\.cc"}), Not(HasSubstr("grow")));
  const std::string excluded = Shown(profile, {"--metric=live", "--exclude=parse|grow"});
  EXPECT_THAT(FirstRow(excluded, "function"), StartsWith("handle"));
}

TEST(ViewsTest, SizesInPowersOfTwo) {
  const std::string text = Shown(Server().profile, {"--view=sizes", "--metric=live"});
  EXPECT_THAT(text, HasSubstr("from 64 B  4.9 MiB"));
  EXPECT_THAT(text, HasSubstr("80,000    100.0%"));
}

// Returns a profile with allocations charged to two modules, to interpreted functions, and to a
// frame of no module.  The server has two segments.
heap::HeapProfile OfModules() {
  HandMade made;
  heap::HeapProfile& profile = made.profile;
  profile.rate = 1;
  profile.mappings = {{0x1000, 0x2000, 0, "/usr/bin/server", ""},
                      {0x2000, 0x3000, 0, "/usr/lib/libparse.so.1", ""},
                      {0x3000, 0x4000, 0, "/usr/bin/server", ""},
                      {0, 0, 0, heap::kInterpreted, ""}};
  made.Add({"malloc", "parse@parse.cc:12", "main"}, 100, 50, 5);
  made.Add({"handle", "main"}, 100, 20, 2);
  made.Add({"main"}, 100, 10, 1);
  made.Add({"PyMem_Malloc", "app.handler"}, 100, 15, 1);
  made.Add({"jit"}, 100, 5, 1);
  const uint32_t mappings[] = {1, 1, 0, 2, 1, 3, heap::kNone};
  for (size_t i = 0; i < profile.locations.size(); ++i) {
    profile.locations[i].mapping = mappings[i];
  }
  return profile;
}

TEST(ViewsTest, ModulesOfChargedFrames) {
  const heap::HeapProfile profile = OfModules();
  const std::string text = Shown(profile, {"--view=modules", "--metric=alloc"});
  EXPECT_EQ(RowsOf(text, "module "),
            (std::vector<std::string>{
                "/usr/lib/libparse.so.1  4.9 KiB  50.0%      50     50.0%  ██████████",
                "/usr/bin/server         2.9 KiB  30.0%      30     30.0%  ██████",
                "[interpreted]           1.5 KiB  15.0%      15     15.0%  ███",
                "?                         500 B   5.0%       5      5.0%  █"}))
      << text;
  // With wrappers, what the interpreter's own functions do is charged to their module.
  const Object rows = Object::parse(Json(profile, {"--view=modules", "--wrappers"}))["modules"];
  ASSERT_EQ(rows.size(), 3u) << rows;
  EXPECT_EQ(rows[0]["module"], "/usr/lib/libparse.so.1");
  EXPECT_EQ(rows[0]["bytes"], 600);
  EXPECT_TRUE(rows[2]["module"].is_null());
}

TEST(ViewsTest, ModulesFollowTheSelectionAndTheOrder) {
  const heap::HeapProfile profile = OfModules();
  const std::string excluded =
      Shown(profile, {"--view=modules", "--metric=alloc", "--exclude=^parse$"});
  EXPECT_THAT(FirstRow(excluded, "module "), StartsWith("/usr/bin/server"));
  const std::string by_name = Shown(profile, {"--view=modules", "--metric=alloc", "--sort=name"});
  EXPECT_THAT(FirstRow(by_name, "module "), StartsWith("?"));
  const std::string top = Shown(profile, {"--view=modules", "--metric=alloc", "--top=1"});
  EXPECT_THAT(top, HasSubstr("\n3 more modules "));
  EXPECT_THAT(Shown(Server().profile, {"--view=modules", "--metric=live"}),
              HasSubstr("?       18.2 MiB  17.2-19.5 MiB  100.0%"));
}

TEST(ViewsTest, ThreadsOfOneNameAreOneRow) {
  const std::string text = Shown(Server().profile, {"--view=threads", "--metric=live"});
  EXPECT_THAT(FirstRow(text, "thread"), HasSubstr("worker        2  29.6 MiB"));
  EXPECT_THAT(text, HasSubstr("300,000,000  +1.0%"));
}

// Blocks of a thread are no better known than those of all.
TEST(ViewsTest, BlocksOfThreadsHaveIntervals) {
  const Object shown = Object::parse(
      Json(Server().profile, {"--view=threads", "--metric=alloc", "--blocks"}))["threads"];
  EXPECT_EQ(shown.size(), 2u);
  for (const Object& row : shown) {
    EXPECT_LT(double{row["allocated_low"]}, double{row["allocated"]}) << row;
    EXPECT_GT(double{row["allocated_high"]}, double{row["allocated"]}) << row;
  }
}

TEST(ViewsTest, ThreadsHaveAColumnOfTheMetricOrItIsSaid) {
  heap::HeapProfile profile = Server().profile;
  for (heap::Sample& sample : profile.samples) sample.thread = 0;
  EXPECT_THAT(Shown(profile, {"--view=threads", "--metric=peak"}), HasSubstr("  peak  "));
  for (heap::Sample& sample : profile.samples) sample.thread = heap::kNone;
  EXPECT_THAT(Failure(profile, {"--view=threads", "--metric=peak"}),
              HasSubstr("none of what was live at the peak: choose --metric=alloc or live"));
  EXPECT_THAT(Shown(profile, {"--view=threads", "--metric=alloc"}), Not(HasSubstr("note: ")));
}

TEST(ViewsTest, LifetimesHaveMedians) {
  const std::string text = Shown(Server().profile, {"--view=lifetimes"});
  EXPECT_THAT(FirstRow(text, "function"), HasSubstr("46 us     100.0%       0.0%"));
  EXPECT_THAT(text, HasSubstr("lived from"));
}

TEST(ViewsTest, TimelineMarksThePeak) {
  const std::string text = Shown(Server().profile, {"--timeline"}, 80);
  EXPECT_THAT(text, HasSubstr("▼ peak 47.2 MiB, 9.5 s\n47.2 MiB  "));
  EXPECT_LE(Widest(text), 80);
}

TEST(ViewsTest, NothingIsWiderThanTheTerminal) {
  for (const char* view :
       {"functions", "tree", "callers", "lines", "sizes", "threads", "modules", "lifetimes"}) {
    for (const int width : {60, 80, 120}) {
      EXPECT_LE(Widest(Shown(Server().profile, {"--view", view}, width)), width) << view;
    }
  }
  EXPECT_LE(Widest(Shown(Server().profile, {"--leaks"}, 80)), 80);
}

TEST(ViewsTest, NamesCannotActOnTheTerminal) {
  HandMade made;
  made.Add({"evil\033[2J\xff", "Größe::名前@名.cc:4"}, 1e6, 10, 10);
  made.profile.notes = {"a note\033]0;title\007"};
  made.profile.program = "/bin/\033[31mred";
  for (const char* view : {"functions", "tree", "callers", "lines"}) {
    const std::string text = Shown(made.profile, {"--view", view});
    EXPECT_EQ(text.find('\033'), std::string::npos) << text;
    EXPECT_THAT(text, HasSubstr("Größe::名前"));
    EXPECT_THAT(text, HasSubstr("evil\\x1b[2J\\xff"));
  }
  EXPECT_EQ(Csv(made.profile, {}).find('\033'), std::string::npos);
  EXPECT_EQ(Object::parse(Json(made.profile, {}))["notes"][0], "a note\033]0;title\007");
}

TEST(ViewsTest, AnEmptyProfileIsShownAsEmpty) {
  heap::HeapProfile empty;
  for (const char* view : {"functions", "tree", "callers", "lines", "sizes", "modules"}) {
    EXPECT_THAT(Shown(empty, {"--view", view}), HasSubstr("nothing was counted"));
  }
  EXPECT_TRUE(Object::parse(Json(empty, {}))["functions"].empty());
}

TEST(ViewsTest, StacksWithoutNamesShowModulesAndAddresses) {
  heap::HeapProfile profile;
  profile.has[static_cast<size_t>(Metric::kLive)] = true;
  profile.mappings.push_back({0x400000, 0x500000, 0x1000, "/usr/bin/gawk", ""});
  profile.locations = {{0x465930, 0, {}}, {0x77, heap::kNone, {}}, {0, 0, {}}};
  for (uint32_t location = 0; location < 4; ++location) {
    heap::Sample sample;
    sample.stack = {location};  // the last is out of range
    sample[Metric::kLive] = {1, 100.0 + location};
    profile.samples.push_back(sample);
  }
  profile.samples.emplace_back();
  profile.samples.back()[Metric::kLive] = {1, 50};
  const std::string text = Shown(profile, {});
  EXPECT_THAT(text, HasSubstr("gawk+0x66930"));
  EXPECT_THAT(text, HasSubstr("0x77"));
  EXPECT_THAT(FirstRow(text, "function"), StartsWith("<unknown>"));
}

TEST(ViewsTest, WithoutARateNothingHasAnInterval) {
  heap::HeapProfile profile = Server().profile;
  profile.rate = 0;
  const std::string text = Shown(profile, {"--metric=live"});
  EXPECT_THAT(text, HasSubstr("the rate of sampling is not known: rows have no intervals"));
  EXPECT_THAT(text, Not(HasSubstr("95 %  ")));
  EXPECT_THAT(text, Not(HasSubstr("noise")));
}

TEST(ViewsTest, ExactRowsSaySo) {
  heap::HeapProfile profile = Server().profile;
  profile.rate = 1;
  EXPECT_THAT(Shown(profile, {}), HasSubstr("every block was counted: rows are exact"));
}

TEST(ViewsTest, WhatFoundNoRoomIsNotExactAndHasNoIntervals) {
  heap::HeapProfile profile = Server().profile;
  profile.missing.saved = 1;
  EXPECT_THAT(Shown(profile, {"--metric=live"}), HasSubstr("95 %"));
  const Object of_peak = Object::parse(Json(profile, {"--metric=peak"}));
  EXPECT_EQ(of_peak["peak_bytes_low"], of_peak["peak_bytes_high"]);
  EXPECT_LT(of_peak["live_bytes_low"], of_peak["live_bytes_high"]);
  profile.missing.samples = 1;
  const std::string text = Shown(profile, {"--metric=live"});
  EXPECT_THAT(text, HasSubstr("noise"));
  EXPECT_THAT(text, Not(HasSubstr("noise, <"))) << "nothing bounds what is missing";
  const Object of_live = Object::parse(Json(profile, {"--metric=live"}));
  EXPECT_EQ(of_live["live_bytes_low"], of_live["live_bytes_high"]);
  profile.rate = 1;
  EXPECT_THAT(Shown(profile, {}), HasSubstr("some found no room: rows are not exact"));
}

TEST(ViewsTest, DropsSumsAndNotesAreSaid) {
  heap::HeapProfile profile = Server().profile;
  profile.missing.samples = 12;
  profile.missing.bytes = 5e6;
  profile.is_sum = true;
  const std::string text = Shown(profile, {});
  EXPECT_THAT(text, HasSubstr("note: not in the recording, for want of room: 12 samples of "
                              "blocks of 5000000 bytes; a larger --limit may help"));
  EXPECT_THAT(text, HasSubstr("at most "));
  EXPECT_THAT(text, HasSubstr("live at the peak, the peaks of its processes added"));
}

TEST(ViewsTest, WhatAFileLacksIsSaidInOneLine) {
  HandMade made;
  made.Add({"f"}, 10, 10, 10);
  EXPECT_EQ(Failure(made.profile, {"--metric=peak"}),
            "this pprof file does not say what was live at the peak: it has alloc, live");
  EXPECT_THAT(Failure(made.profile, {"--timeline"}), HasSubstr("no timeline is known"));
  EXPECT_THAT(Failure(made.profile, {"--view=threads"}), HasSubstr("no threads are known"));
  EXPECT_THAT(Failure(made.profile, {"--view=lifetimes"}), HasSubstr("no lifetimes are known"));
  made.profile.has_blocks = false;
  EXPECT_THAT(Failure(made.profile, {"--metric=blocks"}), HasSubstr("counts bytes and no blocks"));
}

TEST(ViewsTest, JsonHasIntervalsOfEveryRow) {
  const Object report = Object::parse(Json(Server().profile, {"--metric=live"}));
  EXPECT_EQ(report["program"], "/usr/bin/server");
  EXPECT_EQ(report["metric"], "live");
  EXPECT_EQ(report["live_bytes"], 19120800);
  const Object& row = report["functions"][1];
  EXPECT_EQ(row["function"], "parse");
  EXPECT_EQ(row["file"], "parse.cc");
  EXPECT_EQ(row["line"], 12);
  EXPECT_EQ(row["self"], 80000 * 64);
  EXPECT_LT(row["self_low"], row["self"]);
  EXPECT_GT(row["self_high"], row["self"]);
  EXPECT_EQ(row["self_sure"], true);
}

TEST(ViewsTest, JsonTreesHaveDepthsAndAllFrames) {
  const Object report = Object::parse(Json(Server().profile, {"--view=tree"}));
  EXPECT_EQ(report["tree"][0]["function"], "main");
  EXPECT_EQ(report["tree"][0]["depth"], 1);
  EXPECT_EQ(report["tree"][1]["function"], "handle");
  EXPECT_EQ(report["tree"][1]["depth"], 2);
}

TEST(ViewsTest, CsvHasAHeadAndARowForEachFunction) {
  HandMade made;
  made.Add({"operator,\"odd\"@a.cc:3"}, 1e6, 10, 10);
  EXPECT_THAT(Csv(made.profile, {"--metric=live"}),
              StartsWith("function,file,line,self,self_low,self_high,self_sure,self_percent,total,"
                         "total_low,total_high,total_sure,total_percent\n"
                         "\"operator,\"\"odd\"\"\",a.cc,3,10000000,"));
}

TEST(ViewsTest, LeaksWithoutAgesAreRankedByWhatIsLive) {
  HandMade made;
  made.Add({"small"}, 1e6, 10, 10);
  made.Add({"large"}, 1e6, 100, 20);
  const std::string text = Shown(made.profile, {"--leaks"});
  EXPECT_THAT(FirstRow(text, "function"), StartsWith("large"));
  EXPECT_THAT(text, HasSubstr("no ages are known"));
}

// A hash table without a limit: nodes, and a table of them that is copied when it is full.
TEST(ViewsTest, TableThatOnlyGrowsHidesNoLeak) {
  HandMade made;
  made.profile.duration_seconds = 16;
  const auto add = [&](const char* where, double bytes, double blocks, double seconds, bool dead) {
    // The table was filled for another caller each time.
    const char* const caller = dead ? "other@a.cc:12" : "serve@a.cc:9";
    heap::Sample& sample = made.Add({where, caller}, bytes, blocks, dead ? 0 : blocks);
    heap::AgeCell cell;
    cell.log2_nanos = static_cast<uint8_t>(std::log2(seconds * 1e9));
    cell.amount = sample[Metric::kAllocated];
    (dead ? sample.deaths : sample.ages).push_back(cell);
  };
  for (const double seconds : {12, 6, 3, 1})
    add("insert@a.cc:3", 100, seconds * 3e4, seconds, false);
  add("insert@a.cc:4", 4 << 20, 1, 3, true);
  add("insert@a.cc:4", 8 << 20, 1, 6, false);
  add("log@a.cc:6", 16 << 20, 1, 6, true);
  add("log@a.cc:6", 32 << 20, 1, 6, false);
  const auto verdict = [&] {
    std::map<std::string, std::string> verdicts;
    const Object report = Object::parse(Json(made.profile, {"--leaks"}));
    for (const Object& row : report["leaks"]) {
      verdicts[row["function"]] = row["verdict"];
    }
    return verdicts;
  };
  EXPECT_EQ(verdict()["insert"], "grows");
  EXPECT_EQ(verdict()["log"], "grows in steps");
  EXPECT_THAT(Shown(made.profile, {"--leaks"}), HasSubstr("growth is without tables"));
  // A table that has not grown for most of the run is kept.
  for (heap::Sample& sample : made.profile.samples) {
    for (heap::AgeCell& age : sample.ages) {
      age.log2_nanos = 33;  // the age is 8.6 to 17.2 s
      age.eighth = heap::EighthOf(uint64_t{12'000'000'000});
    }
  }
  EXPECT_EQ(verdict()["log"], "kept");
}

TEST(ViewsTest, LeaksSayThatMostWasFreedSinceThePeak) {
  HandMade made;
  made.Add({"small"}, 1e6, 10, 10, 10);
  heap::Sample& sample = made.Add({"large"}, 1e6, 100, 2, 100);
  EXPECT_THAT(Shown(made.profile, {"--leaks"}), HasSubstr("\n89.1% of the peak was freed again"));
  sample[Metric::kLive] = {20, 2e7};
  EXPECT_THAT(Shown(made.profile, {"--leaks"}), Not(HasSubstr("of the peak")));
}

// Nearly all was allocated at once, so that no generations by allocation tell anything.
TEST(ViewsTest, WhatIsSetUpAtTheStartHidesNoLeak) {
  HandMade made;
  made.profile.duration_seconds = 16;
  made.profile.timeline = {{0.1, 5e9, 5e9, 5e9}, {16, 5.066e9, 5.066e9, 5.066e9}};
  const auto add = [&](const char* where, double bytes, double blocks, double seconds) {
    heap::Sample& sample = made.Add({where}, bytes, blocks, blocks);
    heap::AgeCell cell;
    cell.log2_nanos = static_cast<uint8_t>(std::log2(seconds * 1e9));
    cell.amount = sample[Metric::kLive];
    sample.ages.push_back(cell);
  };
  add("pool", 5e6, 1000, 15);
  for (const double seconds : {12, 6, 3, 1}) add("leak", 100, seconds * 3e4, seconds);
  for (const double seconds : {12, 1}) add("idle", 100, 1e5, seconds);
  const Object report = Object::parse(Json(made.profile, {"--leaks"}));
  std::map<std::string, Object> rows;
  for (const Object& row : report["leaks"]) rows[row["function"]] = row;
  EXPECT_EQ(rows["leak"]["verdict"], "grows");
  EXPECT_GT(double{rows["leak"]["growth_low"]}, 1e6);
  EXPECT_EQ(rows["pool"]["verdict"], "kept");
  EXPECT_EQ(rows["idle"]["verdict"], "no allocations in the window");
}

// The table that one line filled, and the blocks that another one leaks, are one function's.
TEST(ViewsTest, ATableThatIsKeptHidesNoLeak) {
  HandMade made;
  made.profile.duration_seconds = 16;
  const auto add = [&](const char* where, double bytes, double blocks, double seconds, bool dead) {
    heap::Sample& sample = made.Add({where}, bytes, blocks, dead ? 0 : blocks);
    heap::AgeCell cell;
    cell.log2_nanos = static_cast<uint8_t>(std::log2(seconds * 1e9));
    if (!dead) cell.eighth = heap::EighthOf(static_cast<uint64_t>(seconds * 1e9));
    cell.amount = sample[Metric::kAllocated];
    (dead ? sample.deaths : sample.ages).push_back(cell);
  };
  add("serve@a.cc:6", 64 << 20, 1, 3, true);
  add("serve@a.cc:6", 128 << 20, 1, 12, false);
  for (const double seconds : {12, 6, 3, 1}) {
    add("serve@a.cc:3", 100, seconds * 3e4, seconds, false);
  }
  const Object report = Object::parse(Json(made.profile, {"--leaks"}));
  EXPECT_EQ(report["leaks"][0]["verdict"], "grows") << report;
}

TEST(SourceTest, AmountsStandBesideTheLines) {
  std::ofstream("story.cc") << "// 1\n// 2\nvoid parse() {\n\twork();\n  more();\n}\n";
  HandMade made;
  made.Add({"grow@cache.cc:7", "ns::parse(int)@/build/src/story.cc:4"}, 1e6, 10, 10);
  made.Add({"ns::parse(int)@/build/src/story.cc:5"}, 1e6, 5, 5);
  const std::string text = Shown(made.profile, {"--source=parse"});
  EXPECT_THAT(text, HasSubstr("parse in story.cc\n"));
  EXPECT_THAT(text, HasSubstr("66.7%      0 B     4          work();\n"));
  EXPECT_THAT(text, HasSubstr("33.3%  4.8 MiB     5    more();\n"));
  EXPECT_THAT(text, HasSubstr("1  // 1\n"));
}

TEST(SourceTest, WhatIsNotFoundIsSaidInOneLine) {
  HandMade made;
  made.Add({"parse@/nowhere/gone.cc:5"}, 1e6, 5, 5);
  made.Add({"bare"}, 1e6, 5, 5);
  made.Add({"device@/dev/zero:5"}, 1e6, 5, 5);
  EXPECT_THAT(Failure(made.profile, {"--source=parse"}), HasSubstr("there is no /nowhere/gone.cc"));
  EXPECT_THAT(Failure(made.profile, {"--source=device"}), HasSubstr("there is no /dev/zero"));
  EXPECT_THAT(Failure(made.profile, {"--source=bare"}), HasSubstr("no lines of bare"));
  EXPECT_THAT(Failure(made.profile, {"--source=other"}), HasSubstr("no function other"));
}

}  // namespace
}  // namespace allomon::views
