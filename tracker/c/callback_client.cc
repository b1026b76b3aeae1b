#include "tracker/c/callback_client.h"

#include <cstring>

#include "tracker/base/check.h"
#include "tracker/base/thread_id.h"
#include "tracker/core/forced_unwind.h"
#include "tracker/core/thread_state.h"

namespace allomon::c {
namespace {

using internal::ValueRoom;

static_assert(sizeof(allomon_value) == sizeof(ValueRoom));
static_assert(alignof(allomon_value) <= alignof(ValueRoom));
static_assert(static_cast<int>(AllocationSource::kNormal) == ALLOMON_SOURCE_NORMAL);
static_assert(static_cast<int>(AllocationSource::kMarshal) == ALLOMON_SOURCE_MARSHAL);
static_assert(static_cast<int>(AllocationSource::kCustom) == ALLOMON_SOURCE_CUSTOM);
static_assert(static_cast<int>(AllocationSource::kMalloc) == ALLOMON_SOURCE_MALLOC);

// Passes on an exception that is not from C++: the thread ends itself.
#if defined(_LIBCPP_VERSION) && defined(__PIC__) && !defined(__PIE__)
// A preloaded library does not know the state of its host's runtime, which may be libstdc++. If it
// is built with libc++ it cannot pass this on: the process ends.
void PassForcedUnwindOn() {}
#else
using internal::PassForcedUnwindOn;
#endif

allomon_value* ValueIn(ValueRoom* room) { return reinterpret_cast<allomon_value*>(room->bytes); }

}  // namespace

allomon_allocation ToC(const Allocation& allocation, bool is_young) {
  allomon_allocation out = {};
  out.struct_size = sizeof(out);
  out.n_samples = allocation.n_samples;
  out.size_bytes = allocation.size_bytes;
  out.rate = allocation.rate;
  out.frames = allocation.callstack.begin();
  out.n_frames = static_cast<uint32_t>(allocation.callstack.size());
  ALLOMON_DCHECK_EQ("inv.c.frames", out.n_frames, allocation.callstack.size());
  out.callstack_id = allocation.callstack.id();
  out.is_cut = allocation.callstack.cut();
  out.source = static_cast<allomon_source>(allocation.source);
  out.is_young = is_young;
  out.thread = internal::OwnThreadId();
  out.labels = allocation.labels.id();
  return out;
}

template <typename Call>
bool CallbackClient::Guard(Call call) {
  try {
    return call();
  } catch (internal::ForcedUnwind&) {
    throw;
  } catch (...) {
    PassForcedUnwindOn();
    CountException();
    return false;
  }
}

CallbackClient::~CallbackClient() {
  if (!has_user_ || callbacks_.destroy == nullptr) return;
  Guard([this] {
    callbacks_.destroy(callbacks_.user);
    return true;
  });
}

bool CallbackClient::RunAlloc(Alloc* alloc, const Allocation& allocation, bool is_young,
                              ValueRoom* value) {
  if (alloc == nullptr) return false;
  ALLOMON_DCHECK("inv.callback.nesting", internal::CurrentThread().in_callback);
  memset(value->bytes, 0, sizeof(value->bytes));
  return Guard([&] {
    const allomon_allocation told = ToC(allocation, is_young);
    return alloc(callbacks_.user, &told, ValueIn(value)) != 0;
  });
}

void CallbackClient::RunSurvive(Survive* survive, End* forget, const Allocation& allocation,
                                bool is_young, ValueRoom* value) {
  if (survive == nullptr) return RunEnd(forget, nullptr, value);
  Guard([&] {
    const allomon_allocation told = ToC(allocation, is_young);
    survive(callbacks_.user, &told, ValueIn(value));
    return true;
  });
}

void CallbackClient::RunEnd(End* end, End* forget, ValueRoom* value) {
  if (end == nullptr) end = forget;
  if (end == nullptr) return;
  Guard([&] {
    end(callbacks_.user, ValueIn(value));
    return true;
  });
}

bool CallbackClient::AllocMinor(const Allocation& allocation, ValueRoom* value) {
  return RunAlloc(callbacks_.alloc_minor, allocation, true, value);
}

bool CallbackClient::AllocMajor(const Allocation& allocation, ValueRoom* value) {
  return RunAlloc(callbacks_.alloc_major, allocation, false, value);
}

bool CallbackClient::Promote(ValueRoom* value) {
  if (callbacks_.promote == nullptr) {
    RunEnd(callbacks_.forget_minor, nullptr, value);
    return false;
  }
  return Guard([&] { return callbacks_.promote(callbacks_.user, ValueIn(value)) != 0; });
}

void CallbackClient::DeallocMinor(ValueRoom* value) {
  RunEnd(callbacks_.dealloc_minor, callbacks_.forget_minor, value);
}

void CallbackClient::DeallocMajor(ValueRoom* value) {
  RunEnd(callbacks_.dealloc_major, callbacks_.forget_major, value);
}

void CallbackClient::SurviveMinor(const Allocation& allocation, ValueRoom* value) {
  RunSurvive(callbacks_.survive_minor, callbacks_.forget_minor, allocation, true, value);
}

void CallbackClient::SurviveMajor(const Allocation& allocation, ValueRoom* value) {
  RunSurvive(callbacks_.survive_major, callbacks_.forget_major, allocation, false, value);
}

void CallbackClient::DestroyMinor(ValueRoom* value) {
  RunEnd(callbacks_.forget_minor, nullptr, value);
}

void CallbackClient::DestroyMajor(ValueRoom* value) {
  RunEnd(callbacks_.forget_major, nullptr, value);
}

void CallbackClient::Describe(ValueRoom* value, BlockNote* note) {
  if (callbacks_.describe == nullptr) return;
  Guard([&] {
    char text[BlockNote::kMaxBytes];
    const size_t bytes = callbacks_.describe(callbacks_.user, ValueIn(value), text, sizeof(text));
    note->Append({text, bytes < sizeof(text) ? bytes : sizeof(text)});
    return true;
  });
}

uint64_t CallbackClient::exceptions() const {
  const uint64_t own = SessionClient::exceptions();
  return callbacks_.failures == nullptr ? own : own + callbacks_.failures(callbacks_.user);
}

allomon_callbacks FollowAll() {
  allomon_callbacks callbacks = ALLOMON_CALLBACKS_DEFAULTS;
  const auto follow = [](void*, const allomon_allocation*, allomon_value*) { return 1; };
  callbacks.alloc_minor = follow;
  callbacks.alloc_major = follow;
  callbacks.promote = [](void*, allomon_value*) { return 1; };
  return callbacks;
}

}  // namespace allomon::c
