// The hints of a report about functions that may be wrappers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/report/report_case.h"
#include "tracker/formats/call_sites.h"
#include "tracker/formats/source_table.h"

namespace allomon::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class WrappersInReport : public ReportCase {
 protected:
  // Writes a profile in which PoolGet has `bytes` of 100 and was called from `callers` places.
  static void Write(ProfileKind kind, MlmonInt bytes, uint32_t callers) {
    Mlmon mlmon;
    mlmon.kind = kind;
    mlmon.total = 100;
    SourceTable table = FixedSourceTable();
    mlmon.splits.resize(3);
    const auto add = [&](const char* name, MlmonInt amount) {
      table.sources.push_back({static_cast<uint32_t>(table.names.size()), kNoSuccessors});
      table.names.push_back({name, "m: 0x10"});
      mlmon.splits.push_back({amount, 0, 0});
    };
    add("PoolGet(unsigned long)", bytes);
    add("other", 100 - bytes);
    mlmon.masters = mlmon.splits;
    table.magic = mlmon.magic = ContentMagic(table);
    CallSites sites;
    sites.modules = {{"", "/nowhere/m"}};
    sites.callers = {0, 0, 0, callers, callers};
    sites.sites = {{3, 1, {{0, 0x10, 0x11}}}};
    std::ofstream("w.out") << FormatMlmon(mlmon);
    std::ofstream("w.out.sources")
        << FormatSourcesStub(table, StubOf::kAll, FormatCallSites(sites));
  }
};

TEST_F(WrappersInReport, OneThatTakesMostForManyIsSuggested) {
  Write(ProfileKind::kAlloc, 60, 8);
  EXPECT_THAT(Out({"w.out"}), HasSubstr("\nPoolGet(unsigned long) takes most, and was called from "
                                        "8 places: if it only passes memory on, profile again with "
                                        "ALLOMON_EXCLUDE='PoolGet', which charges its callers\n"));
}

TEST_F(WrappersInReport, OthersAreNot) {
  Write(ProfileKind::kAlloc, 59, 8);
  EXPECT_THAT(Out({"w.out"}), Not(HasSubstr("ALLOMON_EXCLUDE")));
  Write(ProfileKind::kAlloc, 60, 7);
  EXPECT_THAT(Out({"w.out"}), Not(HasSubstr("ALLOMON_EXCLUDE")));
  Write(ProfileKind::kTime, 60, 8);
  EXPECT_THAT(Out({"w.out"}), Not(HasSubstr("ALLOMON_EXCLUDE")));
}

TEST_F(WrappersInReport, ProgramsAreNotTold) {
  Write(ProfileKind::kAlloc, 60, 8);
  EXPECT_THAT(Out({"w.out", "--csv"}), Not(HasSubstr("ALLOMON_EXCLUDE")));
  EXPECT_THAT(Out({"w.out", "--json"}), Not(HasSubstr("ALLOMON_EXCLUDE")));
}

TEST_F(WrappersInReport, CodeThatIsGoneChangesNothing) {
  Write(ProfileKind::kAlloc, 60, 1);
  EXPECT_THAT(Out({"w.out", "--csv"}), HasSubstr("PoolGet(unsigned long),m: 0x10,60\n"));
}

}  // namespace
}  // namespace allomon::report
