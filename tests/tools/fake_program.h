#ifndef ALLOMON_TESTS_TOOLS_FAKE_PROGRAM_H_
#define ALLOMON_TESTS_TOOLS_FAKE_PROGRAM_H_

#include <gtest/gtest.h>

#include <string>

#include "tracker/formats/mlmon.h"
#include "tracker/formats/source_table.h"

namespace allomon::testing {

// main calls f and g.  g calls f and itself.  Each has one source.
SourceTable SmallTable();

// A profile of bytes with stack data: 90, and 10 by the collector.  f has 10, g 30, main 50.
Mlmon SmallProfile();

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

}  // namespace allomon::testing

#endif  // ALLOMON_TESTS_TOOLS_FAKE_PROGRAM_H_
