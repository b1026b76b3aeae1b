#include "tracker/internal/managed_sampler.h"

#include <mutex>

namespace allomon::internal {
namespace {

ManagedSampler* g_samplers = nullptr;  // guarded by the registry's lock

}  // namespace

void WakeManagedLocked() {
  for (ManagedSampler* sampler = g_samplers; sampler != nullptr; sampler = sampler->next_) {
    sampler->limit_->store(0, std::memory_order_relaxed);
  }
}

void ManagedSampler::Attach(std::atomic<uintptr_t>* limit) {
  std::lock_guard<SpinLock> hold(Registry::Get().lock());
  limit_ = limit;
  previous_ = nullptr;
  next_ = g_samplers;
  if (next_ != nullptr) next_->previous_ = this;
  g_samplers = this;
}

void ManagedSampler::Detach() {
  std::lock_guard<SpinLock> hold(Registry::Get().lock());
  (previous_ != nullptr ? previous_->next_ : g_samplers) = next_;
  if (next_ != nullptr) next_->previous_ = previous_;
  limit_ = nullptr;
}

void ManagedSampler::BeginGap() {
  words_left_ = active_.rate > 0 ? DrawGap(bits_, active_.gap_scale) - 1 : kNeverWords;
}

// What the set holds without the sessions that want malloc's blocks only.
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
    std::lock_guard<SpinLock> hold(registry.lock());
    active_ = registry.active_locked();
    LeaveOutOnlyMalloc(&active_);
    // A registry that never published has an empty set of no epoch.
    active_.epoch = registry.epoch();
    bits_.Seed(active_.seed, registry.NextStreamLocked());
  }
  BeginGap();
}

bool ManagedSampler::Draw(uint64_t words, Trial* trial) {
  Pass(words);
  if (words_left_ >= 0) return false;
  // The first hit is the word that took the count below zero; those behind it are fresh.
  DrawHits(active_, bits_, static_cast<uint64_t>(-words_left_ - 1), trial);
  BeginGap();
  return true;
}

void ManagedSampler::Skip(uint64_t words) {
  Pass(words);
  if (words_left_ < 0) BeginGap();
}

}  // namespace allomon::internal
