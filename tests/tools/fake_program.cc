#include "tests/tools/fake_program.h"

#include <filesystem>

#include "tests/profile/golden_files.h"
#include "tracker/formats/write_file.h"

namespace allomon::testing {

SourceTable SmallTable() {
  SourceTable table = FixedSourceTable();
  table.magic = 0x1234;
  table.names.push_back({"A.f", "f.cc: 1"});
  table.names.push_back({"A.g", "g.cc: 2"});
  table.sources.push_back({3, kNoSuccessors});
  table.sources.push_back({4, 3});
  table.sequences.push_back({3, 4});
  table.sources[kMainSource].successor_sequence = 3;
  return table;
}

Mlmon SmallProfile() {
  Mlmon profile;
  profile.style = ProfileStyle::kStack;
  profile.magic = 0x1234;
  profile.total = 90;
  profile.total_gc = 10;
  profile.splits = {{0, 0, 0}, {10, 0, 10}, {50, 90, 10}, {10, 10, 0}, {30, 40, 10}};
  profile.masters = profile.splits;
  return profile;
}

FakeProgramTest::FakeProgramTest() : old_directory_(std::filesystem::current_path()) {
  std::filesystem::current_path(NewDirectory());
  Write("prog", FormatSourcesStub(SmallTable()), 0755);
  Write("mlmon.out", FormatMlmon(SmallProfile()));
}

FakeProgramTest::~FakeProgramTest() { std::filesystem::current_path(old_directory_); }

void FakeProgramTest::Write(const std::string& name, const std::string& contents, int mode) {
  std::string error;
  ASSERT_TRUE(WriteFileAtomically(name, contents, mode, &error)) << error;
}

void FakeProgramTest::WriteScript(const std::string& name, const std::string& body) {
  Write(name, "#!/bin/sh\n" + body, 0755);
}

}  // namespace allomon::testing
