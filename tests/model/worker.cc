#include "tests/model/worker.h"

#include <pthread.h>

#include <algorithm>
#include <iterator>
#include <thread>
#include <utility>

#include "allocator/allocator.h"
#include "gtest/gtest.h"
#include "tests/model/model_tracker.h"

namespace allomon::model {
namespace {

thread_local Worker* t_worker = nullptr;

uint64_t Words(uint64_t size_bytes) { return (size_bytes + 7) / 8; }

// Counts the callbacks that a thread is in.  The count stays right when an exception or the end of
// the thread leaves a callback.
class InCallback {
 public:
  explicit InCallback(int* depth) : depth_(depth) { ++*depth_; }
  ~InCallback() { --*depth_; }

 private:
  int* depth_;
};

}  // namespace

Worker* Worker::Current() { return t_worker; }

Worker::Worker(World* world, uint64_t seed) : world_(world), random_(seed) { t_worker = this; }

// A thread that ends, perhaps inside a callback, stops its mischief.
Worker::~Worker() {
  t_worker = nullptr;
  managed_.clear();
  custom_.clear();
  std::lock_guard<std::mutex> hold(world_->pool_mutex);
  for (NativeBlock& block : native_) world_->pool.push_back(std::move(block));
}

size_t Worker::RandomSize() {
  switch (Random(16)) {
    case 0:
      return Random(2);
    case 1:
      return 30000 + Random(6000);
    case 2:
      return Random(16) == 0 ? 1000000 + Random(1000000) : Random(5000);
    default:
      return Random(300);
  }
}

// ---- Births

// Runs `allocate` and expects the callbacks of a block as `planned`.  Checks which runs were told.
// Returns nullptr if an exception cancelled the allocation.
template <typename Allocate>
RecordPtr Worker::Birth(Record* planned, Allocate allocate) {
  const RecordPtr record(planned);
  if (callbacks_ > 0) {  // the block is not sampled, so no run may be told
    allocate();
    return record;
  }
  std::vector<RunPtr> before = world_->runs.All();
  before.erase(std::remove_if(before.begin(), before.end(),
                              [](const RunPtr& run) { return !run->sampling; }),
               before.end());
  coming_ = record;
  try {
    allocate();
  } catch (const Thrown&) {
    coming_ = nullptr;
    CheckCancelled(*record);
    return nullptr;
  }
  coming_ = nullptr;
  CheckHeard(*record, before);
  return record;
}

void Worker::CheckHeard(const Record& record, const std::vector<RunPtr>& before) {
  for (const RunPtr& run : before) {
    // The states are read before the runs' obligations.  The order matters.
    const State told = record.Told(*run);
    if (run->rate == 1 && run->sampling) {
      EXPECT_NE(told, State::kUnheard) << "a block of " << record.size_bytes << " bytes, young "
                                       << record.young << ", was not reported";
    }
  }
}

// The object was never made.  Each run that was told of the object was also told of its death.
void Worker::CheckCancelled(const Record& record) {
  for (const RunPtr& run : world_->runs.All()) {
    const State told = record.Told(*run);
    EXPECT_FALSE(IsFollowed(told) && !run->ending) << "cancelled, and still followed";
  }
}

// ---- Deaths

Worker::Owed Worker::OweDeath(const RecordPtr& record) {
  Owed owed{record, {}};
  for (const RunPtr& run : world_->runs.All()) {
    if (!run->ending && IsFollowed(record->Told(*run))) owed.runs.push_back(run);
  }
  return owed;
}

void Worker::CheckDeath(const Owed& owed) {
  for (const RunPtr& run : owed.runs) {
    const State told = owed.record->Told(*run);
    if (!run->ending) {
      EXPECT_EQ(told, State::kDead) << "a block of " << owed.record->size_bytes
                                    << " bytes was freed, and its tracker not told";
    }
  }
}

void Worker::CheckDebts() {
  for (const Owed& owed : debts_) CheckDeath(owed);
  debts_.clear();
}

// ---- Callbacks

bool Worker::RunCallback() {
  const InCallback inside(&callbacks_);
  DoMischief();
  return Random(8) != 0;
}

void Worker::DoMischief() {
  const Mischief& mischief = world_->mischief;
  // The destructors of the frames that the thread leaves run callbacks, too.
  if (is_leaving_) return;
  if (Chance(mischief.allocates)) {
    Random(2) == 0 ? AllocateNative() : MakeManaged();
    FreeNative();
  }
  if (Chance(mischief.collects)) Collect();
  if (Chance(mischief.controls)) Control();
  if (Chance(mischief.throws)) throw Thrown();
  if (Chance(mischief.exits_thread)) {
    for (const RunPtr& run : world_->runs.All()) run->was_left = true;
    is_leaving_ = true;
    pthread_exit(nullptr);
  }
}

// ---- Native blocks

void Worker::AllocateNative() {
  const size_t size = RandomSize();
  const uint64_t kind = Random(3);
  const size_t alignment = size_t{1} << Random(13);
  auto* record = new Record;
  record->size_bytes = size;
  record->size_words = Words(size);
  void* memory = nullptr;
  RecordPtr born = Birth(record, [&] {
    memory = kind == 0   ? SamplingCalloc(1, size)
             : kind == 1 ? SamplingAlignedAlloc(alignment, size)
                         : SamplingMalloc(size);
  });
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % (kind == 1 ? alignment : 8), 0u);
  native_.push_back({memory, std::move(born)});
}

void Worker::FreeNative() {
  if (native_.empty()) return;
  std::swap(native_[Random(native_.size())], native_.back());
  const NativeBlock block = std::move(native_.back());
  native_.pop_back();
  Owed owed = OweDeath(block.record);
  if (callbacks_ > 0) {
    debts_.push_back(owed);
    return SamplingFree(block.memory);
  }
  SamplingFree(block.memory);
  CheckDeath(owed);
}

void Worker::Reallocate() {
  // A thread that ends itself inside realloc does not know whether the old block is gone.
  if (native_.empty() || world_->mischief.exits_thread > 0) return;
  NativeBlock block = std::move(native_.back());
  native_.pop_back();
  const Owed owed = OweDeath(block.record);
  const size_t size = 1 + RandomSize();
  auto* record = new Record;
  record->size_bytes = size;
  record->size_words = Words(size);
  block.record = Birth(record, [&] { block.memory = SamplingRealloc(block.memory, size); });
  ASSERT_NE(block.memory, nullptr);
  CheckDeath(owed);
  native_.push_back(std::move(block));
}

void Worker::GiveToPool() {
  if (native_.empty()) return;
  std::lock_guard<std::mutex> hold(world_->pool_mutex);
  world_->pool.push_back(std::move(native_.back()));
  native_.pop_back();
}

void Worker::TakeFromPool() {
  std::lock_guard<std::mutex> hold(world_->pool_mutex);
  if (world_->pool.empty()) return;
  native_.push_back(std::move(world_->pool.back()));
  world_->pool.pop_back();
}

// ---- Out-of-heap bytes

void Worker::ReportCustom() {
  const size_t size = 1 + RandomSize();
  auto* record = new Record;
  record->size_bytes = size;
  record->size_words = Words(size);
  record->source = AllocationSource::kCustom;
  CustomMemory memory;
  const RecordPtr born = Birth(record, [&] { memory = CustomMemory(size); });
  custom_.emplace_back(std::move(memory), born);
}

void Worker::ReleaseCustom() {
  if (custom_.empty()) return;
  auto custom = std::move(custom_.back());
  custom_.pop_back();
  const Owed owed = OweDeath(custom.second);
  custom.first.Release();
  CheckDeath(owed);
}

// ---- Managed objects

void Worker::MakeManaged() {
  auto* record = new Record;
  record->source = AllocationSource::kNormal;
  Root root;
  const uint64_t kind = Random(8);
  // An array has a word for its length.  An array beyond 8 KiB is born old.
  const size_t length = kind == 0 ? 1024 + Random(2000) : Random(40);
  record->size_words = kind > 2 ? 2 : length + 1;
  record->size_bytes = record->size_words * 8;
  record->young = record->size_words < 1024;
  try {
    root.record = Birth(record, [&] {
      if (kind > 2) {
        root.node = gc::make<Node>(random_(), nullptr);
      } else {
        root.array = gc::make_array<Node>(length);
      }
    });
  } catch (const Thrown&) {  // inside a callback, whose allocations may run other callbacks
    return;
  }
  if (root.record != nullptr) managed_.push_back(std::move(root));
}

void Worker::DropManaged() {
  if (managed_.empty()) return;
  const size_t i = Random(managed_.size());
  for (const RunPtr& run : world_->runs.All()) {
    EXPECT_NE(managed_[i].record->Told(*run), State::kDead) << "reachable, and reported dead";
  }
  managed_[i] = std::move(managed_.back());
  managed_.pop_back();
}

void Worker::LinkManaged() {
  if (managed_.empty()) return;
  Root& from = managed_[Random(managed_.size())];
  const Root& to = managed_[Random(managed_.size())];
  if (from.node && to.node) from.node->next = to.node;
  if (from.array && to.node && from.array->length() > 0) {
    from.array->at(Random(from.array->length())) = to.node;
  }
}

void Worker::SwapMailbox() {
  if (managed_.empty() || !managed_.back().node) return;
  Root& root = managed_.back();
  std::lock_guard<std::mutex> hold(world_->mailbox_mutex);
  const gc::Root<Node> received = world_->mailbox->get();
  *world_->mailbox = root.node;
  root.node = received;
  std::swap(root.record, world_->mailbox_record);
  if (root.record == nullptr) managed_.pop_back();
}

void Worker::Collect() {
  world_->heap->CollectFromTop(Random(8) == 0 ? gc::CollectionKind::kMajor
                                              : gc::CollectionKind::kMinor);
  // Another thread, if there is one, may be running promote callbacks at this moment.  Inside a
  // callback, promote callbacks wait for the next safepoint.
  if (world_->threads == 1 && callbacks_ == 0) CheckPromoted();
}

void Worker::CheckPromoted() {
  for (const RunPtr& run : world_->runs.All()) {
    for (const Root& root : managed_) {
      EXPECT_TRUE(root.record->Told(*run) != State::kYoung || run->ending)
          << "survived a collection, and was not promoted";
    }
  }
}

// ---- The program

void Worker::Step() {
  try {
    switch (Random(64)) {
      case 0:
        Control();
        break;
      case 1:
        Random(4) == 0 ? Collect() : gc::Safepoint();
        break;
      case 2:
        GiveToPool();
        break;
      case 3:
        TakeFromPool();
        break;
      case 4:
        SwapMailbox();
        break;
      case 5:
      case 6:
        custom_.size() < 20 ? ReportCustom() : ReleaseCustom();
        break;
      case 7:
      case 8:
        ReleaseCustom();
        break;
      case 9:
      case 10:
        Reallocate();
        break;
      case 11:
      case 12:
        LinkManaged();
        break;
      default:
        // The number of blocks varies between zero and a few hundred.
        if (Random(2) == 0) {
          Random(300) > native_.size() ? AllocateNative() : FreeNative();
        } else {
          Random(300) > managed_.size() ? MakeManaged() : DropManaged();
        }
    }
  } catch (const Thrown&) {
  }
  CheckDebts();
}

// --- Starts and stops trackers.

void Worker::Start() {
  static constexpr double kRates[] = {1, 1, 1, 0.3, 0.01, 0};
  const RunPtr run = world_->runs.New(kRates[Random(std::size(kRates))]);
  if (run == nullptr) return;
  StartOptions options;
  options.concurrent = true;
  options.seed = random_();
  options.callstack_size = static_cast<uint32_t>(Random(10));
  const auto id = Tracker::start(run->rate, ModelTracker(run), options);
  if (!id.ok()) {
    EXPECT_EQ(id.status().code(), absl::StatusCode::kResourceExhausted) << id.status();
    return;
  }
  run->id = *id;
  run->sampling = true;
  world_->runs.Publish(run);
}

void Worker::StopRun(const RunPtr& run, StopMode mode) {
  run->ending = mode == StopMode::kDiscard;
  run->sampling = false;
  EXPECT_TRUE(Tracker::stop(run->id, mode).ok());
  run->stopped_by = std::this_thread::get_id();
  if (run->ending) run->ended_by = std::this_thread::get_id();
}

void Worker::EndRun(const RunPtr& run) {
  if (run->sampling) {
    const bool keep = Random(2) == 0;
    StopRun(run, keep ? StopMode::kKeepTracking : StopMode::kDiscard);
    if (keep) world_->runs.Publish(run);
    return;
  }
  run->ending = true;
  EXPECT_TRUE((Random(2) == 0 ? Tracker::drain(run->id) : Tracker::discard(run->id)).ok());
  run->ended_by = std::this_thread::get_id();
}

void Worker::Control() {
  if (Random(2) == 0) return Start();
  const RunPtr run = world_->runs.TakeOne(random_());
  if (run != nullptr) EndRun(run);
}

}  // namespace allomon::model
