#include "tracker/core/managed_sampler.h"

#include "tracker/core/session.h"

namespace allomon::internal {
void ManagedSampler::Attach(std::atomic<uintptr_t>* limit) {
  const TickSafeLockHolder hold(Registry::Get().lock());
  limit_.words = limit;
  Registry::Get().AddLimitLocked(limit_);
}

void ManagedSampler::Detach() {
  const TickSafeLockHolder hold(Registry::Get().lock());
  Registry::Get().RemoveLimitLocked(limit_);
  limit_.words = nullptr;
  active_ = {};
  meter_.ForgetSessions();
}

void ManagedSampler::BeginGap() {
  const int64_t fresh = active_.rate > 0 ? DrawGap(bits_, active_.gap_scale) - 1 : kNeverWords;
  meter_.Set(words_left_, fresh);
  words_left_ = fresh;
}

// Removes the sessions that want only malloc's blocks.
static void LeaveOutOnlyMalloc(ActiveSet* active) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < active->count; ++i) {
    const Session* session = Session::Find(active->items[i].id);
    const bool only_malloc = session != nullptr && session->config().only_malloc;
    if (!only_malloc) active->items[kept++] = active->items[i];
  }
  if (kept == active->count) return;
  active->count = kept;
  SetCombinedRate(active);
}

void ManagedSampler::Refresh() {
  {
    Registry& registry = Registry::Get();
    const TickSafeLockHolder hold(registry.lock());
    active_ = registry.active_locked();
    LeaveOutOnlyMalloc(&active_);
    // Before the first publication the set is empty and has no epoch.
    active_.epoch = registry.epoch();
    bits_.Seed(active_.seed, registry.NextStreamLocked());
  }
  BeginGap();
  meter_.EnterSessions(active_, words_left_);
}

bool ManagedSampler::Draw(uint64_t words, Trial* trial) {
  Pass(words);
  if (words_left_ >= 0) return false;
  // The first hit is the word that took the count below zero. The words after it get fresh trials.
  DrawHits(active_, bits_, static_cast<uint64_t>(-words_left_ - 1), trial);
  BeginGap();
  return true;
}

void ManagedSampler::Skip(uint64_t words) {
  Pass(words);
  if (words_left_ < 0) BeginGap();
}

}  // namespace allomon::internal
