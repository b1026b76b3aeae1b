// The recording of one process: all its records, and what an allocation, a promotion and a death
// change in them.
//
// Nothing here calls malloc or fails.  AddBlock(), PromoteBlock() and RemoveBlock() may be called
// by several threads at once.  They take no lock if stack, labels, sizes, ages and thread are
// known.
#ifndef ALLOMON_TRACKER_RECORDING_PROCESS_STORE_H_
#define ALLOMON_TRACKER_RECORDING_PROCESS_STORE_H_

#include <cstdint>

#include "tracker/allocation.h"
#include "tracker/recording/call_tree.h"
#include "tracker/recording/class_weights.h"
#include "tracker/recording/lifetimes.h"
#include "tracker/recording/live_blocks.h"
#include "tracker/recording/missing.h"
#include "tracker/recording/modules.h"
#include "tracker/recording/peak.h"
#include "tracker/recording/records.h"
#include "tracker/recording/resident_memory.h"
#include "tracker/recording/rows.h"
#include "tracker/recording/scopes.h"
#include "tracker/recording/segment_file.h"
#include "tracker/recording/text.h"
#include "tracker/recording/threads.h"
#include "tracker/recording/timeline.h"

namespace allomon::recording {

// Facts about the process that the recording stores.
struct ProcessFacts {
  uint32_t pid = 0;
  uint32_t parent_pid = 0;
  bool is_forked = false;
  uint64_t start_realtime_nanos = 0;
  uint64_t start_monotonic_nanos = 0;
  uint64_t seed = 0;
  double rate = 0;
  uint32_t callstack_size = 0;
  bool follows_children = true;  // records its forked children
  ThreadName name = {};          // default name of its threads
  uint32_t program_bytes = 0;
  uint32_t command_bytes = 0;
  uint32_t allocator_bytes = 0;
  char program[kMostTextBytes] = {};
  char command[kMostTextBytes] = {};
  char allocator[kMostTextBytes] = {};  // two texts, each ended by a zero
};

// A sampled block that is born.
struct Birth {
  // The rest is filled in by the caller.
  explicit Birth(const Allocation& block) : allocation(block) {}

  const Allocation& allocation;  // as the tracker reports it
  uint64_t object_bytes;         // a managed block's with its header
  RowKey key;
  HalfUnits units;
  uint32_t thread;
  uint32_t scope;  // number of the innermost scope with an end, or 0
  ThreadSample sample;
};

// A scope with an end, in which a block is about to be added.
struct ScopeFacts {
  const void* owner;
  LabelSet labels;  // in force in it
  uint32_t label;   // the place of its own label among them
  uint32_t outer;   // number of the next one outside of it, or 0
  uint32_t thread;
  uint64_t nanos;
};

// The fields stored in the table entry of a block.
struct BlockName {
  uint32_t serial;  // tells a block of this process from one that its parent allocated
  uint32_t number;
  uint32_t row;
  uint32_t thread;
};

// The death or promotion of a block.
struct Death {
  EventKind kind;
  uint32_t thread;        // number of the thread that ends it; 0: one without samples
  bool has_age;           // in bytes
  uint64_t thread_bytes;  // allocated by the block's thread so far
  uint64_t nanos;
  LiveBlocks::Cache* cache;  // the ending thread's cache, or nullptr
};

class ProcessStore {
 public:
  explicit ProcessStore(const ClassWeights* weights) : weights_(weights) {}

  // Returns false if there is no room for the process.  Callers hold the lock.
  bool Begin(SegmentFile* file, const ProcessFacts& facts);
  // Forgets the records, which stay in the file.
  void Clear();
  bool is_begun() const { return segment_ != 0; }

  uint32_t EnterThreadLocked(uint32_t tid) ALLOMON_REQUIRES(recorder_lock) {
    return threads_.Enter(tid, &missing_);
  }
  void EndThreadLocked(uint32_t thread, uint64_t exact_words, LiveBlocks::Cache* cache)
      ALLOMON_REQUIRES(recorder_lock) {
    ALLOMON_DCHECK_NE("inv.recording.number", thread, 0u);
    threads_.Leave(thread, exact_words);
    live_.Drain(cache);
  }
  // Returns the number of a new scope; 0 if there is no room, which is counted.
  uint32_t EnterScope(const ScopeFacts& facts);
  void EndScopeLocked(uint32_t number, const void* owner, uint64_t nanos)
      ALLOMON_REQUIRES(recorder_lock) {
    scopes_.End(number, owner, nanos);
  }
  void EndLabel(const LabelSet& label, uint64_t nanos);
  // Moves addresses of code that is unloaded: see ModuleTable and CallTree.
  void Unload(uintptr_t begin, uintptr_t end, uint64_t by);

  // Returns false if there is no room; the block is then counted as missing.
  bool AddBlock(const Birth& birth, LiveBlocks::Cache* cache, BlockName* name);
  void PromoteBlock(const BlockName& name, const Death& promotion);
  void RemoveBlock(const BlockName& name, const Death& death);

  ThreadTable& threads() { return threads_; }
  Missing& missing() { return missing_; }
  const PeakState& peak() const { return peak_; }
  uint64_t allocated_bytes() const { return allocated_whole_.load(std::memory_order_relaxed); }
  uint64_t BytesOf(int64_t units) const;
  double PeakVariance() const;  // of the peak's bytes
  // Number of all sampled blocks.  Callers hold the lock.
  uint64_t samples() const { return threads_.samples(); }

  void SetEnded() { process_[&ProcessRecord::ended].Publish(1); }
  // The resident memory of the process, as a watcher has read it.
  void SetResident(uint64_t nanos, uint64_t bytes) {
    memory_.Set(nanos, bytes, BytesOf(peak_.Live()), process_);
  }
  void SetLost() { process_[&ProcessRecord::lost].Store(1); }
  // Number of the process's own segment in the file.
  uint32_t segment() const { return segment_; }

 private:
  void Write(const ProcessFacts& facts);
  // Rows, numbers and events that are known are found without a call.
  uint32_t RowFor(const Birth& birth) {
    const uint32_t known = rows_.Find(birth.key);
    return __builtin_expect(known != 0, 1) ? known : AddRowSlow(birth);
  }
  uint32_t AddRowSlow(const Birth& birth);
  uint32_t AddRowLocked(const Birth& birth, uint32_t node) ALLOMON_REQUIRES(recorder_lock);
  uint32_t NumberFor(LiveBlocks::Cache* cache) {
    const uint32_t known = live_.Take(cache);
    return __builtin_expect(known != 0, 1) ? known : MakeNumberSlow();
  }
  uint32_t MakeNumberSlow();
  uint32_t EventFor(const LifetimeTable::Key& key) {
    const uint32_t known = lifetimes_.Find(key);
    return __builtin_expect(known != 0, 1) ? known : AddEventSlow(key);
  }
  uint32_t AddEventSlow(const LifetimeTable::Key& key);
  bool Drop(uint64_t bytes);
  void NoteTime(uint64_t nanos) {
    if (__builtin_expect(timeline_.IsOver(nanos), 0)) CloseIntervalSlow(nanos);
  }
  void CloseIntervalSlow(uint64_t nanos);
  void AddEnd(const BlockName& name, const OwnBlock& block, uint64_t object_bytes,
              const Death& death);

  const ClassWeights* const weights_;
  SegmentFile* file_ = nullptr;
  SegmentSource source_;
  Written<ProcessRecord> process_;
  uint32_t segment_ = 0;
  TextStore texts_;
  ModuleTable modules_;
  CallTree tree_;
  LabelTexts label_texts_;
  RowTable rows_;
  LifetimeTable lifetimes_;
  LiveBlocks live_;
  ScopeTable scopes_;
  ThreadTable threads_;
  Timeline timeline_;
  Missing missing_;
  ResidentMemory memory_;
  PeakState peak_;
  // Estimated bytes of all allocations.
  std::atomic<uint64_t> allocated_whole_{0};
  std::atomic<uint64_t> allocated_fraction_{0};  // of 2^-32
};

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_RECORDING_PROCESS_STORE_H_
