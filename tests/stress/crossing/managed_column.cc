// A managed heap beside malloc.  With CROSSING_TRACKERS in the environment a tracker follows
// the blocks of both; a profile, if any, is the environment's.
#include <atomic>
#include <cstdlib>
#include <memory>
#include <optional>

#include "runtime/heap.h"
#include "tests/stress/crossing/column.h"
#include "tracker/tracker.h"

namespace crossing {
namespace {

namespace gc = ::allomon::gc;
using ::allomon::Allocation;
using ::allomon::Tracker;

std::atomic<long> g_births{0};
std::atomic<long> g_promotions{0};
std::atomic<long> g_deaths{0};
std::atomic<long> g_disorders{0};

enum class Life { kYoung, kOld };

struct Following {
  std::optional<Life> alloc_minor(const Allocation&) { return ++g_births, Life::kYoung; }
  std::optional<Life> alloc_major(const Allocation&) { return ++g_births, Life::kOld; }
  std::optional<Life> promote(Life life) {
    if (life != Life::kYoung) ++g_disorders;
    return ++g_promotions, Life::kOld;
  }
  void dealloc_minor(Life life) { Die(life == Life::kYoung); }
  void dealloc_major(Life life) { Die(life == Life::kOld); }
  static void Die(bool in_order) {
    if (!in_order) ++g_disorders;
    ++g_deaths;
  }
};

struct Cell {
  long value;
  gc::Field<Cell> next;
};

// Never destroyed: forked children exit with it.
gc::Heap* g_heap = nullptr;
bool g_wanted = false;

constexpr int kCells = 60;

}  // namespace

void StartColumn() {
  gc::HeapOptions options;
  options.nursery_bytes = 64 << 10;
  g_heap = gc::Heap::Create(options).value().release();
  g_wanted = getenv("CROSSING_TRACKERS") != nullptr;
  if (g_wanted && !Tracker::start(1, Following{}).ok()) abort();
}

const char* FinishColumn() {
  {
    const gc::Mutator mutator(*g_heap);
    g_heap->Collect(gc::CollectionKind::kMajor);
  }
  if (!g_wanted) return nullptr;
  if (!Tracker::stop().ok()) return "the tracker does not stop";
  if (g_disorders != 0) return "young and old are taken for each other";
  if (g_births == 0 || g_deaths == 0) return "nothing was followed";
  return g_deaths > g_births ? "more deaths than births" : nullptr;
}

// Makes a list in which every other cell is dropped at once.
uint64_t Allocate(unsigned seed) {
  gc::Local<Cell> list;
  for (int i = 0; i < kCells; ++i) {
    list = gc::make<Cell>(static_cast<long>(seed) + i, list);
    gc::make<Cell>(0, list);
  }
  uint64_t sum = AllocateByMalloc(seed);
  for (gc::Local<Cell> cell = list; cell; cell = cell->next) {
    sum += static_cast<uint64_t>(cell->value);
  }
  return sum;
}

thread_local std::optional<gc::Mutator> t_mutator;
thread_local std::optional<gc::NativeRegion> t_region;

OnThread::OnThread() { t_mutator.emplace(*g_heap); }
OnThread::~OnThread() { t_mutator.reset(); }
Waiting::Waiting() { t_region.emplace(); }
Waiting::~Waiting() { t_region.reset(); }

}  // namespace crossing
