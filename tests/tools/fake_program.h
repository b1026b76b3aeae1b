#ifndef ALLOMON_TESTS_TOOLS_FAKE_PROGRAM_H_
#define ALLOMON_TESTS_TOOLS_FAKE_PROGRAM_H_

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/profile/golden_files.h"
#include "tracker/formats/mlmon.h"
#include "tracker/formats/source_table.h"
#include "tracker/formats/write_file.h"

namespace allomon::testing {

// main calls f and g.  g calls f and itself.  Each has one source.
inline SourceTable SmallTable() {
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

// A profile of bytes with stack data: 90, and 10 by the collector.  f has 10, g 30, main 50.
inline Mlmon SmallProfile() {
  Mlmon profile;
  profile.style = ProfileStyle::kStack;
  profile.magic = 0x1234;
  profile.total = 90;
  profile.total_gc = 10;
  profile.splits = {{0, 0, 0}, {10, 0, 10}, {50, 90, 10}, {10, 10, 0}, {30, 40, 10}};
  profile.masters = profile.splits;
  return profile;
}

// Runs in a new directory, which holds the executable `prog` (see SmallTable) and its `mlmon.out`
// (see SmallProfile).
class FakeProgramTest : public ::testing::Test {
 protected:
  FakeProgramTest();
  ~FakeProgramTest() override;

  static void Write(const std::string& name, const std::string& contents, int mode = 0644);
  static void WriteScript(const std::string& name, const std::string& body);

 private:
  const std::string old_directory_;
};

inline FakeProgramTest::FakeProgramTest() : old_directory_(std::filesystem::current_path()) {
  std::filesystem::current_path(NewDirectory());
  Write("prog", FormatSourcesStub(SmallTable()), 0755);
  Write("mlmon.out", FormatMlmon(SmallProfile()));
}

inline FakeProgramTest::~FakeProgramTest() { std::filesystem::current_path(old_directory_); }

inline void FakeProgramTest::Write(const std::string& name, const std::string& contents, int mode) {
  std::string error;
  ASSERT_TRUE(WriteFileAtomically(name, contents, mode, &error)) << error;
}

inline void FakeProgramTest::WriteScript(const std::string& name, const std::string& body) {
  Write(name, "#!/bin/sh\n" + body, 0755);
}

}  // namespace allomon::testing

#endif  // ALLOMON_TESTS_TOOLS_FAKE_PROGRAM_H_
