// Snapshots that are cut off, damaged or something else: one line each, and no crash.
#include <gtest/gtest.h>

#include <random>

#include "tests/snapshot/snapshot_text.h"
#include "tools/snapshot/dominators.h"
#include "tools/snapshot/paths.h"
#include "tools/snapshot/read_snapshot.h"

namespace allomon::snapshot {
namespace {

TestGraph Small() {
  TestGraph graph;
  graph.nodes = {{"", 0, true}, {"(Globals)", 0}, {"Cell", 24}, {"Cell", 24}};
  graph.edges = {{0, 1}, {1, 2, kTestProperty, "list"}, {2, 3, kTestProperty, "tail"}};
  return graph;
}

std::string Replaced(std::string text, const std::string& what, const std::string& by) {
  const size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), by);
}

std::string ErrorOf(const std::string& text, bool edges = true) {
  const auto snapshot = ReadText(text, edges);
  return snapshot.ok() ? "none" : std::string(snapshot.status().message());
}

TEST(Reader, ReadsWhatIsThere) {
  const auto snapshot = ReadText(TextOf(Small()));
  ASSERT_TRUE(snapshot.ok()) << snapshot.status();
  EXPECT_EQ(snapshot->n_nodes(), 4u);
  EXPECT_EQ(snapshot->n_edges(), 3u);
  EXPECT_EQ(snapshot->node_id[3], 7u);
  EXPECT_EQ(snapshot->ClassOf(3), "Cell");
  EXPECT_EQ(snapshot->node_class[2], snapshot->node_class[3]);
  EXPECT_TRUE(snapshot->IsSynthetic(0));
  EXPECT_TRUE(snapshot->IsSynthetic(1)) << "a group of roots";
  EXPECT_FALSE(snapshot->IsSynthetic(2));
}

TEST(Reader, StringsMayHaveAnyEscape) {
  const std::string text =
      Replaced(TextOf(Small()), "\"Cell\"", R"("\"\\\/\n\u00e9\ud83d\ude00\ud83dx")");
  const auto snapshot = ReadText(text);
  ASSERT_TRUE(snapshot.ok()) << snapshot.status();
  EXPECT_EQ(snapshot->ClassOf(2), "\"\\/\n\u00e9\U0001F600\uFFFDx");
}

TEST(Reader, EveryBeginningIsRefusedInOneLine) {
  const std::string text = TextOf(Small());
  for (size_t size = 0; size + 2 < text.size(); ++size) {
    const std::string error = ErrorOf(text.substr(0, size));
    ASSERT_EQ(error.compare(0, 17, "no heap snapshot:"), 0) << size << ": " << error;
    ASSERT_EQ(error.find('\n'), std::string::npos);
  }
}

TEST(Reader, DamageIsNamed) {
  const std::string text = TextOf(Small());
  const struct {
    const char* what;
    const char* by;
    const char* error;
  } cases[] = {
      {"\"node_fields\"", "\"fields\"", "snapshot.meta has no list node_fields"},
      {"\"self_size\"", "\"size\"", "a field self_size is missing"},
      {"\"to_node\"]", "\"to\"]", "a field to_node is missing"},
      {"[\"object\",\"synthetic\"]", "7", "snapshot.meta has no list node_types"},
      {"\"node_count\":4", "\"node_count\":5", "fewer nodes than node_count"},
      {"\"node_count\":4", "\"node_count\":3", "more nodes than node_count"},
      {"\"node_count\":4", "\"node_count\":-1", "snapshot has no node_count"},
      {"\"node_count\":4", "\"node_count\":99999999999", "node_count is beyond"},
      {"\"node_count\":4", "\"node_count\":4000000000", "fewer nodes than node_count"},
      {"\"edge_count\":3", "\"edge_count\":4", "fewer edges than edge_count"},
      {"\"edge_count\":3", "\"edge_count\":2", "more edges than edge_count"},
      {"\"nodes\":[1,", "\"nodes\":[9,", "an unknown type of node"},
      {"\"nodes\":[1,0", "\"nodes\":[1,77", "the name of a node is not among the strings"},
      {"\"nodes\":[1,0", "\"nodes\":[1,-1", "a number without sign was expected"},
      {"\"nodes\":[1,0", "\"nodes\":[1,1.5", "',' was expected"},
      {"\"nodes\":[1,0", "\"nodes\":[1,99999999999999999999", "a number is beyond 64 bits"},
      {"\"edges\":[0,0,5", "\"edges\":[0,0,20", "an edge to a node that is not there"},
      {"\"edges\":[0,0,5", "\"edges\":[0,0,6", "an edge to the middle of a node"},
      {"\"edges\":[0,0,5", "\"edges\":[8,0,5", "an unknown type of edge"},
      {"\"edges\":[0,0,5", "\"edges\":[1,66,5", "the name of an edge is not among the strings"},
      {"\"edges\":", "\"nodes\":", "\"nodes\" is there twice"},
      {"\"snapshot\":", "\"snap\":", "\"nodes\" stands before \"snapshot\""},
      {"\"strings\":", "\"words\":", "the name of a node is not among the strings"},
      {"\"Cell\"", "\"Ce\tll\"", "a control character in a string"},
      {"\"Cell\"", "\"\\q\"", "an unknown escape"},
      {"]}\n", "]}x\n", "there is more behind the end"},
      {"\"samples\":[]", "\"samples\":[}", "brackets do not pair"},
  };
  for (const auto& [what, by, error] : cases) {
    const std::string damaged = Replaced(text, what, by);
    const std::string found = ErrorOf(damaged);
    EXPECT_NE(found.find(error), std::string::npos) << by << ": " << found;
    EXPECT_EQ(ErrorOf(damaged, false), found) << "edges are checked, kept or not";
  }
  EXPECT_EQ(ErrorOf(""), "no heap snapshot: the file is empty");
  EXPECT_EQ(ErrorOf("{}"), "no heap snapshot: \"snapshot\" is missing");
  EXPECT_NE(ErrorOf("[1]").find("'{' was expected"), std::string::npos);
  EXPECT_NE(ErrorOf("{\"a\":" + std::string(100000, '[')).find("nested too deeply"),
            std::string::npos);
}

TEST(Reader, SizesAddUpToLessThanAnyMemory) {
  TestGraph graph = Small();
  graph.nodes[2].self_bytes = uint64_t{1} << 61;
  graph.nodes[3].self_bytes = uint64_t{1} << 61;
  EXPECT_EQ(ErrorOf(TextOf(graph)), "none");
  for (const uint64_t bytes : {(uint64_t{1} << 61) + 1, uint64_t{7} << 61, UINT64_MAX}) {
    graph.nodes[3].self_bytes = bytes;
    for (const bool edges : {true, false}) {
      EXPECT_NE(ErrorOf(TextOf(graph), edges).find("larger than any memory"), std::string::npos);
    }
  }
}

// Damaged bytes are either refused, or describe a graph that all algorithms can walk.
void ExpectSafe(const std::string& text) {
  for (const bool edges : {true, false}) {
    const auto snapshot = ReadText(text, edges);
    if (!snapshot.ok() || !edges) continue;
    const Dominators dominators = FindDominators(*snapshot);
    RetainedByClass(*snapshot, dominators);
    GroupPaths(*snapshot, FindShortestPaths(*snapshot));
  }
}

TEST(Reader, RandomDamageIsSurvived) {
  const std::string text = TextOf(Small());
  constexpr char kBytes[] = "0123456789,:[]{}\"\\-x. \n\xc3";
  std::mt19937_64 random(19);
  for (int round = 0; round < 4000; ++round) {
    std::string damaged = text;
    for (uint64_t changes = 1 + random() % 3; changes > 0; --changes) {
      const size_t at = random() % damaged.size();
      const char byte = kBytes[random() % (sizeof kBytes - 1)];
      const uint64_t kind = random() % 3;
      if (kind == 0) damaged[at] = byte;
      if (kind == 1) damaged.insert(at, 1, byte);
      if (kind == 2) damaged.erase(at, 1 + random() % 5);
    }
    ExpectSafe(damaged);
  }
}

// Damage to numbers only is not refused early.
TEST(Reader, OtherNumbersAreSurvived) {
  const std::string text = TextOf(Small());
  const size_t begin = text.find("\"nodes\":[");
  std::mt19937_64 random(20);
  for (int round = 0; round < 4000; ++round) {
    std::string damaged = text;
    for (uint64_t changes = 1 + random() % 4; changes > 0; --changes) {
      const size_t at = begin + random() % (damaged.size() - begin);
      if (isdigit(static_cast<unsigned char>(damaged[at])) != 0) {
        damaged[at] = static_cast<char>('0' + random() % 10);
      }
    }
    ExpectSafe(damaged);
  }
}

}  // namespace
}  // namespace allomon::snapshot
