#include "tracker/callstack/replay_thread.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>

#include "tracker/base/large_object.h"
#include "tracker/base/own_mappings.h"
#include "tracker/base/tagged_free_list.h"

namespace allomon::internal {

__thread ReplayThread replay_thread __attribute__((tls_model("initial-exec")));
std::atomic<uint64_t> replay_generation{1};

namespace {

constexpr size_t kBlockBytes = 16 << 10;
static_assert(sizeof(ReplayBlock) <= kBlockBytes);

// Threads beyond this number walk without a record.
constexpr uint32_t kMaxBlocks = 4096;

ALLOMON_LARGE_ZEROS ReplayBlock* blocks[kMaxBlocks];
std::atomic<uint32_t> block_count{0};

// A block is named by its index + 1.
struct BlockLinks {
  static constexpr uint32_t kNone = 0;

  uint32_t Next(uint32_t block) const {
    return blocks[block - 1]->next_free.load(std::memory_order_relaxed);
  }
  void SetNext(uint32_t block, uint32_t next) const {
    blocks[block - 1]->next_free.store(next, std::memory_order_relaxed);
  }
};

TaggedFreeList<BlockLinks> free_blocks;

ReplayBlock* PopFree() {
  const uint32_t block = free_blocks.Pop(BlockLinks());
  return block == BlockLinks::kNone ? nullptr : blocks[block - 1];
}

void PushFree(ReplayBlock* block) { free_blocks.Push(BlockLinks(), block->index + 1); }

// Zero-filled pages, which stay mapped.
ReplayBlock* MapBlock() {
  const uint32_t index = block_count.fetch_add(1, std::memory_order_relaxed);
  if (index >= kMaxBlocks) {
    block_count.fetch_sub(1, std::memory_order_relaxed);
    return nullptr;
  }
  const int saved_errno = errno;
  void* memory =
      mmap(nullptr, kBlockBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  errno = saved_errno;
  if (memory == MAP_FAILED) return nullptr;
  NoteMapping(memory, kBlockBytes, MappingUse::kTables);
  auto* block = static_cast<ReplayBlock*>(memory);
  block->index = index;
  // Serials of different blocks differ, for longer than a program can count.
  block->serial = (uint64_t{index} + 1) << 48;
  blocks[index] = block;
  return block;
}

// ---- The end of a thread

pthread_key_t exit_key;
enum KeyState : int { kNotMade, kBeingMade, kMade, kUnusable };
std::atomic<int> key_state{kNotMade};

// Key destructors that run after this one may capture, and then have no record.
void OnThreadExit(void* argument) {
  auto* const block = static_cast<ReplayBlock*>(argument);
  ALLOMON_DCHECK_EQ("inv.replay.own", block->owner, &replay_thread);
  replay_thread.has_none = true;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  replay_thread.block = nullptr;
  block->owner = nullptr;
  PushFree(block);
}

// glibc keeps the values of the first 32 keys in the thread itself, and those of the others in
// memory from calloc, which must not be called here.
constexpr pthread_key_t kKeysWithoutMalloc = 32;

KeyState MakeExitKey() {
  if (pthread_key_create(&exit_key, OnThreadExit) != 0) return kUnusable;
  if (exit_key < kKeysWithoutMalloc) return kMade;
  pthread_key_delete(exit_key);
  return kUnusable;
}

KeyState ExitKeyState() {
  // Acquire: pairs with the release below, for exit_key.
  int state = key_state.load(std::memory_order_acquire);
  if (state == kNotMade &&
      key_state.compare_exchange_strong(state, kBeingMade, std::memory_order_relaxed)) {
    state = MakeExitKey();
    key_state.store(state, std::memory_order_release);
  }
  return static_cast<KeyState>(state);
}

}  // namespace

ReplayBlock* OpenReplaySlow() {
  ReplayThread& thread = replay_thread;
  if (thread.has_none) return nullptr;
  if (thread.walked < kWalkedCaptures) {
    ++thread.walked;
    return nullptr;
  }
  const KeyState key = ExitKeyState();
  // Another thread, or the code that this signal handler interrupted, is making the key.
  if (key == kBeingMade) return nullptr;
  ReplayBlock* block = nullptr;
  if (key == kMade) {
    block = PopFree();
    if (block == nullptr) block = MapBlock();
  }
  if (block == nullptr) {
    thread.has_none = true;
    return nullptr;
  }
  ALLOMON_DCHECK("inv.replay.own", block->owner == nullptr);
  block->owner = &thread;
  block->record.Clear();
  block->generation = 0;  // replay_generation is never 0
  if (pthread_setspecific(exit_key, block) != 0) {
    block->owner = nullptr;
    PushFree(block);
    thread.has_none = true;
    return nullptr;
  }
  thread.block = block;
  return block;
}

uint32_t ReplayBlocksForTesting() { return block_count.load(std::memory_order_relaxed); }

}  // namespace allomon::internal
