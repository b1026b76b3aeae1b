// The memory orders of the managed heap: its threads and their remembered slots, marking beside the
// program, and evacuation by several threads.
// Abseil keeps its own atomics.
#include "absl/status/statusor.h"
// Not sorted: it renames std::atomic.
#include "tests/model/memory_order/real_code.h"

// A mutex of the system is a spin lock here, and a wait is a pause with the mutex let go.
#define ALLOMON_TRACKER_BASE_MUTEX_H_
#include "tracker/base/spin_lock.h"
#include "tracker/base/thread_annotations.h"
namespace allomon::internal {
class ALLOMON_LOCKABLE Mutex {
 public:
  void lock() ALLOMON_ACQUIRE() { lock_.lock(); }
  void unlock() ALLOMON_RELEASE() { lock_.unlock(); }
  void ResetInForkedChild() {}

 private:
  SpinLock lock_;
};
class MutexHolder {
 public:
  explicit MutexHolder(Mutex& mutex) : mutex_(mutex) { mutex_.lock(); }
  ~MutexHolder() { mutex_.unlock(); }

 private:
  Mutex& mutex_;
};
class Condition {
 public:
  void Wait(Mutex& mutex) {
    mutex.unlock();
    model::Pause();
    mutex.lock();
  }
  void WaitFor(Mutex& mutex, uint64_t) { Wait(mutex); }
  void NotifyOne() {}
  void NotifyAll() {}
  void ResetInForkedChild() {}
};
}  // namespace allomon::internal

// Threads that wait a moment for another one wait as long as all others.
#define ALLOMON_RUNTIME_INTERNAL_COLLECT_BRIEF_PAUSE_H_
namespace allomon::gc::internal {
inline void PauseBriefly() { model::Pause(); }
inline constexpr unsigned kBriefLooks = 1;
}  // namespace allomon::gc::internal

// Memory for vectors and stacks is the checker's, not that of tests/backends.
#define ALLOMON_TESTS_BACKENDS_FAILING_ALLOMON_BACKEND_H_
namespace allomon::backend {
inline void* Malloc(size_t size_bytes) { return model::Map(size_bytes); }
inline void* Realloc(void*, size_t size_bytes) { return model::Map(size_bytes); }
inline void Free(void*) {}
}  // namespace allomon::backend

// The sources under test.
#include "runtime/handle.h"
#include "runtime/internal/collect/barrier.cc"
#include "runtime/internal/collect/evacuation.h"
#include "runtime/internal/collect/limit.cc"
#include "runtime/internal/collect/mark_state.cc"
#include "runtime/internal/collect/marker.h"
#include "runtime/internal/collect/shared_work.cc"
#include "runtime/internal/collect/world.cc"

namespace allomon {
namespace heap_client {
bool InCallback() { return false; }
}  // namespace heap_client
namespace internal {
Registry Registry::the_registry;
void ManagedSampler::Refresh() {
  active_.epoch = Registry::Get().epoch();
  words_left_ = 64;
}
std::atomic<const ManagedProfiler*> managed_profiler{nullptr};
}  // namespace internal
}  // namespace allomon

extern "C" void allomon_gc_save_registers(allomon::gc::internal::StandPoint*) {}

namespace allomon::gc::internal {

using model::Expect;
using model::FindAllBarriers;
using model::Program;

// --- What is not under test.  All memory is the checker's, and is not used twice.

void* ReserveMemory(size_t size_bytes) { return model::Map(size_bytes); }
void ReleaseMemory(void*, size_t) {}
BlockSpace::Lane BlockSpace::TakeLane(size_t) { return {}; }
void BlockSpace::PutLane(size_t, const Lane&) {}
template <bool kShared>
char* BlockSpace::AllocateSlow(Lane&, size_t bytes) {
  return static_cast<char*>(model::Map(bytes));
}
bool BlockSpace::ClearNext() { return false; }
void Fail(const char* text) {
  Expect(false, text);
  abort();
}
void Mutator::JoinTracker() {}
void Mutator::LeaveTracker() {}
void Mutator::MoveOut() {}
size_t Mutator::NurseryBytes() const { return 0; }
void Mutator::MoveIn(const StackRange&) {}
void Mutator::NoteStand() {}
bool Mutator::MayRunRequest() const { return false; }
bool Mutator::GrowLog() { return false; }
bool Mutator::UseSpareLog(size_t) { return false; }
bool HeapCore::AnyDue() const { return false; }
void HeapCore::CountBornOld(uint64_t, size_t) {}
size_t Nursery::room_bytes() const { return 64; }
void Window::Clear() {
  limit = 0;
  marking = false;
}
__thread Window t_window = {};

namespace {

// Two references.
const TypeInfo kPair = {"Pair", 3, nullptr, 0, 2, Kind::kFixed};

Object* MakePair(void* at, Object* first, Object* second) {
  Object* const object = reinterpret_cast<Object*>(static_cast<Word*>(at) + 1);
  HeaderOf(object) = reinterpret_cast<Word>(&kPair);
  SlotsOf(object)[0] = first;
  SlotsOf(object)[1] = second;
  return object;
}

// The start of the young range, which is mapped once.
char* YoungPages() {
  static char* const pages = static_cast<char*>(
      mmap(reinterpret_cast<void*>(kYoungStart), kSliceBytes, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0));
  return pages;
}

// A thread of the program.  Members that a program does not set are zero.
Mutator* mutator_under_test = nullptr;

template <typename T, typename... Arguments>
T* Make(Arguments&&... arguments) {
  return new (model::Map(sizeof(T))) T(std::forward<Arguments>(arguments)...);
}

// --- Evacuation by several threads.

struct EvacuationUnderTest {
  Spaces spaces;
  CardLocks cards;
  SharedWork work{2};
  Slot slots[2] = {};  // remembered by a thread each
};
EvacuationUnderTest* evacuation_under_test = nullptr;

// Two objects in cards of their own; the first one refers to the second.
void BeginEvacuation(bool second_thread_begins_at_second) {
  evacuation_under_test = Make<EvacuationUnderTest>();
  EvacuationUnderTest& test = *evacuation_under_test;
  Expect(test.cards.Reserve() && test.work.Join(), "no room");
  Object* const second = MakePair(YoungPages() + 8192, nullptr, nullptr);
  Object* const first = MakePair(YoungPages(), second, nullptr);
  test.slots[0] = first;
  test.slots[1] = second_thread_begins_at_second ? second : first;
}

void Evacuate(size_t thread) {
  EvacuationUnderTest& test = *evacuation_under_test;
  Evacuation<true> evacuation(test.spaces, test.cards, test.work, thread);
  evacuation.VisitOld(test.slots[thread]);
  evacuation.Drain();
  evacuation.DrainShared();
  evacuation.Finish();
}

Program EvacuateBesideEvacuate(bool second_thread_begins_at_second) {
  return {[=] { BeginEvacuation(second_thread_begins_at_second); },
          {[] { Evacuate(0); }, [] { Evacuate(1); }},
          [=] {
            const Slot* const slots = evacuation_under_test->slots;
            Object* const first = slots[0];
            Object* const second = SlotsOf(first)[0];
            Expect(!IsYoung(first) && !IsYoung(second), "an object is still young");
            Expect(slots[1] == (second_thread_begins_at_second ? second : first),
                   "an object has two copies");
            Expect(HeaderOf(second) == reinterpret_cast<Word>(&kPair) &&
                       SlotsOf(second)[0] == nullptr && SlotsOf(first)[1] == nullptr,
                   "a copy is not whole");
          }};
}

// No thread reads a copy that another one has made, before the team's mutex comes between.
TEST(MemoryOrder, Evacuation) {
  EXPECT_EQ("", FindAllBarriers({EvacuateBesideEvacuate(false), EvacuateBesideEvacuate(true)},
                                {2, 1}, {"evacuation.h", "card_locks.h"},
                                {"evacuation.h LoadHeader load acquire",
                                 "evacuation.h StoreHeader store release"}));
}

// --- Marking beside the program.

struct MarkingUnderTest {
  Spaces spaces;
  Marker<MarkMode::kInSlices> marker{spaces, 8};
  Object* root = nullptr;
  Object* overwritten = nullptr;  // only the root refers to it
  void* room = nullptr;           // of an object that the program makes
};
MarkingUnderTest* marking_under_test = nullptr;

}  // namespace

// Does the same as MarkCycle::Note() while there is room.
void NoteForCycle(Mutator& mutator, Object* object) { mutator.notes[mutator.n_notes++] = object; }
Mutator& CurrentMutator() { return *mutator_under_test; }

namespace {

// A marking has begun: the root has been found.
void BeginMarking() {
  marking_under_test = Make<MarkingUnderTest>();
  MarkingUnderTest& test = *marking_under_test;
  char* const pages = static_cast<char*>(model::Map(2 * kChunkBytes));
  Chunk& chunk = *Chunk::Of(pages + kChunkBytes - 1);
  test.overwritten = MakePair(chunk.BlockAt(kFirstBlock), nullptr, nullptr);
  test.root = MakePair(chunk.BlockAt(kFirstBlock + 1), test.overwritten, nullptr);
  test.room = chunk.BlockAt(kFirstBlock + 2);
  Expect(test.marker.AddRoot(test.root), "no room");
  mutator_under_test = static_cast<Mutator*>(model::Map(sizeof(Mutator)));
  t_window.marking = true;
}

void MarkAsHelper() {
  MarkingUnderTest& test = *marking_under_test;
  const MutexHolder hold(test.spaces.cycle.mutex);
  test.marker.MarkUntil([] { return false; });
}

struct Pair {
  Field<Pair> first;
  Field<Pair> second;
};

void StoreByField(Object* object) {
  reinterpret_cast<Pair*>(marking_under_test->root)->first = Access::LocalOf<Pair>(object);
}
void StoreByFill(Object* object) { FillSlots(SlotsOf(marking_under_test->root), 1, object); }

// The object that the root referred to when the marking began is marked, and the new one is whole
// for the helper.
Program MarkBesideStore(void (*store)(Object*)) {
  return {BeginMarking,
          {[store] { store(MakePair(marking_under_test->room, nullptr, nullptr)); }, MarkAsHelper},
          [] {
            MarkingUnderTest& test = *marking_under_test;
            for (size_t i = 0; i < mutator_under_test->n_notes; ++i) {
              Expect(test.marker.AddRoot(mutator_under_test->notes[i]), "no room");
            }
            MarkAsHelper();
            Expect(test.marker.IsMarked(test.overwritten), "an object of the snapshot is lost");
          }};
}

TEST(MemoryOrder, MarkingBesideTheProgram) {
  EXPECT_EQ("", FindAllBarriers({MarkBesideStore(StoreByField), MarkBesideStore(StoreByFill)},
                                {3, 2}, {"marker.h", "handle.h", "barrier.cc"}, {}));
}

// --- Remembered slots, and the stop of the threads that have them.

struct WorldUnderTest {
  HeapCore& heap = *static_cast<HeapCore*>(model::Map(sizeof(HeapCore)));
  Slot* log[4] = {};
  Slot slot = nullptr;  // of an old object
  bool collected = false;
};
WorldUnderTest* world_under_test = nullptr;

void BeginWorld() {
  world_under_test = Make<WorldUnderTest>();
  WorldUnderTest& test = *world_under_test;
  new (&test.heap.world) World(0, nullptr);
  mutator_under_test = static_cast<Mutator*>(model::Map(sizeof(Mutator)));
  mutator_under_test->heap = &test.heap;
  mutator_under_test->window = &t_window;
  new (&mutator_under_test->old) OldWindow(&t_window);
  new (&mutator_under_test->sampler) heap_client::ManagedSampler();
  new (&mutator_under_test->survival) Survival();
  mutator_under_test->sampler.Refresh();
  t_window.Clear();
  t_window.mutator = mutator_under_test;
  t_window.log_top = test.log;
  t_window.log_limit = test.log + 4;
  test.heap.world.Add(mutator_under_test);
}

// Stores a reference to a new object, and runs until that was collected.  A slow path is left as by
// SafepointSlow(), and taken where the limit is 0.  The thread that has seen that 0 may not see yet
// why it is there.
void StoreAndRun() {
  WorldUnderTest& test = *world_under_test;
  FillSlots(&test.slot, 1, MakePair(YoungPages(), nullptr, nullptr));
  PublishLimit(*mutator_under_test);
  while (!test.collected) {
    while (t_window.limit.load(std::memory_order_relaxed) != 0) model::Pause();
    const LimitPublisher publisher(*mutator_under_test);
    test.heap.world.ParkIfStopping(*mutator_under_test);
  }
}

void CollectOnce() {
  WorldUnderTest& test = *world_under_test;
  Expect(test.heap.world.Stop(nullptr), "another thread has stopped the world");
  Expect(t_window.log_top == test.log + 1 && test.log[0] == &test.slot, "a slot is not remembered");
  Expect(HeaderOf(test.slot) == reinterpret_cast<Word>(&kPair), "an object is not whole");
  t_window.log_top = test.log;
  test.collected = true;
  test.heap.world.Resume();
}

Program StopBesideStore() { return {BeginWorld, {StoreAndRun, CollectOnce}}; }

TEST(MemoryOrder, RememberedSlots) {
  EXPECT_EQ("", FindAllBarriers({StopBesideStore()}, {2, 1},
                                {"limit.cc", "world.cc", "spin_lock.h"}, {}));
}

}  // namespace
}  // namespace allomon::gc::internal
