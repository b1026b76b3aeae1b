#include "tracker/core/stack_table.h"

#include <cstring>

namespace allomon::internal {

StackTable stack_table;

namespace {

constexpr uint32_t kFirstBuckets = 2048;
// From this number on they take pages of 2 MiB.
constexpr uint32_t kFirstDenseBuckets = (2 << 20) / sizeof(uint64_t);

// Return addresses differ in few low bits: the multiplication spreads them upwards, the rotation
// brings them down again.  Both are one to one, so no bit of a frame is lost.
uint64_t HashStep(uint64_t hash, uintptr_t frame) {
  hash = (hash ^ frame) * 0x9fb21c651e98df25;
  return hash << 27 | hash >> 37;
}

// Four sums side by side, since each step waits for the one before: 128 frames take 50 ns and not
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

uint64_t BucketWord(uint32_t hash, uint32_t ref) { return uint64_t{hash} << 32 | ref; }

// What a stack leaves that was renamed: a probe goes on, and the next new stack takes the place.
constexpr uint64_t kLeft = uint64_t{1} << 32;

bool IsLeft(uint64_t word) { return word != 0 && static_cast<uint32_t>(word) == 0; }

}  // namespace

const StackTable::Record* StackTable::RecordAt(BumpArena::Ref ref) const {
  return static_cast<const Record*>(arena_.At(ref));
}

static StackView ViewOf(const uintptr_t* frames, uint32_t depth_and_cut) {
  return {frames, depth_and_cut / 2, (depth_and_cut & 1) != 0};
}

InternedStack StackTable::InternAndView(const uintptr_t* frames, uint32_t depth, bool cut) {
  if (depth == 0 && !cut) return {};
  const uint32_t depth_and_cut = depth * 2 + (cut ? 1 : 0);
  const uint32_t hash = HashStack(frames, depth_and_cut);
  // Acquire pairs with the release in EnsureRoomLocked.
  const Buckets* buckets = buckets_.load(std::memory_order_acquire);
  const Record* record = buckets == nullptr ? nullptr : Find(buckets, hash, frames, depth_and_cut);
  if (record == nullptr) record = InsertSlow(hash, frames, depth_and_cut);
  if (record == nullptr) return {};
  return {record->id, ViewOf(record->frames, depth_and_cut)};
}

const StackTable::Record* StackTable::Find(const Buckets* buckets, uint32_t hash,
                                           const uintptr_t* frames, uint32_t depth_and_cut) const {
  for (uint32_t i = hash;; ++i) {
    // Acquire pairs with the release in PutLocked: the record is filled before its word can be
    // seen.
    const uint64_t word = buckets->words[i & buckets->mask].load(std::memory_order_acquire);
    if (word == 0) return nullptr;
    if (static_cast<uint32_t>(word >> 32) != hash || IsLeft(word)) continue;
    const Record* record = RecordAt(static_cast<uint32_t>(word));
    if (record->depth_and_cut == depth_and_cut &&
        SameFrames(record->frames, frames, depth_and_cut / 2)) {
      return record;
    }
  }
}

const StackTable::Record* StackTable::InsertSlow(uint32_t hash, const uintptr_t* frames,
                                                 uint32_t depth_and_cut) {
  const TickSafeLockHolder hold(lock_);
  if (!EnsureRoomLocked()) return nullptr;
  // Another thread may have inserted the same stack since the look-up without the lock.
  const Buckets* buckets = buckets_.load(std::memory_order_relaxed);
  const Record* record = Find(buckets, hash, frames, depth_and_cut);
  return record != nullptr ? record : AddRecordLocked(hash, frames, depth_and_cut);
}

const StackTable::Record* StackTable::AddRecordLocked(uint32_t hash, const uintptr_t* frames,
                                                      uint32_t depth_and_cut) {
  ALLOMON_DCHECK("inv.lock.held", lock_.IsHeldForCheck());
  const StackId id = next_id_.load(std::memory_order_relaxed);
  // The reservation first: it can be made again, and a piece of the arena cannot be given back.
  if (!refs_.Reserve(id)) return nullptr;
  const size_t frame_bytes = depth_and_cut / 2 * sizeof(uintptr_t);
  const BumpArena::Ref ref = arena_.Allocate(offsetof(Record, frames) + frame_bytes);
  if (ref == 0) return nullptr;
  Record* record = static_cast<Record*>(arena_.At(ref));
  record->id = id;
  record->depth_and_cut = depth_and_cut;
  memcpy(record->frames, frames, frame_bytes);
  refs_.At(id).store(ref, std::memory_order_release);
  next_id_.store(id + 1, std::memory_order_release);
  if (PutLocked(buckets_.load(std::memory_order_relaxed), BucketWord(hash, ref))) ++used_buckets_;
  return record;
}

bool StackTable::PutLocked(Buckets* buckets, uint64_t word) {
  for (uint32_t i = static_cast<uint32_t>(word >> 32);; ++i) {
    std::atomic<uint64_t>& place = buckets->words[i & buckets->mask];
    const uint64_t old = place.load(std::memory_order_relaxed);
    if (old != 0 && !IsLeft(old)) continue;
    place.store(word, std::memory_order_release);
    return old == 0;
  }
}

// A library that comes and goes at one address has the same stacks each time.  Were the old ones
// left in their bucket, a look-up would pass all of them.
void StackTable::LeaveBucketLocked(const Record& record, BumpArena::Ref ref) {
  Buckets* buckets = buckets_.load(std::memory_order_relaxed);
  const uint32_t hash = HashStack(record.frames, record.depth_and_cut);
  for (uint32_t i = hash;; ++i) {
    std::atomic<uint64_t>& place = buckets->words[i & buckets->mask];
    const uint64_t word = place.load(std::memory_order_relaxed);
    if (word == 0) return;  // left before: renamed for another module
    if (word != BucketWord(hash, ref)) continue;
    place.store(kLeft, std::memory_order_release);
    return;
  }
}

StackTable::Buckets* StackTable::MapBuckets(uint32_t count) {
  const size_t size_bytes = offsetof(Buckets, words) + count * sizeof(uint64_t);
  Buckets* buckets = static_cast<Buckets*>(
      count < kFirstDenseBuckets ? OwnMemory::Map(size_bytes) : OwnMemory::MapDense(size_bytes));
  if (buckets != nullptr) buckets->mask = count - 1;
  return buckets;
}

// At most half of the buckets are ever used, so every probe ends.  Readers of an old array stay
// correct (they miss, and retry under the lock), so it is never unmapped: all old arrays together
// are smaller than the newest.
bool StackTable::EnsureRoomLocked() {
  ALLOMON_DCHECK("inv.lock.held", lock_.IsHeldForCheck());
  Buckets* old = buckets_.load(std::memory_order_relaxed);
  if (old != nullptr && (used_buckets_ + 1) * 2 <= old->mask) return true;
  Buckets* grown = MapBuckets(old == nullptr ? kFirstBuckets : (old->mask + 1) * 2);
  if (grown == nullptr) return false;
  used_buckets_ = 0;
  for (uint32_t i = 0; old != nullptr && i <= old->mask; ++i) {
    const uint64_t word = old->words[i].load(std::memory_order_relaxed);
    if (word != 0 && !IsLeft(word) && PutLocked(grown, word)) ++used_buckets_;
  }
  buckets_.store(grown, std::memory_order_release);
  return true;
}

void StackTable::RenameFramesOf(StackId id, uintptr_t begin, uintptr_t end, uintptr_t by) {
  const BumpArena::Ref ref = refs_.At(id).load(std::memory_order_relaxed);
  Record* record = static_cast<Record*>(arena_.At(ref));
  bool renamed = false;
  for (uint32_t i = 0; i < record->depth_and_cut / 2; ++i) {
    uintptr_t* frame = &record->frames[i];
    if (*frame - begin > end - begin) continue;
    if (!renamed) LeaveBucketLocked(*record, ref);
    renamed = true;
    __atomic_store_n(frame, *frame + by, __ATOMIC_RELAXED);
  }
}

// The lock keeps two renamings apart.  The same frames, of new code, are another stack.
void StackTable::RenameFrames(StackId first, StackId end_id, uintptr_t begin, uintptr_t end,
                              uintptr_t by) {
  const TickSafeLockHolder hold(lock_);
  const StackId last = next_id_.load(std::memory_order_relaxed);
  for (StackId id = first; id < end_id && id < last; ++id) RenameFramesOf(id, begin, end, by);
}

StackView StackTable::View(StackId id) const {
  std::atomic<uint32_t>* ref = id == 0 ? nullptr : refs_.Find(id);
  const uint32_t at = ref == nullptr ? 0 : ref->load(std::memory_order_acquire);
  if (at == 0) return {};
  const Record* record = RecordAt(at);
  return ViewOf(record->frames, record->depth_and_cut);
}

}  // namespace allomon::internal
