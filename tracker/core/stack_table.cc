#include "tracker/core/stack_table.h"

#include <cstring>

#include "tracker/base/large_object.h"

namespace allomon::internal {

ALLOMON_LARGE_DATA StackTable stack_table;

namespace {

// Return addresses differ in few low bits: the multiplication spreads them upwards, the rotation
// brings them down again.  Both are one to one, so no bit of a frame is lost.
uint64_t HashStep(uint64_t hash, uintptr_t frame) {
  hash = (hash ^ frame) * 0x9fb21c651e98df25;
  return hash << 27 | hash >> 37;
}

// Four independent sums, since each step waits for the one before: 128 frames take 50 ns instead of
// 200.
uint32_t HashStack(const uintptr_t* frames, uint32_t depth_and_cut) {
  uint64_t lanes[4] = {depth_and_cut, 1, 2, 3};
  const uint32_t depth = depth_and_cut / 2;
  uint32_t i = 0;
  for (; i + 4 <= depth; i += 4) {
    for (uint32_t lane = 0; lane < 4; ++lane) {
      lanes[lane] = HashStep(lanes[lane], frames[i + lane]);
    }
  }
  for (; i < depth; ++i) lanes[0] = HashStep(lanes[0], frames[i]);
  uint64_t hash = 0;
  for (const uint64_t lane : lanes) hash = HashStep(hash, lane);
  return static_cast<uint32_t>(hash ^ hash >> 32);
}

}  // namespace

StackKey::StackKey(const uintptr_t* stack, uint32_t depth, bool cut)
    : frames(stack),
      depth_and_cut(depth * 2 + (cut ? 1 : 0)),
      hash(HashStack(stack, depth_and_cut)) {}

static StackView ViewOf(const uintptr_t* frames, uint32_t depth_and_cut) {
  return {frames, depth_and_cut / 2, (depth_and_cut & 1) != 0};
}

InternedStack StackTable::Find(const StackKey& key) const {
  const Record* const record = FindRecord(key);
  if (record == nullptr) return {};
  return {record->id, ViewOf(record->frames, key.depth_and_cut)};
}

InternedStack StackTable::Insert(const StackKey& key) {
  if (key.depth_and_cut == 0) return {};
  const TickSafeLockHolder hold(lock_);
  // Another thread may have inserted it since the look-up without the lock.
  const Record* record = FindRecord(key);
  if (record == nullptr) record = AddRecordLocked(key);
  if (record == nullptr) return {};
  return {record->id, ViewOf(record->frames, key.depth_and_cut)};
}

const StackTable::Record* StackTable::FindRecord(const StackKey& key) const {
  const Links records = links();
  const BumpArena::Ref ref = index_.Find(key.hash, records, [&](BumpArena::Ref at) {
    const Record* const record = records.At(at);
    return record->hash == key.hash && record->depth_and_cut == key.depth_and_cut &&
           SameFrames(record->frames, key.frames, key.depth_and_cut / 2);
  });
  return ref == 0 ? nullptr : records.At(ref);
}

const StackTable::Record* StackTable::AddRecordLocked(const StackKey& key) {
  ALLOMON_DCHECK("inv.lock.held", lock_.IsHeldForCheck());
  const StackId id = next_id_.load(std::memory_order_relaxed);
  // Reserves first: a reservation can be repeated, but a piece of the arena cannot be returned.
  if (!refs_.Reserve(id) || !index_.Reserve()) return nullptr;
  const size_t frame_bytes = key.depth_and_cut / 2 * sizeof(uintptr_t);
  const BumpArena::Ref ref = arena_.Allocate(offsetof(Record, frames) + frame_bytes);
  if (ref == 0) return nullptr;
  Record* record = links().At(ref);
  record->id = id;
  record->depth_and_cut = key.depth_and_cut;
  record->hash = key.hash;
  memcpy(record->frames, key.frames, frame_bytes);
  // Pairs with the acquire in View(), and the next one with that in size(): the record is whole.
  refs_.At(id).store(ref, std::memory_order_release);
  next_id_.store(id + 1, std::memory_order_release);
  index_.Insert(ref, links());
  return record;
}

void StackTable::RenameFramesOf(StackId id, uintptr_t begin, uintptr_t end, uintptr_t by) {
  const BumpArena::Ref ref = refs_.At(id).load(std::memory_order_relaxed);
  Record* record = links().At(ref);
  bool renamed = false;
  for (uint32_t i = 0; i < record->depth_and_cut / 2; ++i) {
    uintptr_t* frame = &record->frames[i];
    if (*frame - begin > end - begin) continue;
    // A library that is loaded repeatedly at one address has the same stacks each time.  If the old
    // stacks stayed in their chain, a look-up would pass all of them.
    if (!renamed) index_.Remove(ref, links());
    renamed = true;
    __atomic_store_n(frame, *frame + by, __ATOMIC_RELAXED);
  }
}

// The lock separates two renamings.  The same frames in new code are another stack.
void StackTable::RenameFrames(StackId first, StackId end_id, uintptr_t begin, uintptr_t end,
                              uintptr_t by) {
  const TickSafeLockHolder hold(lock_);
  const StackId last = next_id_.load(std::memory_order_relaxed);
  for (StackId id = first; id < end_id && id < last; ++id) RenameFramesOf(id, begin, end, by);
}

StackView StackTable::View(StackId id) const {
  std::atomic<uint32_t>* ref = id == 0 ? nullptr : refs_.Find(id);
  // The id may come from an entry in its next use, without an order of its own.
  const uint32_t at = ref == nullptr ? 0 : ref->load(std::memory_order_acquire);
  if (at == 0) return {};
  const Record* record = links().At(at);
  return ViewOf(record->frames, record->depth_and_cut);
}

}  // namespace allomon::internal
