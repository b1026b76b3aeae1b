#include "tracker/preloaded.h"

#include <cstring>

#include "allomon/custom_memory.h"
#include "tracker/base/words.h"
#include "tracker/core/control.h"

namespace allomon::internal::preloaded {
namespace {

LabelSet FromC(allomon_labels labels) {
  size_t bytes = 0;
  const char* const text = allomon_labels_text(labels, &bytes);
  return {labels, {text, bytes}};
}

Allocation FromC(const allomon_allocation& told) {
  Allocation allocation;
  allocation.n_samples = told.n_samples;
  allocation.size_bytes = told.size_bytes;
  allocation.size_words = WordsOf(told.size_bytes);
  allocation.source = static_cast<AllocationSource>(told.source);
  allocation.rate = told.rate;
  allocation.callstack = Callstack(told.callstack_id, told.frames, told.n_frames, told.is_cut != 0);
  allocation.labels = FromC(told.labels);
  return allocation;
}

SessionClient& ClientOf(void* user) { return *static_cast<SessionClient*>(user); }
ValueRoom* RoomOf(allomon_value* value) { return reinterpret_cast<ValueRoom*>(value); }

using Alloc = bool (SessionClient::*)(const Allocation&, ValueRoom*);
using Survive = void (SessionClient::*)(const Allocation&, ValueRoom*);
using End = void (SessionClient::*)(ValueRoom*);

// Clients throw no exception, so none enters the library.
template <Alloc kAlloc>
int32_t CallAlloc(void* user, const allomon_allocation* told, allomon_value* value) {
  return (ClientOf(user).*kAlloc)(FromC(*told), RoomOf(value));
}

template <Survive kSurvive>
void CallSurvive(void* user, const allomon_allocation* told, allomon_value* value) {
  (ClientOf(user).*kSurvive)(FromC(*told), RoomOf(value));
}

template <End kEnd>
void CallEnd(void* user, allomon_value* value) {
  (ClientOf(user).*kEnd)(RoomOf(value));
}

int32_t CallPromote(void* user, allomon_value* value) {
  return ClientOf(user).Promote(RoomOf(value));
}

size_t CallDescribe(void* user, const allomon_value* value, char* text, size_t room_bytes) {
  BlockNote note;
  ClientOf(user).Describe(RoomOf(const_cast<allomon_value*>(value)), &note);
  const size_t bytes = note.length_bytes < room_bytes ? note.length_bytes : room_bytes;
  memcpy(text, note.text, bytes);
  return bytes;
}

uint64_t CountFailures(void* user) { return ClientOf(user).exceptions(); }
void Destroy(void* user) { delete &ClientOf(user); }

allomon_callbacks CallbacksOf(SessionClient* client) {
  allomon_callbacks callbacks = ALLOMON_CALLBACKS_DEFAULTS;
  callbacks.user = client;
  callbacks.alloc_minor = CallAlloc<&SessionClient::AllocMinor>;
  callbacks.alloc_major = CallAlloc<&SessionClient::AllocMajor>;
  callbacks.promote = CallPromote;
  callbacks.dealloc_minor = CallEnd<&SessionClient::DeallocMinor>;
  callbacks.dealloc_major = CallEnd<&SessionClient::DeallocMajor>;
  callbacks.survive_minor = CallSurvive<&SessionClient::SurviveMinor>;
  callbacks.survive_major = CallSurvive<&SessionClient::SurviveMajor>;
  callbacks.forget_minor = CallEnd<&SessionClient::DestroyMinor>;
  callbacks.forget_major = CallEnd<&SessionClient::DestroyMajor>;
  callbacks.describe = CallDescribe;
  callbacks.failures = CountFailures;
  callbacks.destroy = Destroy;
  return callbacks;
}

allomon_tracker_options OptionsOf(const Session::Config& config) {
  allomon_tracker_options options = ALLOMON_TRACKER_DEFAULTS;
  options.rate = config.rate;
  options.seed = config.seed;
  options.has_seed = 1;
  options.callstack_size = config.callstack_size;
  options.is_concurrent = config.concurrent;
  return options;
}

uint32_t IdThere(uint32_t id) { return id & ~kIdBit; }

template <typename Live, typename Told>
Live SumsOf(const Told& told) {
  Live live;
  live.sampled_blocks = told.sampled_blocks;
  live.estimate.blocks = {told.blocks.value, told.blocks.variance};
  live.estimate.bytes = {told.bytes.value, told.bytes.variance};
  return live;
}

int32_t AddStack(void* user, const allomon_live_stack* told) {
  auto stack = SumsOf<LiveStack>(*told);
  stack.callstack = Callstack(told->callstack_id, told->frames, told->n_frames, told->is_cut != 0);
  static_cast<std::vector<LiveStack>*>(user)->push_back(stack);
  return 0;
}

int32_t AddLabels(void* user, const allomon_live_labels* told) {
  auto labels = SumsOf<LiveLabels>(*told);
  labels.labels = FromC(told->labels);
  static_cast<std::vector<LiveLabels>*>(user)->push_back(labels);
  return 0;
}

}  // namespace

// A program with its own C interface would find that one instead.
bool IsUsed() { return !HeapTakesBlocks() && !HasCInterface() && allomon_ready() == ALLOMON_OK; }

allomon_status Start(const Session::Config& config, std::unique_ptr<SessionClient>& client,
                     uint32_t* id) {
  const allomon_callbacks callbacks = CallbacksOf(client.get());
  const allomon_tracker_options options = OptionsOf(config);
  const allomon_status status = allomon_tracker_start(&options, &callbacks, id);
  if (status != ALLOMON_OK) return status;
  client.release();
  *id |= kIdBit;
  return ALLOMON_OK;
}

allomon_status Stop(uint32_t id, int32_t mode) { return allomon_tracker_stop(IdThere(id), mode); }
allomon_status Discard(uint32_t id) { return allomon_tracker_discard(IdThere(id)); }
allomon_status Drain(uint32_t id) { return allomon_tracker_drain(IdThere(id)); }

allomon_status ReadCounts(uint32_t id, allomon_tracker_counts* counts) {
  return allomon_tracker_statistics(IdThere(id), counts);
}

std::vector<LiveStack> Snapshot(uint32_t id) {
  std::vector<LiveStack> stacks;
  allomon_tracker_snapshot(IdThere(id), AddStack, &stacks);
  return stacks;
}

std::vector<LiveLabels> SnapshotByLabels(uint32_t id) {
  std::vector<LiveLabels> labels;
  allomon_tracker_snapshot_by_labels(IdThere(id), AddLabels, &labels);
  return labels;
}

std::vector<LiveTypeStack> SnapshotByTypes(uint32_t id) {
  std::vector<LiveTypeStack> types;
  for (const LiveStack& stack : Snapshot(id)) {
    types.push_back({nullptr, stack.callstack, stack.sampled_blocks, stack.estimate});
  }
  return types;
}

bool IsSampling() { return allomon_tracker_sampling() != 0; }

uint32_t ReportCustom(uint64_t size_bytes) { return allomon_custom_memory_report(size_bytes); }
void ReleaseCustom(uint32_t handle) { allomon_custom_memory_release(handle); }

}  // namespace allomon::internal::preloaded
