// The output and the errors of allomon heap.
#include "tools/snapshot/heap_command.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "tests/snapshot/snapshot_text.h"

namespace allomon::snapshot {
namespace {

class HeapCommand : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& text) {
    const std::string path = ::testing::TempDir() + "/" + name;
    std::ofstream(path) << text;
    return path;
  }

  // A cache of two entries, one of which is also held by a local; a string held by a weak edge.
  static TestGraph Cache() {
    TestGraph graph;
    graph.nodes = {{"", 0, true},   {"(GC roots)", 0, true}, {"(Globals)", 0},
                   {"Cache", 16},   {"Array<Entry>", 32},    {"Entry", 100},
                   {"Entry", 100},  {"Bytes", 1000},         {"(Locals of thread 7)", 0},
                   {"Weakling", 50}};
    graph.edges = {{0, 1},
                   {0, 2},
                   {0, 8},
                   {1, 2},
                   {1, 8},
                   {2, 3, kTestProperty, "cache"},
                   {3, 4, kTestProperty, "entries"},
                   {4, 5},
                   {4, 6},
                   {5, 7, kTestProperty, "key"},
                   {8, 6},
                   {3, 9, kTestWeak, "last"}};
    return graph;
  }

  static CommandResult Run(const std::vector<std::string>& args) {
    report::Terminal terminal;
    terminal.charset = Charset::kAscii;
    return RunHeap(args, terminal);
  }
};

TEST_F(HeapCommand, SummaryHasTypesAndHolders) {
  const std::string path = Write("cache.heapsnapshot", TextOf(Cache()));
  const CommandResult result = Run({path});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out, path + R"(: 6 objects, 1.3 KiB
not reached from a root but by weak references: 1 object, 50 B

type          objects   bytes      %  keeps alive      %
Entry               2   200 B  15.4%      1.2 KiB  92.4%
Cache               1    16 B   1.2%      1.1 KiB  88.4%
Array<Entry>        1    32 B   2.5%      1.1 KiB  87.2%
Bytes               1  1000 B  77.0%       1000 B  77.0%
Weakling            1    50 B   3.9%          0 B   0.0%

objects that keep most alive

keeps alive      %    own  object     held by
    1.1 KiB  88.4%   16 B  Cache @7   (Globals).cache
      100 B   7.7%  100 B  Entry @13  (Locals of thread 7)[11]
)");
}

TEST_F(HeapCommand, PathsSayWhoKeepsAType) {
  const std::string path = Write("cache.heapsnapshot", TextOf(Cache()));
  EXPECT_EQ(Run({path, "--paths=Bytes"}).out,
            path + R"(: shortest ways from Bytes to a root, by kind

1 object, 1000 B
  .key of Entry
  [] of Array<Entry>
  .entries of Cache
  .cache of (Globals)
)");
  EXPECT_EQ(Run({path, "--paths=Weakling"}).out,
            path + ": no root reaches them but by weak references\n");
}

TEST_F(HeapCommand, ObjectHasItsWayAndItsNeighbours) {
  const std::string path = Write("cache.heapsnapshot", TextOf(Cache()));
  EXPECT_EQ(Run({path, "--object=@11"}).out, path + R"(: Entry @11, 100 B, keeps 1.1 KiB alive
all ways to it lead through Array<Entry> @9

shortest way, from it to a root
  [8] of Array<Entry> @9
  .entries of Cache @7
  .cache of (Globals)

referred to by
member  of
[8]     Array<Entry> @9

refers to
member  object        own  keeps alive
.key    Bytes @15  1000 B       1000 B

keeps alive by itself
keeps alive     own  object
     1000 B  1000 B  Bytes @15
)");
}

TEST_F(HeapCommand, DiffShowsWhatGrew) {
  TestGraph more = Cache();
  more.nodes.push_back({"Bytes", 500});
  more.edges.push_back({6, 10, kTestProperty, "key"});
  const std::string before = Write("before.heapsnapshot", TextOf(Cache()));
  const std::string after = Write("after.heapsnapshot", TextOf(more));
  EXPECT_EQ(Run({after, "--diff", before}).out, after + ": since " + before + R"(

type   objects  growth    bytes  growth
Bytes        2      +1  1.5 KiB  +500 B
(all)        7      +1  1.8 KiB  +500 B
)");
  EXPECT_EQ(Run({after, "--diff", after}).out, after + ": since " + after + "\n\nno change\n");
}

// Objects without bytes count as in the snapshot's own table; only groups of roots do not.
TEST_F(HeapCommand, DiffCountsObjectsWithoutBytes) {
  const TestGraph small = {{{"(GC roots)", 0, true}, {"(Globals)", 0}, {"Mark", 0}, {"Mark", 0}},
                           {{0, 1}, {1, 2}, {1, 3}}};
  TestGraph larger = small;
  larger.nodes[3].self_bytes = 8;
  larger.nodes.push_back({"Mark", 0});
  larger.edges.push_back({1, 4});
  const std::string before = Write("small.heapsnapshot", TextOf(small));
  const std::string after = Write("larger.heapsnapshot", TextOf(larger));
  EXPECT_NE(Run({after}).out.find(": 3 objects, 8 B\n"), std::string::npos);
  EXPECT_EQ(Run({after, "--diff", before}).out, after + ": since " + before + R"(

type   objects  growth  bytes  growth
Mark         3      +1    8 B    +8 B
(all)        3      +1    8 B    +8 B
)");
}

TEST_F(HeapCommand, LinesFitEightyColumns) {
  TestGraph graph = Cache();
  graph.nodes[3].name = std::string(300, 'x');
  graph.edges[5].name = std::string(300, 'y');
  const std::string path = Write("w", TextOf(graph));
  for (const char* option : {"--top=3", "--object=7", "--object=9", "--paths=Bytes"}) {
    const std::string text = Run({path, option}).out;
    size_t start = text.find('\n') + 1;  // after the file's name
    for (size_t end = 0; (end = text.find('\n', start)) != std::string::npos; start = end + 1) {
      EXPECT_LE(end - start, 80u) << text.substr(start, end - start);
    }
  }
}

TEST_F(HeapCommand, MistakesAreOneLine) {
  const std::string path = Write("cache.heapsnapshot", TextOf(Cache()));
  const std::string empty = Write("empty.heapsnapshot", "");
  const std::vector<std::vector<std::string>> cases = {
      {},
      {"/none/x.heapsnapshot"},
      {empty},
      {path, path},
      {path, "--paths=None"},
      {path, "--paths="},
      {path, "--object=99"},
      {path, "--object=x"},
      {path, "--object=1", "--paths=Entry"},
      {path, "--diff=/none"},
      {path, "--diff"},
      {path, "--top=-1"},
      {path, "--width=x"},
      {path, "--fast"},
      {::testing::TempDir()},
  };
  for (const auto& args : cases) {
    const CommandResult result = Run(args);
    EXPECT_EQ(result.status, 2);
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(result.err.compare(0, 14, "allomon heap: "), 0) << result.err;
    EXPECT_EQ(result.err.find('\n'), result.err.size() - 1) << result.err;
  }
}

// The error message used to name the intact file.
TEST_F(HeapCommand, ADiffNamesTheFileThatIsCutShort) {
  const std::string sound = Write("sound.heapsnapshot", TextOf(Cache()));
  const std::string text = TextOf(Cache());
  const std::string cut = Write("cut.heapsnapshot", text.substr(0, text.size() / 2));
  const std::string before = Run({sound, "--diff", cut}).err;
  EXPECT_EQ(before.rfind("allomon heap: " + cut, 0), 0u) << before;
  EXPECT_EQ(before.find(sound), std::string::npos) << before;
  const std::string option = Run({sound, "--object=99"}).err;
  EXPECT_EQ(option.rfind("allomon heap: " + sound, 0), 0u) << option;
}

}  // namespace
}  // namespace allomon::snapshot
