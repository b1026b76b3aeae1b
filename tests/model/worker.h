// One thread of a random program.  It allocates, frees, collects, starts and stops, and does all of
// this inside callbacks, too.  After each step it checks that every tracker was told of the step as
// the contract requires.
#ifndef ALLOMON_TESTS_MODEL_WORKER_H_
#define ALLOMON_TESTS_MODEL_WORKER_H_

#include <deque>
#include <mutex>
#include <optional>
#include <random>
#include <vector>

#include "runtime/heap.h"
#include "tests/model/reference.h"
#include "tracker/custom_memory.h"

namespace allomon::model {

struct Node {
  uint64_t id;
  gc::Field<Node> next;
};

// Additional actions of a callback, each with this chance per thousand.
struct Mischief {
  int throws = 0;
  int exits_thread = 0;
  int allocates = 0;
  int collects = 0;
  int controls = 0;  // starts, stops, drains or discards
};

// The exception that a throwing callback throws.
struct Thrown {};

struct NativeBlock {
  void* memory;
  RecordPtr record;
};

// State that the threads of a program share.
struct World {
  World(int thread_count, Mischief callbacks) : threads(thread_count), mischief(callbacks) {}

  const int threads;  // the threads that run at the same time
  const Mischief mischief;
  Runs runs;
  gc::Heap* heap = nullptr;
  std::atomic<bool> stop{false};

  // The native blocks, and one managed object, that are passed from thread to thread.  The locks
  // are never held across an allocation, since the allocation may wait for the thread that wants
  // the lock.
  std::mutex pool_mutex;
  std::vector<NativeBlock> pool;
  std::mutex mailbox_mutex;
  std::unique_ptr<gc::Global<Node>> mailbox;
  RecordPtr mailbox_record;
};

class Worker {
 public:
  Worker(World* world, uint64_t seed);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void Step();

  // Returns the block that this thread allocates, for the alloc callbacks.  nullptr if there is no
  // such block, or if the thread is in a callback, whose allocations are not sampled.
  RecordPtr coming() const { return callbacks_ == 0 ? coming_ : nullptr; }

  // The body of a callback: its check and its mischief.  Returns whether the tracker continues to
  // follow the block.  May throw, or end the thread.
  bool RunCallback();

  // Returns the worker of this thread.  nullptr while the thread attaches to the heap and while it
  // detaches; callbacks may run then, too.
  static Worker* Current();

  void StopRun(const RunPtr& run, StopMode mode);
  // Stops the run in some way, or ends a run that was stopped.
  void EndRun(const RunPtr& run);

 private:
  struct Root {
    gc::Root<Node> node;
    gc::Root<gc::Array<Node>> array;
    RecordPtr record;
  };
  // A block that will be freed, and the runs that must be told of its death.
  struct Owed {
    RecordPtr record;
    std::vector<RunPtr> runs;
  };

  uint64_t Random(uint64_t below) { return random_() % below; }
  bool Chance(int per_thousand) { return Random(1000) < static_cast<uint64_t>(per_thousand); }
  size_t RandomSize();

  template <typename Allocate>
  RecordPtr Birth(Record* planned, Allocate allocate);
  void CheckHeard(const Record& record, const std::vector<RunPtr>& before);
  Owed OweDeath(const RecordPtr& record);
  void CheckDeath(const Owed& owed);
  void CheckDebts();
  void CheckCancelled(const Record& record);

  void AllocateNative();
  void FreeNative();
  void Reallocate();
  void ReportCustom();
  void ReleaseCustom();
  void MakeManaged();
  void DropManaged();
  void LinkManaged();
  void SwapMailbox();
  void Collect();
  void CheckPromoted();
  void Start();
  void Control();
  void GiveToPool();
  void TakeFromPool();
  void DoMischief();

  World* const world_;
  std::mt19937_64 random_;
  std::vector<NativeBlock> native_;
  std::deque<Root> managed_;
  std::vector<std::pair<CustomMemory, RecordPtr>> custom_;
  std::vector<Owed> debts_;  // freed inside a callback; due when the callback has returned
  RecordPtr coming_;         // the block that is being allocated
  int callbacks_ = 0;        // the depth of callbacks on this thread
  bool is_leaving_ = false;  // pthread_exit() was called
};

}  // namespace allomon::model

#endif  // ALLOMON_TESTS_MODEL_WORKER_H_
