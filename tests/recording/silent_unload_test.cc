// The C library unloads modules by itself, without notice.  The module loaded next at the same
// address is another one, with its own names and unwind rules.
#include <dlfcn.h>
#include <iconv.h>
#include <link.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/recording/recorded.h"
#include "tracker/callstack/capture.h"
#include "tracker/core/stack_table.h"
#include "tracker/profile/profile.h"

namespace allomon {
namespace {

using testing::EveryBlock;
using testing::Recorded;

constexpr char kPlugin[] = "tests/recording/libwide_frames.so";
constexpr char kOther[] = "tests/recording/libnarrow_frames.so";

struct Place {
  uintptr_t begin = 0;
  uintptr_t end = 0;

  bool Overlaps(const Place& other) const { return begin < other.end && other.begin < end; }
};

// Returns the addresses of the loaded module whose path has this ending; {0, 0} without one.
Place PlaceOf(const std::string& ending) {
  struct Search {
    std::string ending;
    Place found;
  } search = {ending, {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* of) {
        Search& asked = *static_cast<Search*>(of);
        const std::string path = info->dlpi_name;
        if (path.size() < asked.ending.size() ||
            path.substr(path.size() - asked.ending.size()) != asked.ending) {
          return 0;
        }
        asked.found.begin = UINTPTR_MAX;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const ElfW(Phdr)& segment = info->dlpi_phdr[i];
          if (segment.p_type != PT_LOAD) continue;
          const uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
          asked.found.begin = std::min(asked.found.begin, begin & ~uintptr_t{4095});
          asked.found.end = std::max(asked.found.end, begin + segment.p_memsz);
        }
        return 1;
      },
      &search);
  return search.found;
}

std::string FileNameOf(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

// Returns the file of the innermost frame; "" is the program.
std::string ModuleOf(const recording::Process& process, const recording::Process::Row& row) {
  if (row.node == 0) return "no stack";
  const uint64_t address = process.nodes[row.node - 1].address - 1;
  for (const recording::Module& module : process.modules) {
    if (address - module.moved_by >= module.begin && address - module.moved_by < module.end) {
      return FileNameOf(process.TextOf(module.path));
    }
  }
  return "unknown";
}

std::map<std::string, double> LiveBytesByModule(const recording::Process& process) {
  std::map<std::string, double> bytes;
  for (const recording::Process::Row& row : process.rows) {
    if (row.size_class != 0) bytes[ModuleOf(process, row)] += row.live.bytes;
  }
  return bytes;
}

// Returns the stack from the innermost frame outwards.
std::vector<uint64_t> StackOf(const recording::Process& process, uint64_t size_bytes) {
  std::vector<uint64_t> stack;
  uint32_t node = testing::RowOfSize(process, size_bytes).node;
  for (; node != 0; node = process.nodes[node - 1].parent) {
    stack.push_back(process.nodes[node - 1].address);
  }
  return stack;
}

// Maps all free addresses above `place`.  Then a mapping that replaces an unmapped one of the same
// size gets the same place.
void FillAbove(uintptr_t place) {
  for (size_t bytes = size_t{1} << 32; bytes >= 4096; bytes /= 2) {
    for (;;) {
      void* const filling =
          mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (filling == MAP_FAILED) break;
      if (reinterpret_cast<uintptr_t>(filling) > place) continue;
      munmap(filling, bytes);
      break;
    }
  }
}

// A converter that allocates, and that the C library keeps loaded until some others have been
// closed.
constexpr char kConverter[] = "UTF-16.so";

void ConvertAndForget(const char* charset) {
  const iconv_t conversion = iconv_open(charset, "UTF-8");
  ASSERT_NE(conversion, reinterpret_cast<iconv_t>(-1)) << charset;
  char text[] = "text";
  char converted[64];
  char* from = text;
  char* to = converted;
  size_t from_bytes = 4;
  size_t to_bytes = sizeof(converted);
  EXPECT_EQ(iconv(conversion, &from, &from_bytes, &to, &to_bytes), 0u);
  EXPECT_EQ(iconv_close(conversion), 0);
}

Place LoadAndUnloadConverter() {
  ConvertAndForget("UTF-16");
  const Place place = PlaceOf(kConverter);
  EXPECT_NE(place.begin, 0u);
  FillAbove(place.begin);
  for (int i = 0; i < 10 && PlaceOf(kConverter).begin != 0; ++i) ConvertAndForget("UTF-32");
  EXPECT_EQ(PlaceOf(kConverter).begin, 0u) << "the C library has not unloaded it";
  return place;
}

using Allocate = void*(size_t);
using Call = void(void (*)());

TEST(SilentUnloadTest, LeakOfAPluginIsNotAConverters) {
  if (access("/usr/lib/x86_64-linux-gnu/gconv/UTF-16.so", R_OK) != 0) {
    GTEST_SKIP() << "this C library has no converters of its own";
  }
  const Recorded recorded(EveryBlock("converter"));
  const Place place = LoadAndUnloadConverter();
  const double converters = LiveBytesByModule(recorded.ReadProcess())[kConverter];
  void* const plugin = dlopen(kPlugin, RTLD_NOW);
  ASSERT_NE(plugin, nullptr) << dlerror();
  ASSERT_TRUE(PlaceOf(kPlugin).Overlaps(place)) << "or nothing was tested";
  const auto allocate = reinterpret_cast<Allocate*>(dlsym(plugin, "AllocateInFrame"));
  for (int i = 0; i < 5; ++i) ASSERT_NE(allocate(7000), nullptr);
  const recording::Process process = recorded.ReadProcess();
  std::map<std::string, double> live = LiveBytesByModule(process);
  EXPECT_EQ(live[kConverter], converters);
  EXPECT_EQ(live[FileNameOf(kPlugin)], 5 * 7000);
  double converted = 0;
  for (const recording::Process::Row& row : process.rows) {
    if (row.size_class != 0 && ModuleOf(process, row) == kConverter) {
      converted += row.allocated.blocks;
    }
  }
  EXPECT_GT(converted, 0) << "or nothing was tested";
  EXPECT_EQ(dlclose(plugin), 0);
}

// Unloads as the C library does: by the dlclose that follows ours in the look-up order.
void UnloadSilently(void* library) {
  const auto unload = reinterpret_cast<int (*)(void*)>(dlsym(RTLD_NEXT, "dlclose"));
  ASSERT_NE(unload, nullptr);
  ASSERT_NE(unload, &dlclose);
  ASSERT_EQ(unload(library), 0);
}

// Loads another library at the place of one that is unloaded silently.  nullptr if something else
// was mapped there first, such as the profiler's own memory.
void* ReplaceSilently(void* library, const char* path) {
  link_map* map = nullptr;
  EXPECT_EQ(dlinfo(library, RTLD_DI_LINKMAP, &map), 0);
  const uintptr_t place = map->l_addr;
  FillAbove(place);
  UnloadSilently(library);
  void* const other = dlopen(path, RTLD_NOW);
  EXPECT_NE(other, nullptr) << dlerror();
  EXPECT_EQ(dlinfo(other, RTLD_DI_LINKMAP, &map), 0);
  if (map->l_addr == place) return other;
  UnloadSilently(other);
  ForgetUnloadedCode();
  return nullptr;
}

constexpr int kTrials = 20;

// `before`: the number of captures in the first library.  With enough of them, threads have a
// record of the last one. Returns false if nothing was tested.
bool ReplaceAndAllocate(const char* first_path, const char* second_path, int before) {
  const Recorded recorded(EveryBlock("frames"));
  void* const first = dlopen(first_path, RTLD_NOW);
  EXPECT_NE(first, nullptr) << dlerror();
  auto* allocate = reinterpret_cast<Allocate*>(dlsym(first, "AllocateInFrame"));
  for (int i = 0; i < before; ++i) free(allocate(5000));
  void* const second = ReplaceSilently(first, second_path);
  if (second == nullptr) return false;
  EXPECT_EQ(reinterpret_cast<Allocate*>(dlsym(second, "AllocateInFrame")), allocate);
  void* blocks[2];
  for (int i = 0; i < 2; ++i) {
    if (i == 1) ForgetUnloadedCode();
    blocks[i] = allocate(i == 0 ? 9000 : 17000);
  }
  const recording::Process process = recorded.ReadProcess();
  EXPECT_EQ(ModuleOf(process, testing::RowOfSize(process, 9000)), FileNameOf(second_path));
  EXPECT_EQ(ModuleOf(process, testing::RowOfSize(process, 5000)), FileNameOf(first_path));
  EXPECT_EQ(StackOf(process, 9000), StackOf(process, 17000));
  EXPECT_GT(StackOf(process, 17000).size(), 5u);
  for (void* block : blocks) free(block);
  UnloadSilently(second);
  ForgetUnloadedCode();
  return true;
}

bool IsTried(const char* first_path, const char* second_path, int before) {
  for (int i = 0; i < kTrials; ++i) {
    if (ReplaceAndAllocate(first_path, second_path, before)) return true;
  }
  return false;
}

TEST(SilentUnloadTest, NewCodeIsNotWalkedByRulesOfOldCode) {
  for (const int before : {3, 100}) {
    EXPECT_TRUE(IsTried(kPlugin, kOther, before)) << "nothing was tested";
    EXPECT_TRUE(IsTried(kOther, kPlugin, before)) << "nothing was tested";
  }
}

std::vector<uintptr_t> g_captured;

template <size_t (*Capture)(const FrameState&, uintptr_t*, size_t, bool*)>
void CaptureHere() {
  uintptr_t frames[64];
  bool cut = false;
  const size_t depth = Capture(ALLOMON_CALLER_FRAME(), frames, 64, &cut);
  g_captured.assign(frames, frames + depth);
}

size_t CaptureAnyhow(const FrameState& start, uintptr_t* frames, size_t max_frames, bool* cut) {
  return CaptureCallstack(start, frames, max_frames, cut);
}

// The plugin's frame is the innermost.
__attribute__((noinline)) std::vector<uintptr_t> CapturedIn(Call* call, void (*capture)()) {
  call(capture);
  return g_captured;
}

// Tests a library that was silently unloaded after its rules were used, and another one at its
// place.
class ReplacedTest : public ::testing::Test {
 protected:
  void Replace(void (*use)()) {
    for (int i = 0; i < kTrials && second_ == nullptr; ++i) {
      void* const first = dlopen(kPlugin, RTLD_NOW);
      ASSERT_NE(first, nullptr) << dlerror();
      call_ = reinterpret_cast<Call*>(dlsym(first, "CallInFrame"));
      call_(use);
      second_ = ReplaceSilently(first, kOther);
    }
    ASSERT_NE(second_, nullptr) << "nothing was tested";
    ASSERT_EQ(reinterpret_cast<Call*>(dlsym(second_, "CallInFrame")), call_);
  }
  ~ReplacedTest() override {
    UnloadSilently(second_);
    ForgetUnloadedCode();
  }

  void* second_ = nullptr;
  Call* call_ = nullptr;
};

TEST_F(ReplacedTest, ItsRulesAreForgottenOnce) {
  Replace(CaptureHere<CaptureAnyhow>);
  std::vector<uintptr_t> captured[4];
  for (int i = 0; i < 4; ++i) {
    if (i == 3) ForgetUnloadedCode();
    captured[i] = CapturedIn(call_, CaptureHere<CaptureAnyhow>);
    if (i == 3) continue;
    EXPECT_EQ(ForgetReplacedCode(captured[i].data(), captured[i].size()), i == 0) << i;
  }
  EXPECT_NE(captured[0], captured[3]) << "or nothing was tested";
  EXPECT_EQ(captured[1], captured[3]);
  EXPECT_EQ(captured[2], captured[3]);
}

TEST_F(ReplacedTest, CaptureThatMayBeNewIsOfTheNewCode) {
  Replace(CaptureHere<CaptureAnyhow>);
  std::vector<uintptr_t> captured[2];
  for (int i = 0; i < 2; ++i) {
    if (i == 1) ForgetUnloadedCode();
    captured[i] = CapturedIn(call_, CaptureHere<CaptureCallstackOfLoadedCode>);
  }
  EXPECT_EQ(captured[0], captured[1]);
}

double ThreadSeconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

// Uses time in which every kernel ticks ten times.
void Work() {
  const double end = ThreadSeconds() + 0.1;
  while (ThreadSeconds() < end) {
  }
}

TEST_F(ReplacedTest, TicksOfATimeProfileAreInTheNewCode) {
  ProfileOptions options;
  options.kind = ProfileKind::kTime;
  options.hz = 1000;
  ASSERT_TRUE(Profile::Start(options).ok());
  Replace(Work);
  const uint32_t known = internal::Stacks().size();
  call_(Work);
  ASSERT_TRUE(Profile::Stop().ok());
  ForgetUnloadedCode();
  const std::vector<uintptr_t> plugin = CapturedIn(call_, CaptureHere<CaptureAnyhow>);
  int ticks = 0;
  for (uint32_t id = known + 1; id <= internal::Stacks().size(); ++id) {
    const internal::StackView stack = internal::Stacks().View(id);
    const uintptr_t* const end = stack.frames + stack.depth;
    const uintptr_t* const in_plugin = std::find(stack.frames, end, plugin[0]);
    if (in_plugin == end) continue;
    ++ticks;
    // The next frame belongs to the test, at another line.
    EXPECT_TRUE(std::equal(in_plugin + 2, end, plugin.begin() + 3, plugin.end()));
  }
  EXPECT_GE(ticks, 1) << "or nothing was tested";
}

}  // namespace
}  // namespace allomon
