// The memory orders of tracker/core/: pins and sessions, wake-ups, entries, the stack table; and of
// the threads of a recording.
#include "tests/model/memory_order/real_code.h"

// A thread of the checker has a ThreadState that is not in TLS.
#define CurrentThread ThreadOfTheSystem
#include "tracker/core/thread_state.h"
#undef CurrentThread
namespace allomon::internal {
ThreadState& CurrentThread();
}  // namespace allomon::internal

// The checker makes the barrier of membarrier(2).
#include "tracker/base/sys/raw_calls.h"
namespace allomon::internal::sys {
inline bool has_membarrier = true;
inline long ModelCall(long, long, long, long, ALLOMON_MODEL_HERE) {
  if (!has_membarrier) return -1;
  model::BarrierOnAll({file, function, line});
  return 0;
}
inline void ModelYield() {}
}  // namespace allomon::internal::sys

// The sources under test.
#include "tracker/core/tick_safe_lock.cc"
#define SystemCall ModelCall
#define SchedYield ModelYield
#include "tracker/core/barrier.cc"
#undef SystemCall
#undef SchedYield
#include "tracker/core/entries.cc"
#include "tracker/core/entry_table.cc"
#include "tracker/core/registry.cc"
#include "tracker/core/session.cc"
#include "tracker/core/session_counters.cc"
#include "tracker/core/stack_table.cc"
#include "tracker/core/valueless_client.h"
#include "tracker/recording/threads.cc"

namespace allomon::recording {

// Files and names of threads are not under test.
internal::SpinLock recorder_lock;
uint32_t recorder_held_steps = 0;
const std::atomic<bool> SegmentFile::kNoHarm{false};
ThreadName TakeOwnName() { return {}; }
uint32_t SegmentFile::Take() {
  base_ = static_cast<char*>(model::Map(2 * kSegmentBytes));
  return 1;
}

}  // namespace allomon::recording

namespace allomon::internal {

// Labels and names of types are not under test.
TypeNames type_names;
LabelSets label_sets;
LabelSet LabelSets::ViewSlow(LabelSetId) const { return {}; }
__thread std::atomic<int64_t> countdown_words;

namespace {

using model::Bounds;
using model::Expect;
using model::FindAllBarriers;
using model::Program;

constexpr int kThreads = 3;
ThreadState states[kThreads + 1];

}  // namespace

ThreadState& CurrentThread() { return states[model::ThisThread() + 1]; }

namespace {

// --- All that is global begins anew in each run.

template <typename T>
void Renew(T& global) {
  new (&global) T();
}

// `registered` threads have pins and free entries of their own.
void BeginProcess(bool has_membarrier, int registered) {
  BeginOwnMemory();
  sys::has_membarrier = has_membarrier;
  has_asymmetric_barrier.store(has_membarrier, std::memory_order_relaxed);
  countdown_words.store(0, std::memory_order_relaxed);
  for (SessionId id = 0; id < kMaxSessions; ++id) Renew(Session::AtPlaceOf(id));
  Renew(Registry::Get());
  Renew(entry_table);
  g_next_id = 1;
  for (ThreadState& state : states) Renew(state);
  const TickSafeLockHolder hold(Registry::Get().lock());
  for (int i = 1; i <= registered; ++i) {
    states[i].countdown = &countdown_words;
    Registry::Get().AddLocked(states[i]);
  }
}

// --- Pins.

// A client in memory that is not used again, so that each later touch is seen.
class PlainClient : public ValuelessClient {
 public:
  ~PlainClient() override {
    Expect(uses >= 0, "the compiler keeps this load");
    ++deleted;
  }
  static void* operator new(size_t size_bytes) { return model::Map(size_bytes); }
  static void operator delete(void*) {}

  void Use() { uses = uses + 1; }

  static inline int deleted = 0;
  int uses = 0;
};

SessionId StartSession(SessionClient* client) {
  const TickSafeLockHolder hold(Registry::Get().lock());
  Session::Config config;
  config.kind = SessionKind::kTracker;
  return Session::ClaimLocked(config, client)->id();
}

void DiscardSession(Session& session) {
  const TickSafeLockHolder hold(Registry::Get().lock());
  session.SetStoppedLocked();
  session.SetDiscardedLocked();
}

constexpr SessionId kFirst = 1;
constexpr SessionId kNext = kFirst + kMaxSessions;  // in the same place

void UseClientOf(SessionId id) {
  PinnedSession session(id);
  if (!session) return;
  Expect(session->kind() == SessionKind::kTracker, "a session without its configuration");
  static_cast<PlainClient&>(session->client()).Use();
}

void RetireFirst() {
  Session& session = *Session::Find(kFirst);
  DiscardSession(session);
  session.Retire();
}

void BeginFirstSession(bool has_membarrier, int registered) {
  BeginProcess(has_membarrier, registered);
  PlainClient::deleted = 0;
  Expect(StartSession(new PlainClient) == kFirst, "another session");
}

void CheckClientIsGone() {
  Expect(PlainClient::deleted == 1, "a client is deleted once");
  Expect(!Session::AtPlaceOf(kFirst).retiring(), "the place is free");
}

Program PinBesideRetire(bool has_membarrier, int registered) {
  return {[=] { BeginFirstSession(has_membarrier, registered); },
          {[] { UseClientOf(kFirst); }, [] { RetireFirst(); }},
          CheckClientIsGone};
}

// The second session takes the place of the first one, which this thread may still pin.
Program PinBesideNextSession() {
  return {[] { BeginFirstSession(true, 2); },
          {[] {
             UseClientOf(kNext);
             UseClientOf(kFirst);
           },
           [] {
             RetireFirst();
             {
               const TickSafeLockHolder hold(Registry::Get().lock());
               g_next_id = kNext;
             }
             StartSession(new PlainClient);
           }}};
}

// Nobody reads anything behind the status: a session is found by its id, and its values by their
// entries.
TEST(MemoryOrder, Pins) {
  EXPECT_EQ("", FindAllBarriers(
                    {PinBesideRetire(true, 2), PinBesideRetire(false, 2), PinBesideRetire(true, 0),
                     PinBesideRetire(false, 0), PinBesideNextSession()},
                    {2, 2},
                    {"session.h", "session.cc", "pinned_session.h", "barrier.h", "barrier.cc",
                     "thread_state.h"},
                    {"session.cc SetStatusLocked store release"}));
}

// --- Wake-ups.

// A thread that has not seen the epoch takes its slow path at the next allocation.
Program SetCountdownBesidePublish(bool has_membarrier) {
  return {[=] {
            BeginProcess(has_membarrier, 1);
            states[1].epoch_seen = Registry::Get().epoch();
          },
          {[] { SetCountdown(states[1], 100); },
           [] {
             const TickSafeLockHolder hold(Registry::Get().lock());
             Registry::Get().PublishLocked({});
           }},
          [] { Expect(countdown_words == 0, "a thread is not woken"); }};
}

// The sessions of an epoch are read under the lock.
TEST(MemoryOrder, WakeUps) {
  EXPECT_EQ("", FindAllBarriers(
                    {SetCountdownBesidePublish(true), SetCountdownBesidePublish(false)}, {3, 3},
                    {"registry.h", "registry.cc", "barrier.h", "barrier.cc"},
                    {"registry.cc PublishLocked store seq_cst",
                     "registry.cc PublishLocked store at all", "registry.h epoch load acquire"}));
}

// --- The life of an entry.

// Writes into values, and tells whether one is consumed twice or before it is there.
class ValueClient : public SessionClient {
 public:
  bool AllocMinor(const Allocation&, ValueRoom*) override { return false; }
  bool AllocMajor(const Allocation&, ValueRoom* value) override {
    value->bytes[0] = 1;
    return true;
  }
  bool Promote(ValueRoom*) override { return false; }
  void DeallocMinor(ValueRoom*) override {}
  void DeallocMajor(ValueRoom* value) override { Consume(value); }
  void SurviveMinor(const Allocation&, ValueRoom*) override {}
  void SurviveMajor(const Allocation&, ValueRoom*) override {}
  void DestroyMinor(ValueRoom*) override {}
  void DestroyMajor(ValueRoom* value) override { Consume(value); }
  static void* operator new(size_t size_bytes) { return model::Map(size_bytes); }
  static void operator delete(void*) {}

 private:
  void Consume(ValueRoom* value) {
    Expect(value->bytes[0] == 1, "a value is consumed twice");
    value->bytes[0] = 2;
  }
};

constexpr EntryId kNoEntry = 1000;
std::atomic<EntryId> handle;  // of the block that one thread gives to another

// No thread keeps free entries for itself, which would take sixteen fresh ones.
void BeginEntries(bool has_membarrier) {
  BeginProcess(has_membarrier, 0);
  handle.store(0, std::memory_order_relaxed);
  Expect(StartSession(new ValueClient) == kFirst, "another session");
}

// As heap_client.cc does it.
EntryId MakeEntry(uint64_t number) {
  PinnedSession session(kFirst);
  if (!session) return 0;
  const EntryId id = AllocateEntry(CurrentThread());
  Entry& entry = entry_table.At(id);
  entry.Begin(kFirst);
  entry.size_bytes.store(number, std::memory_order_relaxed);
  entry.n_samples.store(number, std::memory_order_relaxed);
  session->client().AllocMajor({}, &entry.value);
  MakeLive(*session, entry, id, EntryState::kLiveMajor);
  return id;
}

void DiscardFirst() {
  Session& session = *Session::Find(kFirst);
  DiscardSession(session);
  ForgetEntriesOf(session);
  session.Retire();
}

// The program hands the block over, by an order of its own.
void GiveHandle(EntryId id) { handle.store(id, std::memory_order_release); }
EntryId TakeHandle() { return handle.exchange(0, std::memory_order_acquire); }

// The links of its entries are the owner's until it gives them up.
void DeallocHandle() {
  const EntryId id = TakeHandle();
  if (id == 0) return;
  entry_table.At(id).next.store(kNoEntry, std::memory_order_relaxed);
  DeallocEntry(id);
}

// Takes a free entry, writes a value, and gives it back.
void Reuse() {
  const EntryId id = AllocateEntry(CurrentThread());
  Expect(id != kNoEntry, "a link of the free list is lost");
  entry_table.At(id).value.bytes[0] = 2;
  ReleaseEntry(id);
}

void CheckNoValueIsLeft() {
  for (EntryId id = 1; id < entry_table.end(); ++id) {
    Entry& entry = entry_table.At(id);
    Expect(entry.Life().use == 0 || entry.value.bytes[0] == 2, "a value is not consumed");
  }
}

// Discard meets a thread that makes a value live and then consumes it.
Program MakeLiveBesideDiscard(bool has_membarrier) {
  return {[=] { BeginEntries(has_membarrier); },
          {[] {
             const EntryId id = MakeEntry(1);
             if (id != 0) DeallocEntry(id);
           },
           [] { DiscardFirst(); }},
          CheckNoValueIsLeft};
}

// The block is given back by another thread than the one that discards.
Program DeallocBesideDiscard() {
  return {[] {
            BeginEntries(true);
            GiveHandle(MakeEntry(1));
          },
          {[] {
             DeallocHandle();
             Reuse();
           },
           [] { DiscardFirst(); }},
          [] {
            CheckNoValueIsLeft();
            const EntryId first = AllocateEntry(CurrentThread());
            const EntryId second = AllocateEntry(CurrentThread());
            Expect(first != kNoEntry && second != kNoEntry, "a link of the free list is lost");
          }};
}

// Two threads map the first entries.
Program AllocateBesideAllocate() {
  const auto make = [] { entry_table.At(AllocateEntry(CurrentThread())).Begin(kFirst); };
  return {[] { BeginEntries(true); }, {make, make}};
}

// A snapshot sees fields of one use.
Program SnapshotBesideReuse() {
  return {[] { BeginEntries(true); },
          {[] {
             DeallocEntry(MakeEntry(1));
             DeallocEntry(MakeEntry(2));
           },
           [] {
             PinnedSession session(kFirst);
             ForEachLive(*session, [](const Allocation& allocation) {
               Expect(allocation.size_bytes == allocation.n_samples, "fields of two uses");
               Expect(allocation.size_bytes != 0, "fields of no use");
             });
           }}};
}

// Callers of At() have acquired the index, and with it the segment.  DeallocEntry() looks at the
// life again where Abandon() has failed.
TEST(MemoryOrder, Entries) {
  EXPECT_EQ(
      "", FindAllBarriers({MakeLiveBesideDiscard(true), MakeLiveBesideDiscard(false),
                           DeallocBesideDiscard(), AllocateBesideAllocate(), SnapshotBesideReuse()},
                          {2, 1},
                          {"entry_table.h", "entry_table.cc", "entries.h", "entries.cc",
                           "own_memory.h", "barrier.h", "barrier.cc"},
                          {"entry_table.cc Abandon load acquire",
                           "entry_table.cc Abandon compare_exchange acquire",
                           "entry_table.cc Abandon failed compare_exchange acquire",
                           "entry_table.cc AllocateFresh compare_exchange acquire",
                           "entry_table.cc AllocateFresh failed compare_exchange acquire",
                           "entry_table.cc FinishForgetting compare_exchange acquire",
                           "entry_table.h TakeLive failed compare_exchange acquire"},
                          {{"entry_table.h TakeLive load acquire",
                            "entry_table.h TakeLive compare_exchange acquire"},
                           {"own_memory.h Reserve load acquire", "own_memory.h At load acquire"}}));
}

// --- The stack table.

constexpr uintptr_t kStack[] = {0x1000, 0x2000};
constexpr uintptr_t kOther[] = {0x3000};
constexpr uintptr_t kRenamed = 0x100000;

void BeginStacks() {
  BeginProcess(true, 0);
  new (&stack_table) StackTable();
}

void InternOne() {
  const StackId id = stack_table.Intern(kStack, 2, false);
  Expect(id != 0, "no room");
  const StackView view = stack_table.View(id);
  Expect(view.depth == 2 && view.frames[0] == kStack[0] && view.frames[1] == kStack[1],
         "a stack with other frames");
}

// Two threads find or add the same stack; a third one looks at all.
Program InternBesideIntern() {
  return {BeginStacks,
          {InternOne, InternOne,
           [] {
             const uint32_t size = stack_table.size();
             for (StackId id = 1; id <= size; ++id) {
               const StackView view = stack_table.View(id);
               Expect(view.depth == 2 && view.frames[1] == kStack[1], "a stack that is not whole");
             }
           }},
          [] { Expect(stack_table.size() == 1, "a stack is twice in the table"); }};
}

// The id comes from another thread without any order, as that of an entry in its next use does.
Program ViewBesideIntern() {
  return {[] {
            BeginStacks();
            handle.store(0, std::memory_order_relaxed);
          },
          {[] { handle.store(stack_table.Intern(kStack, 2, false), std::memory_order_relaxed); },
           [] {
             const StackView view = stack_table.View(handle.load(std::memory_order_relaxed));
             if (view.depth == 0) return;
             Expect(view.depth == 2 && view.frames[1] == kStack[1], "a stack that is not whole");
           }}};
}

// A renamed stack is not found, or found as it was.
Program InternBesideRename() {
  return {[] {
            BeginStacks();
            stack_table.Intern(kOther, 1, false);
          },
          {[] { stack_table.RenameFrames(1, 2, 0x3000, 0x3000, kRenamed); },
           [] {
             const StackId id = stack_table.Intern(kOther, 1, false);
             Expect(id == 1 || id == 2, "a stack that is not there");
           }},
          [] {
            const StackView view = stack_table.View(1);
            Expect(view.frames[0] == kOther[0] + kRenamed, "a frame is not renamed");
            Expect(stack_table.Intern(kOther, 1, false) > 1, "a renamed stack is found");
          }};
}

TEST(MemoryOrder, StackTable) {
  EXPECT_EQ("", FindAllBarriers({ViewBesideIntern(), InternBesideIntern(), InternBesideRename()},
                                {2, 1}, {"stack_table.h", "stack_table.cc"}, {}));
}

// --- The threads of a recording.

struct ThreadsUnderTest {
  recording::SegmentFile file;
  recording::SegmentSource source;
  recording::ThreadTable threads;
  recording::Missing missing;
  uint32_t count = 0;
};

ThreadsUnderTest* threads_under_test = nullptr;

void BeginThreads() {
  BeginProcess(true, 0);
  threads_under_test = new (model::Map(sizeof(ThreadsUnderTest))) ThreadsUnderTest();
  ThreadsUnderTest& test = *threads_under_test;
  test.source.Begin(&test.file, 1);
  test.threads.Begin(&test.source, recording::WrittenField<uint32_t>(&test.count), {});
  CurrentThread().countdown = &countdown_words;  // as the registry sets it
  const recording::RecorderHold hold;
  Expect(test.threads.Enter(1, &test.missing) == 1, "another thread");
}

// The memory of a thread that has left is another one's.
void LeaveAndEnd() {
  {
    const recording::RecorderHold hold;
    threads_under_test->threads.Leave(1, 5);
  }
  const ThreadState fresh;
  model::Copy(static_cast<void*>(&states[0]), &fresh, sizeof(fresh));
}

Program WordsBesideLeave() {
  const auto look = [] { threads_under_test->threads.WordsOf(1, 2, kFirst); };
  return {BeginThreads, {LeaveAndEnd, look, look}};
}

// A release suffices where a reader has read.
TEST(MemoryOrder, ThreadsOfARecording) {
  EXPECT_EQ("", FindAllBarriers({WordsBesideLeave()}, {2, 1}, {"threads.h", "threads.cc"},
                                {"threads.cc WordsOfOtherSlow fetch_sub seq_cst"}));
}

}  // namespace
}  // namespace allomon::internal
