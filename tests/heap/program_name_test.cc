// Programs have the names that people know.
#include "tools/heap/program_name.h"

#include <gtest/gtest.h>

namespace allomon::heap {
namespace {

TEST(ProgramNameTest, OfAnInterpreterItIsTheScript) {
  const char* const python = "/usr/bin/python3.11";
  EXPECT_EQ(ProgramName(python, "python3 /srv/app.py --port=1 x.py"), "app.py");
  EXPECT_EQ(ProgramName(python, "python3 -W ignore -u app.py"), "app.py");
  EXPECT_EQ(ProgramName(python, "python3 -m gunicorn app:app"), "gunicorn");
  EXPECT_EQ(ProgramName(python, "/usr/bin/python3 -c print(1)"), "python3");
  EXPECT_EQ(ProgramName(python, "python3"), "python3");
  EXPECT_EQ(ProgramName("/usr/bin/perl", "/usr/bin/perl -w ./report.pl a"), "report.pl");
  EXPECT_EQ(ProgramName("/usr/bin/dash", "sh /etc/cron.daily/x"), "x");
}

TEST(ProgramNameTest, OfOthersItIsWhatWasTyped) {
  EXPECT_EQ(ProgramName("/usr/bin/redis-check-rdb", "/usr/bin/redis-server *:6379"),
            "redis-server");
  EXPECT_EQ(ProgramName("/usr/sbin/nginx", "nginx: worker process"), "nginx");
  EXPECT_EQ(ProgramName("/usr/bin/gawk", "awk x.awk"), "awk");
  EXPECT_EQ(ProgramName("/usr/bin/bash", "-bash"), "bash");
}

TEST(ProgramNameTest, WithoutACommandItIsTheExecutable) {
  EXPECT_EQ(ProgramName("/usr/bin/git", ""), "git");
  EXPECT_EQ(ProgramName("/usr/bin/git", "  "), "git");
  EXPECT_EQ(ProgramName("/usr/bin/git", "/ x"), "git");
  EXPECT_EQ(ProgramName("/usr/bin/git", ": x"), "git");
  EXPECT_EQ(ProgramName("", ""), "");
}

}  // namespace
}  // namespace allomon::heap
