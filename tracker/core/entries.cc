#include "tracker/core/entries.h"

#include "tracker/base/words.h"
#include "tracker/core/label_sets.h"
#include "tracker/core/pinned_session.h"
#include "tracker/core/thread_state.h"

namespace allomon::internal {

namespace {

bool IsDiscarded(const Session& session) { return session.status() == SessionStatus::kDiscarded; }

// Checks that the caller has moved the entry from live to running. (If the caller is discard, its
// owner may have abandoned it since.)
void CheckTaken([[maybe_unused]] const Session& session, [[maybe_unused]] const Entry& entry) {
  if constexpr (kDebugChecks) {
    const EntryLife life = entry.Life();
    ALLOMON_DCHECK("inv.entry.once",
                   life.state == EntryState::kRunning || life.state == EntryState::kAbandoned);
    ALLOMON_DCHECK_EQ("inv.entry.session", life.session, session.id());
  }
}

void DestroyValue(SessionClient& client, EntryState was, ValueRoom* value) {
  if (was == EntryState::kLiveMinor) {
    client.DestroyMinor(value);
  } else {
    client.DestroyMajor(value);
  }
}

void RunDealloc(SessionClient& client, EntryState was, ValueRoom* value) {
  if (was == EntryState::kLiveMinor) {
    client.DeallocMinor(value);
  } else {
    client.DeallocMajor(value);
  }
}

void ConsumeValue(Session& session, EntryState was, ValueRoom* value) {
  if (IsDiscarded(session)) {
    DestroyValue(session.client(), was, value);
  } else {
    RunDealloc(session.client(), was, value);
  }
}

bool RunPromote(Session& session, EntryState was, ValueRoom* value) {
  if (!IsDiscarded(session)) return session.client().Promote(value);
  DestroyValue(session.client(), was, value);
  return false;
}

// Called if the owner gives the entry up without having consumed its value.
void ReleaseUnconsumed(EntryId id) {
  Entry& entry = entry_table.At(id);
  if (entry.Abandon()) return;
  // A live entry without a session exists only in the child of a fork that has lost the thread
  // which would have destroyed the value.
  if (__builtin_expect(entry.Life().live(), 0)) entry.SetState(EntryState::kForgotten);
  ALLOMON_DCHECK_EQ("inv.entry.owner", entry.Life().state, EntryState::kForgotten);
  ReleaseEntry(id);
}

}  // namespace

void ForgetEntry(Session& session, EntryId id) {
  Entry& entry = entry_table.At(id);
  const EntryState was = entry.TakeLive(session.id());
  if (was == EntryState::kForgotten) return;
  CheckTaken(session, entry);
  DestroyValue(session.client(), was, &entry.value);
  if (entry.FinishForgetting()) ReleaseEntry(id);
}

// The session is pinned before a value is taken: after the last pin is released, the session has no
// values left to consume.
bool PromoteEntry(EntryId id) {
  Entry& entry = entry_table.At(id);
  PinnedSession session(entry.Life().session);
  const EntryState was = session ? entry.TakeLive(session->id()) : EntryState::kForgotten;
  if (was == EntryState::kForgotten) {
    ReleaseUnconsumed(id);
    return false;
  }
  ScopedEntry scoped(id);
  // The value is major already if the callback of another session ended its thread the last time.
  const bool is_due = was == EntryState::kLiveMinor;
  CheckTaken(*session, entry);
  if (is_due && !RunPromote(*session, was, &entry.value)) return false;
  MakeLive(*session, entry, id, EntryState::kLiveMajor);
  scoped.Keep();
  return true;
}

void DeallocEntry(EntryId id) {
  Entry& entry = entry_table.At(id);
  PinnedSession session(entry.Life().session);
  const EntryState was = session ? entry.TakeLive(session->id()) : EntryState::kForgotten;
  if (was == EntryState::kForgotten) return ReleaseUnconsumed(id);
  const ScopedEntry released_at_end(id);
  CheckTaken(*session, entry);
  ConsumeValue(*session, was, &entry.value);
}

namespace {

// Draws how many of `hits` different words, each equally likely to be hit, are among the first
// `words`.
uint64_t DrawHitsLeft(uint64_t hits, uint64_t words_before, uint64_t words, RandomBits& bits) {
  // With more hits no estimate shows the difference: the random part is less than half a percent.
  constexpr uint64_t kMostDrawn = uint64_t{1} << 16;
  if (hits > kMostDrawn || hits >= words_before) {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(hits) * words / words_before);
  }
  uint64_t left = 0;
  for (uint64_t i = 0; i < hits; ++i) {
    const unsigned __int128 product =
        static_cast<unsigned __int128>(bits.Next()) * (words_before - i);
    if (static_cast<uint64_t>(product >> 64) < words - left) ++left;
  }
  return left;
}

}  // namespace

EntryId ShrinkBlock(EntryId* head, uint64_t words_before, uint64_t words, uint64_t size_bytes,
                    RandomBits& bits) {
  EntryId kept = 0;
  EntryId gone = 0;
  for (EntryId id = *head; id != 0;) {
    Entry& entry = entry_table.At(id);
    const EntryId next = entry.next.load(std::memory_order_relaxed);
    const uint64_t hits = entry.n_samples.load(std::memory_order_relaxed);
    const uint64_t left = DrawHitsLeft(hits, words_before, words, bits);
    EntryId& chain = left == 0 ? gone : kept;
    if (left != 0) {
      entry.size_bytes.store(size_bytes, std::memory_order_relaxed);
      entry.n_samples.store(left, std::memory_order_relaxed);
    }
    entry.next.store(chain, std::memory_order_relaxed);
    chain = id;
    id = next;
  }
  *head = kept;
  return gone;
}

Allocation AllocationOf(const Entry& entry, const Session::Config& config) {
  Allocation allocation;
  allocation.n_samples = entry.n_samples.load(std::memory_order_relaxed);
  allocation.size_bytes = entry.size_bytes.load(std::memory_order_relaxed);
  allocation.size_words = WordsOf(allocation.size_bytes);
  allocation.source = entry.source.load(std::memory_order_relaxed);
  allocation.is_mapped = entry.is_mapped.load(std::memory_order_relaxed);
  allocation.type_name = type_names.At(entry.type.load(std::memory_order_relaxed));
  allocation.rate = config.rate;
  allocation.labels = label_sets.View(entry.labels.load(std::memory_order_relaxed));
  const StackId stack = entry.stack.load(std::memory_order_relaxed);
  allocation.callstack = CallstackOf(stack, stack_table.View(stack), config.callstack_size);
  return allocation;
}

namespace {

// Ends discard's hold on an entry, even if a callback ends its thread.
struct Forgetting {
  EntryId id;
  ~Forgetting() {
    if (entry_table.At(id).FinishForgetting()) ReleaseEntry(id);
  }
};

}  // namespace

void SurviveEntriesOf(Session& session) {
  const EntryId end = entry_table.end();
  for (EntryId id = 1; id < end; ++id) {
    Entry& entry = entry_table.At(id);
    const EntryState was = entry.TakeLive(session.id());
    if (was == EntryState::kForgotten) continue;
    const Forgetting forgetting{id};
    CheckTaken(session, entry);
    const Allocation allocation = AllocationOf(entry, session.config());
    if (was == EntryState::kLiveMinor) {
      session.client().SurviveMinor(allocation, &entry.value);
    } else {
      session.client().SurviveMajor(allocation, &entry.value);
    }
  }
}

void ForgetEntriesOf(Session& session) {
  HeavyBarrier();
  const EntryId end = entry_table.end();
  for (EntryId id = 1; id < end; ++id) ForgetEntry(session, id);
}

}  // namespace allomon::internal
