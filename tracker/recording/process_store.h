// The recording of one process: all its records, and what an allocation, a promotion and a death
// change in them.
//
// Guarded by the recorder's lock.  Nothing here allocates, fails or makes a system call, except
// that a named file grows.
#ifndef ALLOMON_TRACKER_RECORDING_PROCESS_STORE_H_
#define ALLOMON_TRACKER_RECORDING_PROCESS_STORE_H_

#include <cstdint>

#include "tracker/allocation.h"
#include "tracker/recording/call_tree.h"
#include "tracker/recording/lifetimes.h"
#include "tracker/recording/label_texts.h"
#include "tracker/recording/live_blocks.h"
#include "tracker/recording/modules.h"
#include "tracker/recording/records.h"
#include "tracker/recording/rows.h"
#include "tracker/recording/segment_file.h"
#include "tracker/recording/text.h"
#include "tracker/recording/threads.h"
#include "tracker/recording/timeline.h"

namespace allomon::recording {

// What a recording says of its process.
struct ProcessFacts {
  uint32_t pid = 0;
  uint32_t parent_pid = 0;
  bool is_forked = false;
  uint64_t start_realtime_nanos = 0;
  uint64_t start_monotonic_nanos = 0;
  uint64_t seed = 0;
  double rate = 0;
  uint32_t callstack_size = 0;
  bool follows_children = true;  // that it forks
  ThreadName name = {};  // of its threads, until they get others
  uint32_t program_bytes = 0;
  uint32_t command_bytes = 0;
  char program[kMostTextBytes] = {};
  char command[kMostTextBytes] = {};
};

// A sampled block that is born.
struct Birth {
  Callstack stack;
  LabelSet labels;
  uint64_t size_bytes;  // as requested
  uint8_t source;
  bool young;
  uint32_t thread;
  uint64_t thread_bytes;  // allocated by the thread until now
  ThreadSample sample;
};

// How it ends.
struct Death {
  EventKind kind;
  uint32_t thread;        // that ends it; 0: one without samples
  uint64_t thread_bytes;  // allocated by the block's thread until now
  uint64_t nanos;
};

class ProcessStore {
 public:
  // False if there is no room for the process.
  bool Begin(SegmentFile* file, const ProcessFacts& facts);
  // Forgets the records, which stay in the file.
  void Clear();
  bool is_begun() const { return process_ != nullptr; }

  uint32_t EnterThread(uint32_t tid) { return threads_.Enter(tid); }
  void EndThread(uint32_t thread, uint64_t exact_words) { threads_.End(thread, exact_words); }

  // The block's number, for the calls below; 0 if there is no room, which is counted.
  uint32_t AddBlock(const Birth& birth);
  LiveBlock BlockAt(uint32_t block) const { return live_.At(block); }
  const Thread& ThreadAt(uint32_t thread) const { return threads_.At(thread); }
  const Row& RowOf(const LiveBlock& block) const { return rows_.At(block.row); }
  // `sum` is what was added for it.
  void PromoteBlock(uint32_t block, const Sum& sum, const Death& promotion);
  void RemoveBlock(uint32_t block, const Sum& sum, const Death& death);

  void CountDrop(uint64_t bytes);
  void SetEnded() { __atomic_store_n(&process_->ended, 1, __ATOMIC_RELEASE); }
  void SetLost() { process_->lost = 1; }
  // Addresses of code that goes: see ModuleTable and CallTree.
  void Unload(uintptr_t begin, uintptr_t end, uint64_t by);

  const ProcessRecord& process() const { return *process_; }
  // Number of the process's own segment in the file.
  uint32_t segment() const { return reinterpret_cast<const SegmentHeader*>(process_)[-1].process; }

 private:
  void Write(const ProcessFacts& facts);
  uint32_t RowFor(const Birth& birth);
  void NoteTime(uint64_t nanos);
  void NotePeak(uint64_t nanos);
  void AddEnd(const LiveBlock& block, const Sum& sum, const Death& death);
  // For invariants.  Whether `sum` is part of what is live of the block's row, its thread and the
  // process.
  bool Counts(const LiveBlock& block, const Sum& sum) const;
  bool HasReachedEpochOf(uint32_t row) const {
    return rows_.At(row).peak_epoch <= process_->peak_epoch;
  }
  // Whether somebody has truncated the file, which makes zeros of what is in it.
  bool IsTruncated() const { return !source_.file().IsWhole(); }

  SegmentSource source_;
  ProcessRecord* process_ = nullptr;
  TextStore texts_;
  ModuleTable modules_;
  CallTree tree_;
  LabelTexts label_texts_;
  RowTable rows_;
  LifetimeTable lifetimes_;
  LiveBlocks live_;
  ThreadTable threads_;
  Timeline timeline_;
};

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_RECORDING_PROCESS_STORE_H_
