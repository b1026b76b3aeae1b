// Tests the contents of a report of one profile, or of the sum of several.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "tests/profile/golden_files.h"
#include "tests/report/report_case.h"

namespace allomon::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

class ReportTest : public ReportCase {
 protected:
  // Writes two ties, a name with an escape sequence, and one in another script.
  static void WriteOddNames() {
    WriteProfile("odd.out", ProfileKind::kAlloc,
                 {{{"b", "b.cc: 1"}, {5}},
                  {{"a", "a.cc: 2"}, {5}},
                  {{"evil\033[2J\xc2\x9b"
                    "1m\xff",
                    "x\033.cc: 3"},
                   {4}},
                  {{"Größe::名前", "名.cc: 4"}, {3}},
                  {{"a", "a.cc: 1"}, {5}}});
  }
};

TEST_F(ReportTest, TableOfTheProfileBesideTheProgram) {
  EXPECT_EQ(Out({"prog", "mlmon.out"}),
            "mlmon.out: 90 B allocated (90 bytes), and 10 B by the collector\n"
            "functions by prog\n"
            "\n"
            "function  where   stack  stack %   cur  cur %   GC %\n"
            "<main>             90 B    90.0%  50 B  50.0%  10.0%  ██████████░░░░░░░░\n"
            "A.g       g.cc:2   40 B    40.0%  30 B  30.0%  10.0%  ██████░░\n"
            "A.f       f.cc:1   10 B    10.0%  10 B  10.0%   0.0%  ██\n"
            "<gc>                0 B     0.0%  10 B  10.0%  10.0%  ██\n");
}

TEST_F(ReportTest, FilesAreToldApartByTheirContents) {
  EXPECT_EQ(Out({"mlmon.out", "prog"}), Out({"prog", "mlmon.out"}));
  EXPECT_EQ(Out({"prog"}), Out({"prog", "mlmon.out"})) << "mlmon.out is the default";
}

TEST_F(ReportTest, ProfilesAddUp) {
  Write("again.out", FormatMlmon(testing::SmallProfile()));
  const std::string text = Out({"prog", "mlmon.out", "again.out"});
  EXPECT_THAT(text, HasSubstr("mlmon.out and 1 more profile: 180 B allocated"));
  EXPECT_THAT(text, HasSubstr("100 B  50.0%"));
}

TEST_F(ReportTest, ScriptBesideTheProfileIsReadAndSaid) {
  WriteProfile("x.out", ProfileKind::kAlloc, {{{"f", "f.cc: 1"}, {7}}});
  chmod("x.out.sources", 0644);  // cannot be run, and need not be
  EXPECT_THAT(Out({"x.out"}), HasSubstr("functions by x.out.sources, found beside the profile\n"));
}

TEST_F(ReportTest, ProfileOfWhatIsLiveSaysSo) {
  WriteProfile("heap.out", ProfileKind::kAlloc, {{{"f", "f.cc: 1"}, {7}}}, StubOf::kLive);
  EXPECT_THAT(Out({"heap.out"}), HasSubstr("heap.out: 7 B live (7 bytes)\n"));
}

// A profile of live blocks is charged to other functions than those that a program with hooks
// lists.
TEST_F(ReportTest, ProgramThatSaysOtherFunctionsThanItsProfileOfWhatIsLive) {
  WriteProfile("heap.out", ProfileKind::kAlloc, {{{"f", "f.cc: 1"}, {7}}}, StubOf::kLive);
  EXPECT_THAT(Out({"prog", "heap.out"}), HasSubstr("functions by heap.out.sources"));
}

// Such an executable would do its normal work instead of answering.
TEST_F(ReportTest, ExecutableThatDoesNotKnowTheQuestionIsNotRun) {
  WriteProfile("x.out", ProfileKind::kAlloc, {{{"f", "f.cc: 1"}, {7}}});
  Write("server", "\177ELF, or so", 0755);
  EXPECT_THAT(Out({"server", "x.out"}), HasSubstr("functions by x.out.sources"));
  remove("x.out.sources");
  EXPECT_THAT(Error({"server", "x.out"}), HasSubstr("no x.out.sources"));
}

TEST_F(ReportTest, OneColumnSortsEqualRowsByTheNextAndThenByName) {
  WriteOddNames();
  const std::string text = Out({"odd.out", "--top=3"});
  const size_t first = text.find("a.cc:1"), second = text.find("a.cc:2"), third = text.find("b.cc");
  EXPECT_LT(first, second);
  EXPECT_LT(second, third);
  EXPECT_NE(third, std::string::npos);
}

// Each column puts another row first.
TEST_F(ReportTest, EachColumnSorts) {
  WriteProfile("columns.out", ProfileKind::kAlloc,
               {{{"own", "f.cc: 1"}, {50, 50, 1}},
                {{"calls", "f.cc: 2"}, {20, 90, 2}},
                {{"collects", "f.cc: 3"}, {20, 20, 3}},
                {{"by_name", "f.cc: 4"}, {10, 10, 0}}});
  const auto first_row = [](const std::string& text) {
    const size_t row = text.find('\n', text.find("function ")) + 1;
    return text.substr(row, text.find(' ', row) - row);
  };
  EXPECT_EQ(first_row(Out({"columns.out", "--sort=cur"})), "own");
  EXPECT_EQ(first_row(Out({"columns.out", "--sort", "stack"})), "calls");
  EXPECT_EQ(first_row(Out({"columns.out", "--sort=gc"})), "collects");
  EXPECT_EQ(first_row(Out({"columns.out", "--sort=name"})), "by_name");
}

// `,stack` asks for the callers; sorted by their own bytes they came last.
TEST_F(ReportTest, StackDataSortByStackWithWhatStartsTheProgramLast) {
  WriteProfile("calls.out", ProfileKind::kAlloc,
               {{{"main", "m.cc: 1"}, {0, 100}},
                {{"_start", "m: 0x10"}, {0, 100}},
                {{"leaf", "f.cc: 1"}, {100, 100}},
                {{"caller", "f.cc: 2"}, {0, 90}},
                {{"start_thread", "libc.so.6: 0x10"}, {0, 10}}});
  const auto order = [](const std::string& text) {
    std::vector<std::string> names = {"leaf", "caller", "_start", "main", "start_thread"};
    std::sort(names.begin(), names.end(), [&text](const std::string& a, const std::string& b) {
      return text.find("\n" + a + " ") < text.find("\n" + b + " ");
    });
    return names;
  };
  EXPECT_THAT(order(Out({"calls.out"})),
              ElementsAre("leaf", "caller", "_start", "main", "start_thread"));
  EXPECT_THAT(order(Out({"calls.out", "--sort=stack"})),
              ElementsAre("leaf", "_start", "main", "caller", "start_thread"));
}

TEST_F(ReportTest, MainThatAllocatesItselfIsNoStarter) {
  WriteProfile("own.out", ProfileKind::kAlloc,
               {{{"main", "m.cc: 1"}, {10, 100}}, {{"f", "f.cc: 1"}, {90, 90}}});
  const std::string text = Out({"own.out"});
  EXPECT_LT(text.find("\nmain"), text.find("\nf "));
}

// A bar of 20 columns left no room for class names in 80 columns.
TEST_F(ReportTest, ClassAndFunctionStayOnEightyColumns) {
  const std::string name =
      "void company::storage::SegmentedSessionRegistry<int>::RegisterListener<char>(char const&)";
  WriteProfile("long.out", ProfileKind::kAlloc,
               {{{name, "/usr/include/company/storage/registry.h: 1234"}, {1 << 20, 1 << 20}}});
  Terminal screen = Screen(80);
  screen.color_wanted = false;
  EXPECT_THAT(Out({"long.out"}, screen), HasSubstr("SegmentedSessionRegistry::RegisterListener "));
}

TEST_F(ReportTest, RowsThatAreNotShownAreCounted) {
  EXPECT_THAT(Out({"prog", "mlmon.out", "--top=2"}),
              HasSubstr("2 more functions                          20 B  20.0%"));
  EXPECT_THAT(Out({"prog", "mlmon.out", "--top=3"}), HasSubstr("1 more function "));
  EXPECT_THAT(Out({"prog", "mlmon.out", "--top=4"}), Not(HasSubstr("more")));
  EXPECT_THAT(Out({"prog", "mlmon.out", "--top=0"}), Not(HasSubstr("more")));
}

TEST_F(ReportTest, ByDefaultAsManyRowsAsTheScreenHas) {
  std::vector<NamedCount> functions;
  for (int i = 0; i < 200; ++i) functions.push_back({{"f" + std::to_string(i), "f.cc: 1"}, {1}});
  WriteProfile("many.out", ProfileKind::kAlloc, functions);
  EXPECT_EQ(LinesOf(Out({"many.out"}, Screen(80))), 49u) << "and one for the prompt";
  EXPECT_THAT(Out({"many.out"}), HasSubstr("180 more functions"));
}

TEST_F(ReportTest, NoLineIsWiderThanTheScreen) {
  WriteOddNames();
  WriteProfile("long.out", ProfileKind::kAlloc,
               {{{std::string(150, 'n') + "::Method", std::string(90, 'p') + ".cc: 12"},
                 {1 << 20, 1 << 20}}});
  for (const int width : {40, 80, 200}) {
    for (const char* file : {"mlmon.out", "odd.out", "long.out"}) {
      const std::string program = file == std::string("mlmon.out") ? "prog" : file;
      Terminal screen = Screen(width);
      screen.color_wanted = false;
      const std::string text = Out({program, file == program ? "--sort=cur" : file}, screen);
      EXPECT_LE(WidestLine(text), width) << text;
    }
    Terminal screen = Screen(width);
    screen.color_wanted = false;
    EXPECT_THAT(Out({"long.out"}, screen), HasSubstr("::Method")) << "the end of the name is kept";
  }
}

TEST_F(ReportTest, ColourIsForTerminalsUnlessAskedFor) {
  const auto is_colored = [](const std::string& text) {
    return text.find('\033') != std::string::npos;
  };
  const std::vector<std::string> args = {"prog", "mlmon.out"};
  EXPECT_TRUE(is_colored(Out(args, Screen(80))));
  EXPECT_FALSE(is_colored(Out(args, Pipe())));
  EXPECT_FALSE(is_colored(Out({"prog", "mlmon.out", "--color=never"}, Screen(80))));
  EXPECT_TRUE(is_colored(Out({"prog", "mlmon.out", "--color=always"}, Pipe())));
  Terminal no_color = Screen(80);
  no_color.color_wanted = false;
  EXPECT_FALSE(is_colored(Out(args, no_color)));
}

TEST_F(ReportTest, NamesCannotActOnTheTerminal) {
  WriteOddNames();
  for (const char* format : {"--sort=cur", "--json", "--csv"}) {
    const std::string text = Out({"odd.out", format});
    EXPECT_EQ(text.find('\033'), std::string::npos) << text;
    EXPECT_EQ(text.find("\xc2\x9b"), std::string::npos) << text;
    EXPECT_EQ(text.find('\xff'), std::string::npos) << text;
  }
  EXPECT_THAT(Out({"odd.out"}), HasSubstr("evil\\x1b[2J\\x9b1m\\xff"));
  EXPECT_THAT(Out({"odd.out"}), HasSubstr("Größe::名前"));
  Terminal ascii;
  ascii.charset = Charset::kAscii;
  EXPECT_THAT(Out({"odd.out"}, ascii), HasSubstr("Gr\\xf6\\xdfe::\\u540d\\u524d"));
}

TEST_F(ReportTest, FunctionsThatWereNeverCalledAreNews) {
  WriteProfile("calls.out", ProfileKind::kCount,
               {{{"f", "f.cc: 1"}, {7}}, {{"g", "g.cc: 1"}, {0}}});
  EXPECT_THAT(Out({"calls.out"}), HasSubstr("7 calls"));
  EXPECT_THAT(Out({"calls.out"}), HasSubstr("1 more function never called\n"));
}

TEST_F(ReportTest, TimesAreSeconds) {
  WriteProfile("time.out", ProfileKind::kTime, {{{"f", "f.cc: 1"}, {150}}});
  EXPECT_THAT(Out({"time.out"}), HasSubstr("1.50 s of CPU time"));
}

TEST_F(ReportTest, JsonHasTheExactNumbers) {
  const Json json = Json::parse(Out({"prog", "mlmon.out", "--json"}));
  EXPECT_EQ(json["format"], "flat report");
  EXPECT_EQ(json["version"], 1);
  EXPECT_EQ(json["kind"], "alloc");
  EXPECT_EQ(json["unit"], "bytes");
  EXPECT_EQ(json["profiles"], Json::array({"mlmon.out"}));
  EXPECT_EQ(json["total"], 90);
  EXPECT_EQ(json["total_gc"], 10);
  ASSERT_EQ(json["functions"].size(), 4u);
  EXPECT_EQ(json["functions"][1], Json::parse(R"({"name": "A.g", "position": "g.cc: 2",
      "current": 30, "stack": 40, "gc": 10})"));
}

TEST_F(ReportTest, JsonOfOddNamesIsValidAndAscii) {
  WriteOddNames();
  const std::string text = Out({"odd.out", "--json"});
  for (char c : text) EXPECT_TRUE(c == '\n' || (' ' <= c && c <= '~'));
  const Json json = Json::parse(text);
  EXPECT_EQ(json["functions"].size(), 5u);
  EXPECT_EQ(json["functions"][4]["name"], "Größe::名前");
}

TEST_F(ReportTest, JsonIsBoundedByItsLastRows) {
  std::vector<NamedCount> functions;
  for (int i = 0; i < 2000; ++i) {
    functions.push_back({{"f" + std::to_string(i), "f.cc: 1"}, {3000 - i}});
  }
  WriteProfile("many.out", ProfileKind::kAlloc, functions);
  for (const bool diff : {false, true}) {
    std::vector<std::string> args = {"many.out", "--json", "--top=0"};
    if (diff) args = {"--diff", "small.out", "many.out", "--json", "--top=0"};
    WriteProfile("small.out", ProfileKind::kAlloc, {{{"g", "g.cc: 1"}, {7}}});
    const Json whole = Json::parse(Out(args));
    EXPECT_FALSE(whole.contains("left_out"));
    for (const size_t bound : {size_t{16384}, size_t{50000}}) {
      std::vector<std::string> bounded = args;
      bounded.push_back("--max-bytes=" + std::to_string(bound));
      const std::string text = Out(bounded);
      EXPECT_LE(text.size(), bound);
      EXPECT_GT(text.size(), bound - 500) << "no more was left out than had to be";
      const Json report = Json::parse(text);
      const size_t shown = report["functions"].size();
      EXPECT_EQ(report["left_out"], Json({{"functions", whole["functions"].size() - shown}}));
      for (size_t i = 0; i < shown; ++i) EXPECT_EQ(report["functions"][i], whole["functions"][i]);
    }
    args.push_back("--max-bytes=1g");
    EXPECT_EQ(Json::parse(Out(args)), whole);
  }
}

// Names come from the profiled program, and files from a shell's pattern.
TEST_F(ReportTest, JsonIsBoundedWhateverItsTextsAre) {
  WriteProfile("long.out", ProfileKind::kAlloc,
               {{{std::string(100'000, '\x01'), "f.cc: 1"}, {7}}, {{"g", "g.cc: 1"}, {6}}});
  std::vector<std::string> args = {"--json", "--max-bytes=16k"};
  for (int i = 0; i < 3000; ++i) args.push_back("long.out");
  const std::string text = Out(args);
  EXPECT_LE(text.size(), 16384u);
  const Json report = Json::parse(text);
  EXPECT_EQ(report["left_out"]["functions"], 2);
  EXPECT_EQ(report["left_out"]["profiles"], 2999);
  EXPECT_EQ(report["total"], 39000);
}

TEST_F(ReportTest, CsvQuotesWhatItMust) {
  WriteProfile("csv.out", ProfileKind::kAlloc, {{{"f(int, \"x\")", "f.cc: 1"}, {7}}});
  EXPECT_EQ(Out({"csv.out", "--csv"}),
            "function,position,current\n\"f(int, \"\"x\"\")\",f.cc: 1,7\n");
}

TEST_F(ReportTest, PictureIsWrittenBesideTheTable) {
  EXPECT_THAT(Out({"prog", "mlmon.out", "--picture=out.svg"}), HasSubstr("A.g"));
  struct stat status;
  ASSERT_EQ(stat("out.svg", &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  const std::string svg = testing::ReadFileOrDie("out.svg");
  EXPECT_EQ(svg.rfind("<?xml", 0), 0u);
  EXPECT_THAT(svg, HasSubstr("&lt;main&gt;"));
  EXPECT_THAT(svg, HasSubstr("with what it called"));
  EXPECT_EQ(svg.substr(svg.size() - 7), "</svg>\n");
}

// Viewers showed a literal \x0a.
TEST_F(ReportTest, TooltipsOfAPictureHaveLines) {
  WriteOddNames();
  Out({"prog", "mlmon.out", "--picture=out.svg"});
  EXPECT_THAT(testing::ReadFileOrDie("out.svg"),
              HasSubstr("<title>A.g  g.cc:2\nitself: 30 B, 30.0%\nwith what it called: 40 B"));
  WriteProfile("line.out", ProfileKind::kAlloc, {{{"two\vlines", "f.cc: 1"}, {7}}});
  Out({"line.out", "--picture=out.svg"});
  EXPECT_THAT(testing::ReadFileOrDie("out.svg"), HasSubstr("<title>two\\x0blines  f.cc:1\n"));
}

// The narrow tiles of C++ names used to show only the end of the parameters.
TEST_F(ReportTest, TilesHaveClassAndFunctionOnALineEach) {
  std::vector<NamedCount> functions;
  for (int i = 0; i < 20; ++i) {
    functions.push_back({{"void a::Registry<int>::RegisterOne" + std::to_string(10 + i) +
                              "<char>(std::string const&)",
                          "f.cc: 1"},
                         {1000}});
  }
  WriteProfile("tiles.out", ProfileKind::kAlloc, functions);
  Out({"tiles.out", "--picture=out.svg", "--top=1"});
  const std::string svg = testing::ReadFileOrDie("out.svg");
  EXPECT_THAT(svg, HasSubstr(">Registry::</text>"));
  EXPECT_THAT(svg, HasSubstr(">RegisterOne12</text>"));
}

TEST_F(ReportTest, ColoursOfAPictureHaveALegend) {
  WriteProfile("o.out", ProfileKind::kAlloc,
               {{{"Open()", "s.cc: 1"}, {70}}, {{"std::f()", "s: 0x1"}, {30}}});
  Out({"o.out", "--picture=out.svg"});
  const std::string svg = testing::ReadFileOrDie("out.svg");
  EXPECT_THAT(svg, HasSubstr("the program, 70.0%"));
  EXPECT_THAT(svg, HasSubstr("language runtime, 30.0%"));
  EXPECT_THAT(svg, Not(HasSubstr("libraries")));
}

TEST_F(ReportTest, HelpNamesEveryOption) {
  const std::string help = Out({"--help"});
  for (const char* option :
       {"--sort=", "--top=", "--diff", "--json", "--csv", "--picture=", "--color=", "--width="}) {
    EXPECT_THAT(help, HasSubstr(option));
  }
}

}  // namespace
}  // namespace allomon::report
