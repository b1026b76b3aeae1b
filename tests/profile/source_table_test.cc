#include "tracker/formats/source_table.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "tests/profile/golden_files.h"

namespace allomon {
namespace {

// Computed by another implementation of FNV-1a.
constexpr uint32_t kFixedTableMagic = 0x7962737e;

std::string ParseError(std::string_view text) {
  SourceTable table;
  std::string error;
  return ParseSources(text, &table, &error) ? "" : error;
}

SourceTable ParseOrDie(const std::string& text) {
  SourceTable table;
  std::string error;
  EXPECT_TRUE(ParseSources(text, &table, &error)) << error << "\n" << text;
  return table;
}

SourceTable SmallTable() {
  return ParseOrDie("0x1\n2\nmain\nf\tf.cc: 1\n2\n0 1\n1 0\n2\n\n1 1 \n");
}

TEST(SourceTableTest, RealAnswersSurviveByteForByte) {
  for (const std::string& path : testing::GoldenFiles("sources.txt")) {
    const std::string text = testing::ReadFileOrDie(path);
    EXPECT_EQ(FormatSources(ParseOrDie(text)), text) << path;
  }
}

TEST(SourceTableTest, RealAnswersBeginWithTheFixedEntries) {
  const SourceTable fixed = FixedSourceTable();
  for (const std::string& path : testing::GoldenFiles("sources.txt")) {
    const SourceTable table = ParseOrDie(testing::ReadFileOrDie(path));
    for (uint32_t i : {kUnknownSource, kGcSource, kMainSource}) {
      EXPECT_EQ(table.names[i].name, fixed.names[i].name) << path;
      EXPECT_EQ(table.sources[i].name_index, i) << path;
    }
    EXPECT_EQ(table.sequences[0], fixed.sequences[0]) << path;
    EXPECT_EQ(table.sequences[1], fixed.sequences[1]) << path;
  }
}

TEST(SourceTableTest, FixedTableIsReadBack) {
  EXPECT_EQ(FormatSources(FixedSourceTable()),
            "0x00000000\n3\n<unknown>\n<gc>\n<main>\n3\n0 2\n1 2\n2 2\n3\n"
            "0 \n1 \n\n");
  EXPECT_EQ(ParseError(FormatSources(FixedSourceTable())), "");
}

TEST(SourceTableTest, AnythingPrintedBeforeTheAnswer) {
  EXPECT_EQ(ParseError("hello\n0x1\n"), "expected magic");
  EXPECT_EQ(ParseError("\n0x1\n"), "expected magic");
  EXPECT_EQ(ParseError(""), "unexpected end of show-sources data");
}

TEST(SourceTableTest, OneMoreLineEvenBlankIsOneTooMany) {
  const std::string text = FormatSources(SmallTable());
  EXPECT_EQ(ParseError(text + "\n"), "expected end of file");
  EXPECT_EQ(ParseError(text + "x"), "expected end of file");
}

TEST(SourceTableTest, EveryTruncationIsAnError) {
  const std::string text = FormatSources(SmallTable());
  const size_t last_line = text.rfind('\n', text.size() - 2) + 1;
  for (size_t size = 0; size <= last_line; ++size) {
    if (text.substr(0, size) == "0x00000001\n0") continue;
    EXPECT_NE(ParseError(text.substr(0, size)), "") << size;
  }
}

TEST(SourceTableTest, NoNamesEndTheReading) {
  EXPECT_TRUE(ParseOrDie("0x1\n0\n").names.empty());
  EXPECT_TRUE(ParseOrDie("0x1\n0\n0\n0\n").names.empty());
}

TEST(SourceTableTest, NameLineHasOneOrTwoPieces) {
  const std::string head = "0x1\n1\n";
  const std::string tail = "\n0\n0\n";
  EXPECT_EQ(ParseError(head + tail), "strange source");
  EXPECT_EQ(ParseError(head + "\t\t" + tail), "strange source");
  EXPECT_EQ(ParseError(head + "a\tb\tc" + tail), "strange source");
  EXPECT_EQ(ParseOrDie(head + "\tfoo: 1" + tail).names[0].name, "foo: 1");
  EXPECT_EQ(ParseOrDie(head + "a\t\tb" + tail).names[0].position, "b");
}

TEST(SourceTableTest, NamesAreFreeText) {
  SourceTable table = FixedSourceTable();
  table.names[2] = {"std::vector<int, std::allocator<int>>::push_back(\"\\ü\")",
                    "dir with blanks/x.cc: 1"};
  table.names[1].name.assign(5000, 'x');
  const SourceTable again = ParseOrDie(FormatSources(table));
  EXPECT_EQ(again.names[2].name, table.names[2].name);
  EXPECT_EQ(again.names[2].position, table.names[2].position);
  EXPECT_EQ(again.names[1].name, table.names[1].name);
}

TEST(SourceTableTest, NamesThatWouldBreakTheAnswerAreMended) {
  SourceTable table = FixedSourceTable();
  table.names[0] = {"", "a\tb: 1"};
  table.names[1] = {"operator\n\"\"\t_x", ""};
  const SourceTable again = ParseOrDie(FormatSources(table));
  EXPECT_EQ(again.names[0].name, "<unnamed>");
  EXPECT_EQ(again.names[0].position, "a b: 1");
  EXPECT_EQ(again.names[1].name, "operator \"\" _x");
}

TEST(SourceTableTest, SourceLineIsTwoIndices) {
  const std::string head = "0x1\n1\nf\n1\n";
  EXPECT_EQ(ParseError(head + "0\n1\n\n"), "AFile.new");
  EXPECT_EQ(ParseError(head + "0 0 0\n1\n\n"), "AFile.new");
  EXPECT_EQ(ParseError(head + "0 0\n1\n\n"), "");
}

TEST(SourceTableTest, IndicesOutOfRange) {
  const std::string head = "0x1\n1\nf\n1\n";
  EXPECT_EQ(ParseError(head + "1 0\n1\n\n"), "Subscript: name 1 of 1");
  EXPECT_EQ(ParseError(head + "0 1\n1\n\n"), "Subscript: sequence 1 of 1");
  EXPECT_EQ(ParseError(head + "0 0\n1\n0 7 \n"), "Subscript: source 7 of 1");
  EXPECT_EQ(ParseError(head + "-1 0\n1\n\n"), "Subscript: '-1' is not an index");
}

TEST(SourceTableTest, HugeLengthDoesNotReserveMemory) {
  EXPECT_EQ(ParseError("0x1\n2147483647\nf\n"), "unexpected end of show-sources data");
  EXPECT_EQ(ParseError("0x1\nmany\nf\n"), "invalid number of source names");
}

TEST(SourceTableTest, ContentMagicSeesEverythingButTheMagic) {
  const SourceTable table = SmallTable();
  const uint32_t magic = ContentMagic(table);
  SourceTable other = table;
  other.magic = 7;
  EXPECT_EQ(ContentMagic(other), magic);
  other.names[1].position = "f.cc: 2";
  EXPECT_NE(ContentMagic(other), magic);
  other = table;
  other.sources[1].successor_sequence = 1;
  EXPECT_NE(ContentMagic(other), magic);
  other = table;
  other.sequences[0].push_back(0);
  EXPECT_NE(ContentMagic(other), magic);
}

TEST(SourceTableTest, ContentMagicSeesWhereTextsAndListsEnd) {
  SourceTable a = SmallTable();
  SourceTable b = a;
  a.names = {{"ab", "c"}};
  b.names = {{"a", "bc"}};
  EXPECT_NE(ContentMagic(a), ContentMagic(b));
  b.names = a.names;
  a.sequences = {{1}, {}};
  b.sequences = {{}, {1}};
  EXPECT_NE(ContentMagic(a), ContentMagic(b));
}

// A magic that moved with the compiler or the run would refuse valid profiles.
TEST(SourceTableTest, ContentMagicIsTheSameEverywhere) {
  EXPECT_EQ(ContentMagic(FixedSourceTable()), kFixedTableMagic);
}

class StubTest : public ::testing::TestWithParam<StubOf> {};

TEST_P(StubTest, PrintsTheAnswerAndNothingElse) {
  const SourceTable table = SmallTable();
  const std::string stub = FormatSourcesStub(table, GetParam());
  EXPECT_EQ(stub.rfind("#!/bin/sh\n", 0), 0u);
  EXPECT_EQ(IsStubOfLive(stub), GetParam() == StubOf::kLive);
  const std::string path = testing::NewDirectory() + "/a stub";
  std::ofstream(path) << stub;
  ASSERT_EQ(chmod(path.c_str(), 0755), 0);
  FILE* child = popen(("'" + path + "' @MLton show-sources").c_str(), "r");
  ASSERT_NE(child, nullptr);
  char buffer[1000];
  const size_t size = fread(buffer, 1, sizeof buffer, child);
  EXPECT_EQ(pclose(child), 0);
  EXPECT_EQ(std::string(buffer, size), FormatSources(table));
  EXPECT_EQ(AnswerOfStub(stub), FormatSources(table));
}

INSTANTIATE_TEST_SUITE_P(All, StubTest, ::testing::Values(StubOf::kAll, StubOf::kLive));

TEST(SourceTableTest, OtherScriptsHaveNoAnswerToBeReadOutOfThem) {
  EXPECT_EQ(AnswerOfStub("#!/bin/sh\nexec cat /etc/passwd\n0x0\n0\n"), "");
  EXPECT_EQ(AnswerOfStub("#!/bin/sh\n"), "");
}

}  // namespace
}  // namespace allomon
