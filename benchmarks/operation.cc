// Repeats one operation, so that operation_costs.py can count its instructions.
//
//   operation NAME COUNT
//   operation --built-with     prints what compiled it
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "allocator/in_place.h"
#include "allomon/labels.h"
#include "benchmarks/built_with.h"
#include "runtime/heap.h"
#include "tracker/base/own_memory.h"
#include "tracker/control/probe_sampler.h"
#include "tracker/formats/recording_layout.h"
#include "tracker/probes/probes.h"
#include "tracker/profile/profile.h"
#include "tracker/profile/sources/alloc_session.h"
#include "tracker/recording.h"
#include "tracker/tracker.h"

namespace allomon {
namespace {

struct Follow {
  std::optional<int> alloc_major(const Allocation&) { return 1; }
};
struct CountOnly {
  std::optional<int> alloc_major(const Allocation&) { return std::nullopt; }
};

template <typename UserTracker>
TrackerId StartAtRateOne(uint32_t callstack_size) {
  StartOptions options;
  options.callstack_size = callstack_size;
  options.seed = 1;
  const auto id = Tracker::start(1, UserTracker{}, options);
  if (!id.ok()) abort();
  return *id;
}

void* Opaque(void* block) {
  asm volatile("" : "+r"(block) : : "memory");
  return block;
}

// Adds frames of its own, so that there are eight to capture.
__attribute__((noinline)) void PairUnder(int frames) {
  if (frames == 0) {
    free(Opaque(malloc(64)));
  } else {
    PairUnder(frames - 1);
  }
  asm volatile("" : : : "memory");  // no tail call
}

void SampledPairs(long count) {
  StartAtRateOne<Follow>(8);
  for (long i = 0; i < count; ++i) PairUnder(8);
}
void CountedPairs(long count) {
  StartAtRateOne<CountOnly>(8);
  for (long i = 0; i < count; ++i) PairUnder(8);
}

// Profiles as the preloaded library does by default.
void ProfiledPairs(long count) {
  internal::AllocSessionOptions options;
  options.seed = 1;
  options.frames = 8;
  if (internal::StartAllocSession(options).error != internal::ControlError::kNone) abort();
  for (long i = 0; i < count; ++i) PairUnder(8);
}

// Records as `allomon run` does: into a memory file.
void RecordedPairs(long count) {
  constexpr off_t kLimitBytes = 64 << 20;
  const int fd = memfd_create("recording", MFD_ALLOW_SEALING | MFD_CLOEXEC);
  recording::FileHeader header = {};
  memcpy(header.magic, recording::kMagic, sizeof(header.magic));
  header.version = recording::kLayoutVersion;
  header.segment_bytes = recording::kSegmentBytes;
  header.limit_bytes = kLimitBytes;
  header.segments_used = 1;
  if (ftruncate(fd, kLimitBytes) != 0 || pwrite(fd, &header, sizeof(header), 0) <= 0 ||
      fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    abort();
  }
  RecordingOptions options;
  options.path = "/proc/self/fd/" + std::to_string(fd);
  options.rate = 1;
  options.seed = 1;
  options.callstack_size = 8;
  if (!Recording::Start(options).ok()) abort();
  for (long i = 0; i < count; ++i) PairUnder(8);
}

// The probes are told that a tracer is attached.  Its breakpoints are missing: the nops run.
void ToldPairsAt(uint64_t gap_bytes, long count) {
  control::ProbeOptions options;
  options.gap_bytes = gap_bytes;
  options.seed = 1;
  control::SetProbes(options);
  probes::otel_memory_alloc_semaphore = 1;
  probes::otel_memory_free_semaphore = 1;
  control::LookAtProbes();
  for (long i = 0; i < count; ++i) PairUnder(8);
}
void ToldPairs(long count) { ToldPairsAt(sizeof(uint64_t), count); }
// No sample of its kind is expected in 10^9 pairs.
void UnsampledToldPairs(long count) { ToldPairsAt(uint64_t{1} << 50, count); }
void UnsampledPairs(long count) {
  for (long i = 0; i < count; ++i) PairUnder(8);
}

// The number of blocks is fixed.  `count` of them are freed, so the slope is the cost of a free
// alone.
constexpr long kBlocks = 12000;
void* g_blocks[kBlocks];

void FreeOf(long count) {
  if (count > kBlocks) abort();
  for (long i = 0; i < count; ++i) free(g_blocks[i]);
}

void SampledFrees(long count) {
  StartAtRateOne<Follow>(8);
  for (void*& block : g_blocks) block = malloc(64);
  FreeOf(count);
}

void KeepInPlace(uint32_t one_in) {
  if (!KeepSamplesInPlace(one_in, 1)) abort();
}

void InPlacePairs(long count) {
  KeepInPlace(1);
  SampledPairs(count);
}
void InPlaceFrees(long count) {
  KeepInPlace(1);
  SampledFrees(count);
}
// As with ALLOMON_IN_PLACE=1/16.
void RecordedInPlacePairs(long count) {
  KeepInPlace(16);
  RecordedPairs(count);
}

void PlainFrees(long count) {
  for (void*& block : g_blocks) block = malloc(64);
  FreeOf(count);
}
// Frees of blocks that are not sampled, on pages that hold a block in place each.
void FlaggedFrees(long count) {
  KeepInPlace(1);
  constexpr long kFewerThanOfAPage = 250;
  for (long i = 0; i < kBlocks; ++i) {
    if (i % kFewerThanOfAPage == 0) {
      const TrackerId id = StartAtRateOne<Follow>(8);
      Opaque(malloc(64));
      (void)Tracker::stop(id);
    }
    g_blocks[i] = malloc(64);
  }
  FreeOf(count);
}

// 200,000 live blocks of 16 to 527 bytes, each replaced at random: a heap that has many pages, and
// lives long.  A pair is sampled and followed at `rate`, and one in so many stays in place.
void Churn(double rate, uint32_t one_in, long count) {
  static void* live[200'000];
  if (one_in != 0) KeepInPlace(one_in);
  StartOptions options;
  options.seed = 1;
  if (rate != 0 && !Tracker::start(rate, Follow{}, options).ok()) abort();
  uint64_t random = 1;
  constexpr long kWarmUp = 400'000;
  for (long i = 0; i < kWarmUp + count; ++i) {
    random = random * 6364136223846793005 + 1442695040888963407;
    void*& block = live[(random >> 33) % 200'000];
    free(block);
    block = malloc(16 + (random >> 20) % 512);
  }
}
template <int rate_exponent, uint32_t one_in>
void ChurnAt(long count) {
  double rate = 1;
  for (int i = 0; i < rate_exponent; ++i) rate /= 10;
  Churn(rate, one_in, count);
}

__attribute__((noinline)) void NamedFunction() {
  ALLOMON_FUNCTION();
  asm volatile("" : : : "memory");
}
void FunctionEntries(long count) {
  for (long i = 0; i < count; ++i) NamedFunction();
}

void LabelScopes(long count) {
  for (long i = 0; i < count; ++i) {
    const ScopedLabel label("tenant", "acme");
    asm volatile("" : : : "memory");
  }
}

// Each pair has a scope of its own, so the set is looked up each time.
void LabelledPairs(long count) {
  StartAtRateOne<Follow>(8);
  for (long i = 0; i < count; ++i) {
    const ScopedLabel label("tenant", "acme");
    PairUnder(8);
  }
}

struct Cell {
  long value;
  gc::Field<Cell> next;
};

// The clock decides how often a collection looks at the limit of its cgroup.
gc::HeapOptions ByInstructionsAlone() {
  gc::HeapOptions options;
  options.cgroup_percent = 0;
  return options;
}

void ManagedAllocations(long count) {
  const auto heap = gc::Heap::Create(ByInstructionsAlone());
  const gc::Mutator mutator(**heap);
  for (long i = 0; i < count; ++i) Opaque(gc::make<Cell>(i, nullptr).operator->());
}

// Each list of 100 cells survives into the old space.  At the end all of them die.
void PromotedObjects(long count) {
  const auto heap = gc::Heap::Create(ByInstructionsAlone());
  const gc::Mutator mutator(**heap);
  for (long i = 0; i < count; i += 100) {
    gc::Local<Cell> list;
    for (int j = 0; j < 100; ++j) list = gc::make<Cell>(j, list);
    (*heap)->Collect(gc::CollectionKind::kMinor);
  }
}

// The compiler knows nothing of the holder of each store.
template <typename Store>
void Stores(long count, bool holder_is_old, Store store) {
  const auto heap = gc::Heap::Create(ByInstructionsAlone());
  const gc::Mutator mutator(**heap);
  const gc::Local<Cell> holder = gc::make<Cell>(1, nullptr);
  if (holder_is_old) (*heap)->Collect(gc::CollectionKind::kMinor);
  const gc::Local<Cell> young = gc::make<Cell>(2, nullptr);
  for (long i = 0; i < count; ++i) {
    store(static_cast<Cell*>(Opaque(holder.operator->())), young);
  }
}
void StoresOfNull(long count) {
  Stores(count, true, [](Cell* old, gc::Handle<Cell>) { old->next = nullptr; });
}
void StoresOfYoung(long count) {
  Stores(count, true, [](Cell* old, gc::Handle<Cell> young) { old->next = young; });
}
void StoresInYoung(long count) {
  Stores(count, false, [](Cell* holder, gc::Handle<Cell> young) { holder->next = young; });
}

// Prints bytes, not instructions: the tracker's memory for `count` live samples.
void LiveSampleBytes(long count) {
  StartAtRateOne<Follow>(8);
  const size_t before = internal::OwnMemory::mapped_bytes();
  std::vector<void*> blocks(count);
  for (void*& block : blocks) block = malloc(64);
  printf("%zu\n", internal::OwnMemory::mapped_bytes() - before);
}

struct Operation {
  const char* name;
  void (*run)(long count);
};
constexpr Operation kOperations[] = {
    {"sampled_pair", SampledPairs},
    {"counted_pair", CountedPairs},
    {"profiled_pair", ProfiledPairs},
    {"recorded_pair", RecordedPairs},
    {"told_pair", ToldPairs},
    {"unsampled_told_pair", UnsampledToldPairs},
    {"unsampled_pair", UnsampledPairs},
    {"sampled_free", SampledFrees},
    {"plain_free", PlainFrees},
    {"flagged_free", FlaggedFrees},
    {"in_place_free", InPlaceFrees},
    {"in_place_pair", InPlacePairs},
    {"recorded_in_place_pair", RecordedInPlacePairs},
    {"churn_1e-5", ChurnAt<5, 0>},
    {"churn_1e-5_in_place_16", ChurnAt<5, 16>},
    {"churn_1e-5_in_place_1", ChurnAt<5, 1>},
    {"churn_1e-4", ChurnAt<4, 0>},
    {"churn_1e-4_in_place_16", ChurnAt<4, 16>},
    {"churn_1e-4_in_place_1", ChurnAt<4, 1>},
    {"churn_1e-3", ChurnAt<3, 0>},
    {"churn_1e-3_in_place_16", ChurnAt<3, 16>},
    {"churn_1e-3_in_place_1", ChurnAt<3, 1>},
    {"function_entry", FunctionEntries},
    {"label_scope", LabelScopes},
    {"labelled_pair", LabelledPairs},
    {"managed_allocation", ManagedAllocations},
    {"promoted_object", PromotedObjects},
    {"store_of_null", StoresOfNull},
    {"store_of_young", StoresOfYoung},
    {"store_in_young", StoresInYoung},
    {"live_sample_bytes", LiveSampleBytes},
};

int Run(const char* name, long count) {
  for (const Operation& operation : kOperations) {
    if (strcmp(operation.name, name) != 0) continue;
    operation.run(count);
    return 0;
  }
  fprintf(stderr, "operation: no operation %s\n", name);
  return 1;
}

}  // namespace
}  // namespace allomon

int main(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "--built-with") == 0) {
    allomon::benchmarks::PrintBuiltWith();
    return 0;
  }
  if (argc == 3) return allomon::Run(argv[1], atol(argv[2]));
  fputs("usage: operation NAME COUNT; see benchmarks/operation_costs.py\n", stderr);
  return 1;
}
