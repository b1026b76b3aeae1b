#include "tools/run/output_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

namespace allomon::run {
namespace {

using ::testing::HasSubstr;

std::string Read(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string ErrorOf(const std::string& path) { return std::string(CheckOutput(path).message()); }

TEST(OutputFileTest, NamesOfProgramsMakeNamesOfFiles) {
  EXPECT_EQ(DefaultOutput("python3", 12), "allomon.python3.12.pb.gz");
  EXPECT_EQ(DefaultOutput("a b\n../c", 12), "allomon.a_b_.._c.12.pb.gz");
  EXPECT_EQ(DefaultOutput("", 12), "allomon.program.12.pb.gz");
  EXPECT_LT(DefaultOutput(std::string(5000, 'x'), 12).size(), 100u);
}

TEST(OutputFileTest, OtherProgramsStandBesideTheMainOne) {
  EXPECT_EQ(OutputBeside("d.gz/out.pb.gz", "cc1"), "d.gz/out.cc1.pb.gz");
  EXPECT_EQ(OutputBeside("out.gz", "cc1"), "out.cc1.gz");
  EXPECT_EQ(OutputBeside("d.gz/out", "cc1"), "d.gz/out.cc1.pb.gz");
  EXPECT_EQ(OutputBeside(".pb.gz", "cc1"), ".pb.cc1.gz");
}

TEST(OutputFileTest, PlacesWithoutHopeAreKnownBefore) {
  EXPECT_TRUE(CheckOutput(testing::TempDir() + "/new.pb.gz").ok());
  EXPECT_TRUE(CheckOutput("new.pb.gz").ok());
  EXPECT_TRUE(CheckOutput("/dev/null").ok());
  EXPECT_THAT(ErrorOf(testing::TempDir()), HasSubstr("name a file in it"));
  EXPECT_THAT(ErrorOf("/nowhere/x.pb.gz"), HasSubstr("make the folder"));
  EXPECT_THAT(ErrorOf("/dev/null/x.pb.gz"), HasSubstr("choose another file with -o"));
  EXPECT_FALSE(HasRoomBeside("/dev/null"));
}

TEST(OutputFileTest, WhatCannotBeWrittenIsSavedElsewhere) {
  setenv("TMPDIR", testing::TempDir().c_str(), 1);
  std::string path = "/nowhere/saved.pb.gz";
  std::string error;
  EXPECT_TRUE(SaveFile("contents", &path, &error));
  EXPECT_EQ(path, testing::TempDir() + "/saved.pb.gz");
  EXPECT_THAT(error, HasSubstr("cannot write /nowhere/saved.pb.gz"));
  EXPECT_EQ(Read(path), "contents");
  error = "old";
  EXPECT_TRUE(SaveFile("others", &path, &error));
  EXPECT_EQ(error, "");
  EXPECT_EQ(Read(path), "others");
}

TEST(OutputFileTest, FileIsItsOwnersOnly) {
  std::string path = testing::TempDir() + "/private.pb.gz";
  std::string error;
  ASSERT_TRUE(SaveFile("x", &path, &error));
  struct stat status;
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

}  // namespace
}  // namespace allomon::run
