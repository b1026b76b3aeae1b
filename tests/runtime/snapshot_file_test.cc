// Snapshots of a heap that cannot be written.
#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>

#include <fstream>
#include <sstream>

#include "gtest/gtest.h"
#include "tests/runtime/snapshot_case.h"

namespace allomon::gc {
namespace {

std::string Contents(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

size_t FilesIn(const std::string& folder) {
  size_t files = 0;
  DIR* const entries = opendir(folder.c_str());
  while (readdir(entries) != nullptr) ++files;
  closedir(entries);
  return files;
}

class SnapshotFile : public SnapshotTest {};
INSTANTIATE_TEST_SUITE_P(Modes, SnapshotFile, ::testing::Values("growth=100"));

TEST_P(SnapshotFile, AFullDiskIsOneLine) {
  const Root<Cell> cell = make<Cell>(1, nullptr);
  const absl::Status status = heap_->WriteSnapshot("/dev/full");
  EXPECT_EQ(std::string(status.message()),
            "cannot write /dev/full: No space left on device; make room or choose another output");
}

TEST_P(SnapshotFile, AMissingFolderIsOneLine) {
  const absl::Status status = heap_->WriteSnapshot(Path("none/x.heapsnapshot"));
  EXPECT_EQ(std::string(status.message()), "cannot write " + Path("none/x.heapsnapshot") +
                                               ": No such file or directory; create the directory "
                                               "or choose another output");
}

// The old file stays, and no temporary file remains.
TEST_P(SnapshotFile, AWriteThatFailsInTheMiddleLeavesTheOldFile) {
  Root<Cell> list;
  for (long i = 0; i < 100000; ++i) list = make<Cell>(i, list);
  const std::string folder = Path("limited");
  ASSERT_EQ(system(("rm -rf '" + folder + "'; mkdir '" + folder + "'").c_str()), 0);
  std::ofstream(folder + "/x.heapsnapshot") << "old";
  rlimit before = {};
  getrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, SIG_IGN);
  const rlimit small = {1 << 20, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const absl::Status status = heap_->WriteSnapshot(folder + "/x.heapsnapshot");
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_FALSE(status.ok());
  EXPECT_NE(std::string(status.message()).find("File too large; make room"), std::string::npos);
  EXPECT_EQ(Contents(folder + "/x.heapsnapshot"), "old");
  EXPECT_EQ(FilesIn(folder), 3u);  // with . and ..
  EXPECT_TRUE(heap_->WriteSnapshot(folder + "/x.heapsnapshot").ok()) << "the heap goes on";
  EXPECT_EQ(Graph(folder + "/x.heapsnapshot").NodesOf("Cell").size(), 100000u);
}

TEST_P(SnapshotFile, NotWhereObjectsMayNotMove) {
  EXPECT_DEATH(
      {
        const NoAllocation scope;
        static_cast<void>(heap_->WriteSnapshot(Path("x")));
      },
      "rule.no_allocation");
  EXPECT_DEATH(
      {
        const NativeRegion native;
        heap_->LiveByType();
      },
      "rule.native");
}

}  // namespace
}  // namespace allomon::gc
