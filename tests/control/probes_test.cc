// The USDT probes, as a tracer sees them: the test reads the notes of its own file, puts a
// breakpoint into each nop, and takes the arguments from the registers that the notes name.
#include "tracker/probes/probes.h"

#include <elf.h>
#include <link.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "allocator/allocator.h"
#include "gtest/gtest.h"
#include "runtime/heap.h"
#include "tests/recording/recorded.h"
#include "tests/support/statistics.h"
#include "tracker/control/probe_sampler.h"
#include "tracker/core/control.h"
#include "tracker/tracker.h"

namespace allomon {
namespace {

struct Probe {
  uintptr_t pc = 0;
  uint16_t* semaphore = nullptr;
  std::string arguments;
};

uintptr_t LoadBias() {
  uintptr_t bias = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* to) {
        *static_cast<uintptr_t*>(to) = info->dlpi_addr;
        return 1;  // the program itself comes first
      },
      &bias);
  return bias;
}

std::string OwnFile() {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

template <typename Value>
Value Read(const std::string& bytes, size_t at) {
  Value value;
  memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

// Returns the bytes of a section; empty if there is none.
std::string SectionOf(const std::string& file, const std::string& name) {
  const auto header = Read<Elf64_Ehdr>(file, 0);
  const auto section = [&](size_t i) {
    return Read<Elf64_Shdr>(file, header.e_shoff + i * sizeof(Elf64_Shdr));
  };
  const Elf64_Shdr names = section(header.e_shstrndx);
  for (size_t i = 0; i < header.e_shnum; ++i) {
    if (name != file.data() + names.sh_offset + section(i).sh_name) continue;
    return file.substr(section(i).sh_offset, section(i).sh_size);
  }
  return "";
}

size_t RoundedUp(size_t bytes) { return (bytes + 3) / 4 * 4; }

// The probes of this file by "provider:name".
std::map<std::string, Probe> ReadNotes() {
  const std::string notes = SectionOf(OwnFile(), ".note.stapsdt");
  std::map<std::string, Probe> probes;
  for (size_t at = 0; at < notes.size();) {
    const auto header = Read<Elf64_Nhdr>(notes, at);
    const size_t contents = at + sizeof(header) + RoundedUp(header.n_namesz);
    const char* const provider = notes.data() + contents + 3 * sizeof(uint64_t);
    const char* const name = provider + strlen(provider) + 1;
    EXPECT_EQ(header.n_type, 3u);
    const auto semaphore = Read<uint64_t>(notes, contents + 2 * sizeof(uint64_t));
    probes[std::string(provider) + ":" + name] = {
        Read<uint64_t>(notes, contents) + LoadBias(),
        reinterpret_cast<uint16_t*>(semaphore + LoadBias()), name + strlen(name) + 1};
    at = contents + RoundedUp(header.n_descsz);
  }
  return probes;
}

struct Event {
  uintptr_t pc;
  std::array<uint64_t, 3> arguments;
};

// The handler of breakpoints writes these.  Operands are register numbers of <ucontext.h>.
struct Trap {
  uintptr_t pc = 0;
  std::vector<int> operands;
};
std::vector<Trap> g_traps;
constexpr size_t kMostEvents = 1 << 20;
Event g_events[kMostEvents];
size_t g_events_seen = 0;

void OnTrap(int, siginfo_t*, void* context) {
  const auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const auto pc = static_cast<uintptr_t>(registers[REG_RIP]) - 1;
  for (const Trap& trap : g_traps) {
    if (trap.pc != pc) continue;
    Event event = {pc, {}};
    for (size_t i = 0; i < trap.operands.size(); ++i) {
      event.arguments[i] = static_cast<uint64_t>(registers[trap.operands[i]]);
    }
    if (g_events_seen < kMostEvents) g_events[g_events_seen++] = event;
    return;
  }
  abort();
}

// Reads operands such as "8@%rdi 8@%rsi".
std::vector<int> OperandsOf(const std::string& arguments) {
  const std::map<std::string, int> registers = {
      {"%rax", REG_RAX}, {"%rbx", REG_RBX}, {"%rcx", REG_RCX}, {"%rdx", REG_RDX},
      {"%rsi", REG_RSI}, {"%rdi", REG_RDI}, {"%rbp", REG_RBP}, {"%r8", REG_R8},
      {"%r9", REG_R9},   {"%r10", REG_R10}, {"%r11", REG_R11}, {"%r12", REG_R12},
      {"%r13", REG_R13}, {"%r14", REG_R14}, {"%r15", REG_R15}};
  std::vector<int> operands;
  for (size_t at = 0; at < arguments.size();) {
    const size_t end = std::min(arguments.find(' ', at), arguments.size());
    const std::string operand = arguments.substr(at, end - at);
    EXPECT_EQ(operand.substr(0, 2), "8@");
    EXPECT_TRUE(registers.count(operand.substr(2)) != 0) << operand;
    if (registers.count(operand.substr(2)) != 0)
      operands.push_back(registers.at(operand.substr(2)));
    at = end + 1;
  }
  return operands;
}

void WriteCode(uintptr_t pc, uint8_t byte) {
  const uintptr_t page = pc & ~static_cast<uintptr_t>(4095);
  ASSERT_EQ(mprotect(reinterpret_cast<void*>(page), 4096, PROT_READ | PROT_WRITE | PROT_EXEC), 0);
  // By the assembler: the thread sanitizer has no shadow of code.
  asm volatile("movb %1, (%0)" : : "r"(pc), "q"(byte) : "memory");
  ASSERT_EQ(mprotect(reinterpret_cast<void*>(page), 4096, PROT_READ | PROT_EXEC), 0);
}

// A tracer that is attached to some of the probes.
class Attached {
 public:
  explicit Attached(const std::vector<std::string>& names) {
    constexpr uint8_t kBreakpoint = 0xcc;
    struct sigaction action = {};
    action.sa_sigaction = OnTrap;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGTRAP, &action, nullptr);
    g_events_seen = 0;
    g_traps.clear();
    static const std::map<std::string, Probe> probes = ReadNotes();
    for (const std::string& name : names) {
      const Probe& probe = probes.at(name);
      g_traps.push_back({probe.pc, OperandsOf(probe.arguments)});
      WriteCode(probe.pc, kBreakpoint);
      ++*probe.semaphore;
      probes_[name] = probe;
    }
  }
  ~Attached() { Detach(); }
  Attached(const Attached&) = delete;
  Attached& operator=(const Attached&) = delete;

  void Detach() {
    constexpr uint8_t kNop = 0x90;
    for (const auto& [name, probe] : probes_) {
      --*probe.semaphore;
      WriteCode(probe.pc, kNop);
    }
    probes_.clear();
  }
  std::vector<Event> EventsOf(const std::string& name) const {
    std::vector<Event> events;
    for (size_t i = 0; i < g_events_seen; ++i) {
      if (g_events[i].pc == probes_.at(name).pc) events.push_back(g_events[i]);
    }
    return events;
  }

 private:
  std::map<std::string, Probe> probes_;
};

const std::vector<std::string> kContract = {"otel_memory:alloc", "otel_memory:free"};

control::ProbeOptions EveryGap(uint64_t gap_bytes) {
  control::ProbeOptions options;
  options.gap_bytes = gap_bytes;
  options.seed = 1;
  return options;
}
constexpr uint64_t kEveryBlock = 8;

// Serves a tracer that is attached to `names`, until the end of the scope.
class Served {
 public:
  Served(uint64_t gap_bytes, const std::vector<std::string>& names) : attached_(names) {
    control::SetProbes(EveryGap(gap_bytes));
    control::LookAtProbes();
  }
  ~Served() {
    attached_.Detach();
    control::LookAtProbes();
  }
  std::vector<Event> EventsOf(const std::string& name) const { return attached_.EventsOf(name); }

 private:
  Attached attached_;
};

uint64_t AddressOf(const void* block) { return reinterpret_cast<uintptr_t>(block); }

TEST(ProbesTest, TheFileHasANoteForEachProbe) {
  const std::map<std::string, Probe> probes = ReadNotes();
  EXPECT_EQ(probes.at("otel_memory:alloc").semaphore, &probes::otel_memory_alloc_semaphore);
  EXPECT_EQ(probes.at("otel_memory:free").semaphore, &probes::otel_memory_free_semaphore);
  EXPECT_EQ(probes.at("allomon:promote").semaphore, &probes::allomon_promote_semaphore);
  EXPECT_EQ(probes.at("allomon:peak").semaphore, &probes::allomon_peak_semaphore);
  EXPECT_EQ(OperandsOf(probes.at("otel_memory:alloc").arguments).size(), 3u);
  EXPECT_EQ(OperandsOf(probes.at("otel_memory:free").arguments).size(), 1u);
  EXPECT_EQ(OperandsOf(probes.at("allomon:promote").arguments).size(), 2u);
  EXPECT_EQ(OperandsOf(probes.at("allomon:peak").arguments).size(), 1u);
}

TEST(ProbesTest, ABlockIsNamedOnceAtItsBirthAndOnceAtItsDeath) {
  const Served served(kEveryBlock, kContract);
  std::vector<void*> blocks;
  for (size_t size = 1; size <= 1000; ++size) blocks.push_back(SamplingMalloc(size));
  const std::vector<Event> births = served.EventsOf("otel_memory:alloc");
  ASSERT_EQ(births.size(), blocks.size());
  for (size_t i = 0; i < blocks.size(); ++i) {
    EXPECT_EQ(births[i].arguments[0], AddressOf(blocks[i]));
    EXPECT_EQ(births[i].arguments[1], i + 1);
    EXPECT_EQ(births[i].arguments[2], i + 1);  // sampled for sure, so it stands for itself
  }
  EXPECT_TRUE(served.EventsOf("otel_memory:free").empty());
  for (void* block : blocks) SamplingFree(block);
  const std::vector<Event> deaths = served.EventsOf("otel_memory:free");
  ASSERT_EQ(deaths.size(), blocks.size());
  for (size_t i = 0; i < blocks.size(); ++i) {
    EXPECT_EQ(deaths[i].arguments[0], AddressOf(blocks[i]));
  }
}

TEST(ProbesTest, AllKindsOfAllocationAreNamedByTheAddressThatTheProgramGets) {
  const Served served(kEveryBlock, kContract);
  void* block = SamplingCalloc(3, 100);
  void* const aligned = SamplingAlignedAlloc(4096, 100);
  block = SamplingRealloc(block, 100'000);
  const std::vector<Event> births = served.EventsOf("otel_memory:alloc");
  const std::vector<Event> deaths = served.EventsOf("otel_memory:free");
  ASSERT_EQ(births.size(), 3u);
  EXPECT_EQ(births[0].arguments[1], 300u);
  EXPECT_EQ(births[1].arguments[0], AddressOf(aligned));
  EXPECT_EQ(births[2].arguments[0], AddressOf(block));
  EXPECT_EQ(births[2].arguments[1], 100'000u);
  ASSERT_EQ(deaths.size(), 1u);
  EXPECT_EQ(deaths[0].arguments[0], births[0].arguments[0]);
  SamplingFree(block);
  SamplingFree(aligned);
}

// The sum of weights is a sum of independent terms; its variance is estimated by estimate.h's
// formula from the sampled ones.
TEST(ProbesTest, WeightsAddUpToTheBytes) {
  constexpr uint64_t kGapBytes = 4096;
  const Served served(kGapBytes, kContract);
  double truth = 0;
  for (int i = 0; i < 400'000; ++i) {
    const size_t size = static_cast<size_t>(i) % 97 * 16;
    SamplingFree(SamplingMalloc(size));
    truth += static_cast<double>(size);
  }
  double sum = 0;
  double variance = 0;
  const std::vector<Event> births = served.EventsOf("otel_memory:alloc");
  for (const Event& birth : births) {
    const auto size = static_cast<double>(birth.arguments[1]);
    const auto weighted = static_cast<double>(birth.arguments[2]);
    EXPECT_GE(weighted, size);
    sum += weighted;
    if (size > 0) variance += weighted * weighted * (1 - size / weighted);
  }
  EXPECT_GT(births.size(), 10'000u);
  EXPECT_NEAR(sum, truth, testing::kSigmas * std::sqrt(variance));
  EXPECT_EQ(served.EventsOf("otel_memory:free").size(), births.size());
}

TEST(ProbesTest, NothingIsSampledForATracerThatHasDetached) {
  void* kept = nullptr;
  {
    const Served served(kEveryBlock, kContract);
    kept = SamplingMalloc(10);
  }
  EXPECT_EQ(g_events_seen, 1u);
  SamplingFree(kept);
  SamplingFree(SamplingMalloc(10));
  EXPECT_EQ(g_events_seen, 1u);
  // The next tracer does not hear of blocks that the first one was told of.
  void* older = nullptr;
  {
    const Served served(kEveryBlock, kContract);
    older = SamplingMalloc(10);
  }
  const Served served(kEveryBlock, kContract);
  SamplingFree(older);
  EXPECT_TRUE(served.EventsOf("otel_memory:free").empty());
}

// Detached, and the next look has not come yet.
TEST(ProbesTest, ABlockThatNoTracerHeardOfIsNotNamedAtItsDeath) {
  control::SetProbes(EveryGap(kEveryBlock));
  Attached first(kContract);
  control::LookAtProbes();
  first.Detach();
  void* const unheard = SamplingMalloc(10);
  {
    const Attached second(kContract);
    SamplingFree(unheard);
    EXPECT_TRUE(second.EventsOf("otel_memory:free").empty());
    SamplingFree(SamplingMalloc(10));
    EXPECT_EQ(second.EventsOf("otel_memory:free").size(), 1u);
  }
  control::LookAtProbes();
}

// More often than there are places for sessions.
TEST(ProbesTest, TracersComeAndGoAThousandTimes) {
  for (int i = 0; i < 1000; ++i) {
    const Served served(kEveryBlock, kContract);
    SamplingFree(SamplingMalloc(10));
    ASSERT_EQ(served.EventsOf("otel_memory:alloc").size(), 1u) << i;
    ASSERT_EQ(served.EventsOf("otel_memory:free").size(), 1u) << i;
  }
}

// Somebody hostile may write any number into a semaphore: it means attached, or not.
TEST(ProbesTest, AnyOtherNumberThanZeroMeansAttached) {
  control::SetProbes(EveryGap(kEveryBlock));
  const Attached attached({"otel_memory:free"});
  const uint16_t before = probes::otel_memory_free_semaphore;
  size_t expected = 0;
  for (const uint16_t number : {0xffff, 0x8000, 0, 2, 0xfffe, 0}) {
    probes::otel_memory_free_semaphore = number;
    control::LookAtProbes();
    SamplingFree(SamplingMalloc(10));
    expected += number != 0 ? 1 : 0;
    EXPECT_EQ(attached.EventsOf("otel_memory:free").size(), expected) << number;
  }
  probes::otel_memory_free_semaphore = before;
}

TEST(ProbesTest, AChildOfForkNamesItsOwnBlocksAlone) {
  const Served served(kEveryBlock, kContract);
  void* const of_parent = SamplingMalloc(10);
  const pid_t child = fork();
  if (child == 0) {
    g_events_seen = 0;
    SamplingFree(of_parent);
    if (!served.EventsOf("otel_memory:free").empty()) _exit(1);
    void* const own = SamplingMalloc(20);
    SamplingFree(own);
    const std::vector<Event> deaths = served.EventsOf("otel_memory:free");
    _exit(deaths.size() == 1 && deaths[0].arguments[0] == AddressOf(own) ? 0 : 2);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  SamplingFree(of_parent);
  EXPECT_EQ(served.EventsOf("otel_memory:free").size(), 1u);
}

// Another session follows the same blocks.
TEST(ProbesTest, ARecordingBesideChangesNothing) {
  const testing::Recorded recorded(testing::EveryBlock("beside"));
  const Served served(kEveryBlock, kContract);
  for (int i = 0; i < 100; ++i) SamplingFree(SamplingMalloc(100));
  EXPECT_EQ(served.EventsOf("otel_memory:alloc").size(), 100u);
  EXPECT_EQ(served.EventsOf("otel_memory:free").size(), 100u);
}

TEST(ProbesTest, ANewPeakOfARecordingIsTold) {
  const Served served(kEveryBlock, {"allomon:peak"});
  const testing::Recorded recorded(testing::EveryBlock("peak"));
  std::vector<void*> blocks;
  for (int i = 0; i < 10; ++i) blocks.push_back(SamplingMalloc(1000));
  for (void* block : blocks) SamplingFree(block);
  SamplingFree(SamplingMalloc(1000));  // no new peak
  const std::vector<Event> peaks = served.EventsOf("allomon:peak");
  ASSERT_EQ(peaks.size(), 10u);
  for (size_t i = 0; i < peaks.size(); ++i) EXPECT_EQ(peaks[i].arguments[0], 1000 * (i + 1));
}

struct Cell {
  long value;
  gc::Field<Cell> next;
};

TEST(ProbesTest, AManagedBlockIsNamedWhenItLeavesTheNursery) {
  const Served served(kEveryBlock, {"otel_memory:alloc", "allomon:promote"});
  const auto heap = gc::Heap::Create();
  ASSERT_TRUE(heap.ok());
  const gc::Mutator mutator(**heap);
  const size_t of_malloc = served.EventsOf("otel_memory:alloc").size();
  gc::Root<Cell> list;
  for (int i = 0; i < 10; ++i) {
    gc::make<Cell>(i, nullptr);  // dies young
    list = gc::make<Cell>(i, list);
  }
  EXPECT_TRUE(served.EventsOf("allomon:promote").empty());
  (*heap)->CollectFromTop(gc::CollectionKind::kMinor);
  const std::vector<Event> promoted = served.EventsOf("allomon:promote");
  ASSERT_EQ(promoted.size(), 10u);
  for (const Event& event : promoted) EXPECT_EQ(event.arguments[0], 2 * sizeof(uint64_t));
  // Managed blocks move, so they have no address that a tracer could keep.
  EXPECT_EQ(served.EventsOf("otel_memory:alloc").size(), of_malloc);
}

// The session that looks is a tracker like others; it hits once in some 8 MiB.
TEST(ProbesTest, AProcessLooksAsItAllocates) {
  ASSERT_EQ(control::WatchProbes(EveryGap(kEveryBlock)), nullptr);
  {
    const Attached attached(kContract);
    const auto heard = [&] { return !attached.EventsOf("otel_memory:alloc").empty(); };
    constexpr size_t kBlockBytes = 65'536;
    // None of e^40 processes has not looked by then.
    for (uint64_t bytes = 0; bytes < 40 * control::kLookGapBytes && !heard();
         bytes += kBlockBytes) {
      SamplingFree(SamplingMalloc(kBlockBytes));
    }
    EXPECT_TRUE(heard());
  }
  control::LookAtProbes();
}

}  // namespace
}  // namespace allomon
