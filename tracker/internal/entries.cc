#include "tracker/internal/entries.h"

namespace allomon::internal {
namespace {

EntryTable g_entries;
StackTable g_stacks;

bool IsDiscarded(const Session& session) {
  return session.status() == SessionStatus::kDiscarded;
}

void DestroyValue(SessionClient& client, EntryState was, ValueSlot* value) {
  if (was == EntryState::kLiveMinor) {
    client.DestroyMinor(value);
  } else {
    client.DestroyMajor(value);
  }
}

void RunDealloc(SessionClient& client, EntryState was, ValueSlot* value) {
  if (was == EntryState::kLiveMinor) {
    client.DeallocMinor(value);
  } else {
    client.DeallocMajor(value);
  }
}

void ConsumeValue(Session& session, EntryState was, ValueSlot* value) {
  if (IsDiscarded(session)) {
    DestroyValue(session.client(), was, value);
  } else {
    RunDealloc(session.client(), was, value);
  }
}

bool RunPromote(Session& session, Entry& entry) {
  const EntryState was = entry.TakeLive(session.id());
  if (was == EntryState::kForgotten) return false;
  if (!IsDiscarded(session)) return session.client().Promote(&entry.value);
  DestroyValue(session.client(), was, &entry.value);
  return false;
}

}  // namespace

EntryTable& Entries() { return g_entries; }
StackTable& Stacks() { return g_stacks; }

void ForgetEntry(Session& session, Entry& entry) {
  const EntryState was = entry.TakeLive(session.id());
  if (was == EntryState::kForgotten) return;
  DestroyValue(session.client(), was, &entry.value);
  entry.SetLife({session.id(), EntryState::kForgotten});
}

void MakeLive(Session& session, Entry& entry, EntryState state) {
  entry.SetLife({session.id(), state});
  // Discard may have passed this entry while it was not yet live.
  if (IsDiscarded(session)) ForgetEntry(session, entry);
}

// A session is pinned before a value is taken: once the last reference to it is gone, no
// value of it is left to consume.
bool PromoteEntry(EntryId id) {
  Entry& entry = g_entries.At(id);
  PinnedSession session(entry.Life().session);
  const bool followed = session && RunPromote(*session, entry);
  if (followed) {
    MakeLive(*session, entry, EntryState::kLiveMajor);
  } else {
    g_entries.Release(id);
  }
  return followed;
}

void DeallocEntry(EntryId id) {
  const ScopedEntry released_at_end(id);
  Entry& entry = g_entries.At(id);
  PinnedSession session(entry.Life().session);
  if (!session) return;
  const EntryState was = entry.TakeLive(session->id());
  if (was != EntryState::kForgotten) ConsumeValue(*session, was, &entry.value);
}

void ForgetEntriesOf(Session& session) {
  const EntryId end = g_entries.end();
  for (EntryId i = 1; i < end; ++i) ForgetEntry(session, g_entries.At(i));
}

}  // namespace allomon::internal
