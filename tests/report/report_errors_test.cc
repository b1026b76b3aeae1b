// Bad input gives one line that names the cause and the remedy, status 2, and no report.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdio>
#include <filesystem>

#include "tests/profile/golden_files.h"
#include "tests/report/report_case.h"

namespace allomon::report {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class ReportErrorsTest : public ReportCase {
 protected:
  static void ExpectError(const std::vector<std::string>& args, const std::string& thing,
                          const std::string& remedy) {
    EXPECT_THAT(Error(args), AllOf(HasSubstr(thing), HasSubstr(remedy)));
  }
};

TEST_F(ReportErrorsTest, CommandLine) {
  ExpectError({"--sort=size"}, "--sort: \"size\"", "cur, stack, gc or name");
  ExpectError({"--top=-1"}, "--top: \"-1\"", "a number of rows");
  ExpectError({"--top"}, "--top needs a value", "");
  ExpectError({"--width=99999"}, "--width: \"99999\"", "a number of columns");
  ExpectError({"--color=maybe"}, "--color: \"maybe\"", "auto, always or never");
  ExpectError({"--json", "--csv"}, "--json and --csv", "choose one");
  ExpectError({"--picture="}, "--picture", "out.svg");
  ExpectError({"--colour=auto"}, "unknown option --colour=auto", "--help");
}

TEST_F(ReportErrorsTest, FilesThatCannotBeRead) {
  ExpectError({"none.out"}, "cannot read none.out: No such file", "name the profile");
  ExpectError({"."}, "cannot read .: Is a directory", "name the file in it");
  std::filesystem::remove("mlmon.out");
  ExpectError({}, "cannot read mlmon.out", "name the profile");
}

TEST_F(ReportErrorsTest, FilesThatAreNeitherProfileNorProgram) {
  Write("notes.txt", "MLton prof, I think\n");
  ExpectError({"notes.txt"}, "notes.txt is neither a profile", "\"MLton prof\"");
  Write("x.heapsnapshot", "{\"snapshot\":{}}");
  ExpectError({"x.heapsnapshot"}, "x.heapsnapshot is neither a profile", "allomon heap");
  Write("empty", "");
  ExpectError({"empty"}, "empty is empty", "profile the program again");
}

TEST_F(ReportErrorsTest, WrongMagic) {
  Mlmon other = testing::SmallProfile();
  other.magic = 0x77;
  Write("other.out", FormatMlmon(other));
  ExpectError({"prog", "other.out"}, "prog is of another build than other.out (magic 0x00001234",
              "name the program that wrote other.out");
  ExpectError({"prog", "mlmon.out", "other.out"}, "other.out does not add up with mlmon.out",
              "one build");
}

TEST_F(ReportErrorsTest, NoProgram) {
  ExpectError({"mlmon.out"}, "there is no mlmon.out.sources", "allomon report PROGRAM mlmon.out");
}

TEST_F(ReportErrorsTest, ScriptBesideTheProfileThatIsNotAllomonsIsNotRun) {
  WriteScript("mlmon.out.sources", "touch was_run\n");
  ExpectError({"mlmon.out"}, "mlmon.out.sources was not written by Allomon", "PROGRAM");
  EXPECT_FALSE(std::filesystem::exists("was_run"));
}

TEST_F(ReportErrorsTest, ProfileCutShortAnywhere) {
  const std::string whole = FormatMlmon(testing::SmallProfile());
  for (size_t size = 0; size + 2 < whole.size(); ++size) {
    Write("cut.out", whole.substr(0, size));
    const CommandResult result = Run({"prog", "cut.out"});
    EXPECT_EQ(result.status, 2) << size;
    EXPECT_EQ(LinesOf(result.err), 1u) << result.err;
  }
}

TEST_F(ReportErrorsTest, NumbersThatDoNotAddUpAreShownButNotASuccess) {
  Mlmon profile = testing::SmallProfile();
  profile.masters[3].current += 1;
  Write("edited.out", FormatMlmon(profile));
  const CommandResult result = Run({"prog", "edited.out"});
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.out, HasSubstr("A.f"));
  EXPECT_THAT(result.err, HasSubstr("add up to 101, not to its totals, 100"));
}

TEST_F(ReportErrorsTest, EmptyProfileSaysWhyItMayBe) {
  WriteProfile("a.out", ProfileKind::kAlloc, {{{"f", "f.cc: 1"}, {0}}});
  ExpectError({"a.out"}, "a.out: 0 bytes allocated", "ALLOMON_RATE=1");
  WriteProfile("l.out", ProfileKind::kAlloc, {{{"f", "f.cc: 1"}, {0}}}, StubOf::kLive);
  ExpectError({"l.out"}, "l.out: 0 bytes live", "ALLOMON_MMAP=1");
  WriteProfile("t.out", ProfileKind::kTime, {{{"f", "f.cc: 1"}, {0}}});
  ExpectError({"t.out"}, "t.out: 0 seconds", "ALLOMON_HZ");
  WriteProfile("c.out", ProfileKind::kCount, {{{"f", "f.cc: 1"}, {0}}});
  ExpectError({"c.out"}, "c.out: 0 calls", "-fpatchable-function-entry");
}

TEST_F(ReportErrorsTest, NoStackDataToSortBy) {
  WriteProfile("a.out", ProfileKind::kAlloc, {{{"f", "f.cc: 1"}, {1}}});
  ExpectError({"a.out", "--sort=stack"}, "a.out has no stack data", "ALLOMON_PROFILE=alloc,stack");
}

TEST_F(ReportErrorsTest, PictureThatCannotBeWritten) {
  ExpectError({"prog", "mlmon.out", "--picture=none/out.svg"}, "cannot write none/out.svg",
              "choose another output");
}

TEST_F(ReportErrorsTest, NamesOfFilesCannotActOnTheTerminal) {
  ExpectError({"\033[2J"}, "cannot read \\x1b[2J", "");
}

}  // namespace
}  // namespace allomon::report
