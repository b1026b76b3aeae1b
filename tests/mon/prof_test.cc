// prof on files that the tests make about their own executable.
#include "tools/prof/prof.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tools/mlprof/mlprof.h"
#include "tracker/formats/mon_file.h"
#include "tracker/profile/mon/mon_module.h"

// Three adjacent functions in this order, a static one between two global ones.  Each is at the
// start of a cell, whatever the compiler adds.
#define ALONE                                                                                 \
  __attribute__((noinline, used, aligned(16), section(".text.prof_test"), no_sanitize_thread, \
                 no_sanitize_address, no_sanitize_undefined))
extern "C" {
ALONE int prof_test_first(int n) { return n * 3 + 1; }
ALONE static int prof_test_hidden(int n) { return n * 5 + 2; }
ALONE int prof_test_last(int n) { return n * 7 + 3; }
}

namespace allomon::prof {
namespace {

uintptr_t AddressOf(int (*function)(int)) { return reinterpret_cast<uintptr_t>(function); }

std::string HexOf(const unsigned char* bytes, size_t count) {
  std::string hex;
  for (size_t i = 0; i < count; ++i) {
    char digits[3];
    snprintf(digits, sizeof(digits), "%02x", bytes[i]);
    hex += digits;
  }
  return hex;
}

class ProfTest : public ::testing::Test {
 protected:
  ProfTest() {
    EXPECT_TRUE(internal::FindMonModule(AddressOf(prof_test_first), &module_));
    range_.low = AddressOf(prof_test_first);
    range_.high = AddressOf(prof_test_last) + 8;
    range_.bias = module_.bias;
    range_.build_id = HexOf(module_.build_id, module_.build_id_bytes);
    range_.cells.resize((range_.high - range_.low + 3) / 4);
  }
  ~ProfTest() override { unlink(file_.c_str()); }

  void Tick(int (*function)(int), uint16_t ticks) {
    range_.cells[(AddressOf(function) - range_.low) / 4] = ticks;
    range_.ticks += ticks;
  }
  void Call(int (*function)(int), uint64_t calls) {
    range_.counts.push_back({AddressOf(function), calls});
    range_.count_room = static_cast<uint32_t>(range_.counts.size());
  }

  void Write(const std::string& bytes) { std::ofstream(file_, std::ios::binary) << bytes; }

  Result Run(std::vector<std::string> args) {
    Write(FormatMon({range_}));
    return RunOnFile(std::move(args));
  }
  Result RunOnFile(std::vector<std::string> args) {
    args.insert(args.end(), {"-m", file_, "/proc/self/exe"});
    return RunProf(args);
  }

  std::string file_ = ::testing::TempDir() + "mon." + std::to_string(getpid());
  internal::MonModule module_;
  MonRange range_;
};

TEST_F(ProfTest, TimeAndCallsGoToTheirFunctions) {
  Tick(prof_test_last, 150);
  Tick(prof_test_first, 50);
  Call(prof_test_first, 4);
  const Result result = Run({});
  ASSERT_TRUE(result.success) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(result.out,
            "%Time  Seconds  Cumsecs     #Calls   msec/call  Name\n"
            " 75.0     1.50     1.50                         prof_test_last\n"
            " 25.0     0.50     2.00          4    125.0000  prof_test_first\n");
}

// The manual's default: a static function is not shown, and its time goes to the global function
// before it.
TEST_F(ProfTest, StaticFunctionIsShownOnDemandOnly) {
  Tick(prof_test_hidden, 100);
  Call(prof_test_hidden, 2);
  EXPECT_EQ(Run({"-h"}).out, "100.0     1.00     1.00          2    500.0000  prof_test_first\n");
  EXPECT_EQ(Run({"-hg"}).out, "100.0     1.00     1.00          2    500.0000  prof_test_hidden\n");
}

// The function's time used to be charged to an earlier named function, or lost.
TEST_F(ProfTest, StrippedFunctionIsNamedByItsExtent) {
  const std::string stripped = file_ + ".stripped";
  const std::string self = "/proc/" + std::to_string(getpid()) + "/exe";
  ASSERT_EQ(system(("strip -o '" + stripped + "' " + self).c_str()), 0);
  Tick(prof_test_hidden, 100);
  Write(FormatMon({range_}));
  const Result result = RunProf({"-h", "-m", file_, stripped});
  unlink(stripped.c_str());
  char offset[32];
  snprintf(offset, sizeof(offset), "+0x%zx\n",
           static_cast<size_t>(AddressOf(prof_test_hidden) - module_.bias));
  const std::string name = stripped.substr(stripped.rfind('/') + 1) + offset;
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(result.out, "100.0     1.00     1.00                         " + name);
}

TEST_F(ProfTest, CellOfSeveralFunctionsIsDividedByTheirBytes) {
  // One cell over all three: each gets its share, and nothing is lost.
  range_.cells = {1000};
  range_.cell_bytes = static_cast<uint32_t>(range_.high - range_.low - 3);
  const Result result = Run({"-hg"});
  ASSERT_TRUE(result.success) << result.err;
  std::istringstream lines(result.out);
  double sum = 0;
  int rows = 0;
  for (std::string line; std::getline(lines, line); ++rows) {
    double percent = 0;
    double seconds = 0;
    ASSERT_EQ(sscanf(line.c_str(), "%lf %lf", &percent, &seconds), 2);
    EXPECT_GT(percent, 5);
    sum += seconds;
  }
  EXPECT_EQ(rows, 3);
  EXPECT_NEAR(sum, 10, 0.02);
}

TEST_F(ProfTest, OrderIsWhatTheOptionAsks) {
  Tick(prof_test_first, 3);
  Tick(prof_test_hidden, 2);
  Tick(prof_test_last, 1);
  Call(prof_test_first, 1);
  Call(prof_test_hidden, 9);
  Call(prof_test_last, 5);
  const auto names = [this](const char* option) {
    std::istringstream lines(Run({"-gh", option}).out);
    std::string all;
    for (std::string line; std::getline(lines, line);) {
      all += line.substr(line.rfind('_') + 1) + " ";
    }
    return all;
  };
  EXPECT_EQ(names("-t"), "first hidden last ");
  EXPECT_EQ(names("-c"), "hidden last first ");
  EXPECT_EQ(names("-a"), "first hidden last ");
  EXPECT_EQ(names("-n"), "first hidden last ");
}

TEST_F(ProfTest, AddressesAreThoseOfTheFile) {
  Tick(prof_test_last, 1);
  const uintptr_t address = AddressOf(prof_test_last) - module_.bias;
  char hex[32];
  char octal[32];
  snprintf(hex, sizeof(hex), "%12lx ", address);
  snprintf(octal, sizeof(octal), "%12lo ", address);
  EXPECT_EQ(Run({"-hx"}).out.substr(0, 13), hex);
  EXPECT_EQ(Run({"-ho"}).out.substr(0, 13), octal);
}

TEST_F(ProfTest, FunctionsWithoutTimeAreShownOnDemand) {
  Tick(prof_test_last, 1);
  EXPECT_EQ(Run({"-h"}).out.find("prof_test_first"), std::string::npos);
  EXPECT_NE(Run({"-hz"}).out.find("prof_test_first"), std::string::npos);
}

TEST_F(ProfTest, SummaryTellsHowTheProfileWasTaken) {
  Tick(prof_test_last, 100);
  range_.other_ticks = 50;
  const std::string summary = Run({"-s"}).err;
  EXPECT_NE(summary.find("1.00 seconds in the ranges, 0.50 elsewhere, 0 calls"), std::string::npos)
      << summary;
  EXPECT_NE(summary.find("cells of 4 bytes, 100 ticks a second, 0 of 0 call counts\n"),
            std::string::npos)
      << summary;
}

// The first one named was taken for the one that was sampled.
TEST_F(ProfTest, ProgramsWithoutBuildIdsAreNotMixedUp) {
  const std::string copy = file_ + ".copy";
  const std::string self = "/proc/" + std::to_string(getpid()) + "/exe";
  const std::string command = "objcopy --remove-section .note.gnu.build-id " + self + " '";
  ASSERT_EQ(system((command + copy + "'").c_str()), 0);
  Tick(prof_test_last, 100);
  range_.build_id.clear();
  Write(FormatMon({range_}));
  EXPECT_EQ(RunProf({"-h", "-m", file_, copy}).out,
            "100.0     1.00     1.00                         prof_test_last\n");
  EXPECT_EQ(RunProf({"-h", "-m", file_, copy, copy}).err,
            "prof: " + copy + " and " + copy +
                " cannot be told apart: they have no build ids; link with -Wl,--build-id\n");
  unlink(copy.c_str());
}

// The seconds of the ranges were those of the cells alone, and nothing was said.
TEST_F(ProfTest, TicksWithoutCellsAreSaid) {
  Call(prof_test_last, 1);
  range_.cells.clear();
  range_.ticks = 300;
  const Result result = Run({"-s"});
  EXPECT_TRUE(result.success);
  EXPECT_NE(result.err.find("a range has no cells"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("3.00 seconds in the ranges"), std::string::npos) << result.err;
}

// The sum of two ranges wrapped.
TEST_F(ProfTest, CallsOfRangesAddUpBeyond64Bits) {
  Call(prof_test_last, INT64_MAX);
  Write(FormatMon({range_, range_, range_}));
  const Result result = RunOnFile({"-hs"});
  EXPECT_NE(result.out.find(" 27670116110564327421 "), std::string::npos) << result.out;
  EXPECT_NE(result.err.find(" 27670116110564327421 calls"), std::string::npos) << result.err;
}

TEST_F(ProfTest, LimitsOfTheMonitorAreSaid) {
  range_.saturated = true;
  range_.counts_lost = true;
  const Result result = Run({});
  EXPECT_TRUE(result.success);
  EXPECT_NE(result.err.find("cells are full"), std::string::npos);
  EXPECT_NE(result.err.find("more functions were called than nfunc"), std::string::npos);
}

TEST_F(ProfTest, ConvertedProfileIsReadByMlprof) {
  Tick(prof_test_last, 75);
  Tick(prof_test_first, 25);
  Call(prof_test_first, 10);
  const std::string mlmon = file_ + ".mlmon";
  ASSERT_TRUE(Run({"--mlmon=" + mlmon}).success);
  mlprof::Result read = mlprof::RunMlprof({mlmon + ".sources", mlmon});
  ASSERT_TRUE(read.success) << read.err;
  EXPECT_EQ(read.out,
            "1.00 seconds of CPU time (0.00 seconds GC)\n"
            "   function      cur \n"
            "--------------- -----\n"
            "prof_test_last  75.0%\n"
            "prof_test_first 25.0%\n");
  for (const std::string& path : {mlmon, mlmon + ".sources"}) {
    struct stat status;
    ASSERT_EQ(stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 077, 0u) << path;
  }
  ASSERT_TRUE(Run({"--mlmon=" + mlmon, "--counts"}).success);
  read = mlprof::RunMlprof({mlmon + ".sources", mlmon});
  ASSERT_TRUE(read.success) << read.err;
  EXPECT_NE(read.out.find("prof_test_first 100.0%"), std::string::npos) << read.out;
  unlink(mlmon.c_str());
  unlink((mlmon + ".sources").c_str());
}

TEST_F(ProfTest, HelpIsNotAnError) {
  const Result result = RunProf({"--help"});
  EXPECT_TRUE(result.success);
  EXPECT_EQ(result.out.find("usage: prof "), 0u);
}

TEST_F(ProfTest, BadInputIsNamedInOneLine) {
  const auto error = [](const Result& result) {
    EXPECT_FALSE(result.success);
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(result.err.find('\n'), result.err.size() - 1);
    return result.err;
  };
  EXPECT_EQ(error(Run({"-q"})).find("prof: unknown option -q; usage: prof"), 0u);
  EXPECT_EQ(error(Run({"-tc"})).find("prof: -t and -c exclude each other; "), 0u);
  EXPECT_EQ(error(Run({"-o", "-x"})).find("prof: -o and -x exclude each other; "), 0u);
  EXPECT_EQ(error(Run({"--counts"})).find("prof: --counts belongs to --mlmon=FILE; "), 0u);
  EXPECT_EQ(error(RunProf({"-m"})).find("prof: -m needs the name of a file; "), 0u);
  EXPECT_EQ(error(RunProf({"-m", "/nonexistent/mon.out"})),
            "prof: cannot read /nonexistent/mon.out: No such file or directory; run the program, "
            "or name its file with -m\n");
  Write("");
  EXPECT_EQ(error(RunOnFile({})),
            "prof: " + file_ + " is empty: the program has not stopped its monitor\n");
  Write(std::string(200, 'x'));
  EXPECT_EQ(error(RunOnFile({})), "prof: " + file_ + " is not a file of monitor()\n");
  Write(FormatMon({range_}).substr(0, 100));
  EXPECT_EQ(error(RunOnFile({})), "prof: " + file_ + " is cut off: run the program again\n");
  Write(FormatMon({range_}));
  EXPECT_EQ(error(RunOnFile({"--mlmon=/dev/null"})),
            "prof: /dev/null is not a file, and a second one belongs beside it: name a file\n");
  EXPECT_EQ(error(RunProf({"-m", "/tmp", "/proc/self/exe"})),
            "prof: cannot read /tmp: Is a directory; run the program, or name its file with -m\n");
  EXPECT_EQ(
      error(RunProf({"-m", file_, "/nonexistent/a.out"})),
      "prof: cannot read /nonexistent/a.out: No such file or directory; name the program that "
      "ran\n");
  EXPECT_EQ(error(RunProf({"-m", file_, "/etc/passwd"})),
            "prof: /etc/passwd is not a 64-bit ELF file; name the program that ran\n");
  range_.build_id = "0123";
  EXPECT_EQ(error(Run({})),
            "prof: " + file_ +
                " is of another program than /proc/self/exe: its build id is 0123; " +
                "name the program that wrote it, and the libraries that it sampled\n");
}

}  // namespace
}  // namespace allomon::prof
