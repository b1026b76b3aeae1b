// The memprof contract as a state machine per block and tracker.  It is so plain that it is
// obviously right.  The trackers of the library run against it.
//
// A block knows what each run of a tracker has been told of it.  A callback is a move from one
// state to the next, made by compare-and-swap.  Two callbacks that should be one, or that come in
// the wrong order, therefore fail however the threads interleave.
#ifndef ALLOMON_TESTS_MODEL_REFERENCE_H_
#define ALLOMON_TESTS_MODEL_REFERENCE_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "tracker/tracker.h"

namespace allomon::model {

// The most runs that exist at once: the library allows sixteen trackers.
inline constexpr int kPlaces = 16;

enum class State : uint64_t { kUnheard, kYoung, kOld, kUnfollowed, kDead, kSurvived };

inline bool IsFollowed(State state) { return state == State::kYoung || state == State::kOld; }

// A run lasts from a start to its end.  It lives until the library has destroyed the tracker and
// all of its values.  Only then can its slot be given to another run.
struct Run {
  Run(int place_of_run, uint64_t serial, double rate_of_run)
      : place(place_of_run), generation(serial), rate(rate_of_run) {}

  uint64_t Word(State state) const { return generation * 8 + static_cast<uint64_t>(state); }

  const int place;
  const uint64_t generation;
  const double rate;
  TrackerId id;  // written before `sampling`

  // start() has returned and no stop() has begun.  The run must then be told of all blocks at rate
  // 1.
  std::atomic<bool> sampling{false};
  // The tracking has begun to end.  Dealloc callbacks are no longer owed.
  std::atomic<bool> ending{false};
  // The threads for which stop(), and the end of the tracking, have returned.  After the former,
  // that thread must receive no alloc callback; after the latter, no callback at all.  (Callbacks
  // that other threads had begun may still be running.)
  std::atomic<std::thread::id> stopped_by{};
  std::atomic<std::thread::id> ended_by{};
  // A thread ended inside a callback.  The block of that callback is missing from the sums of this
  // run.
  std::atomic<bool> was_left{false};

  std::atomic<int64_t> values{0};  // values that the library keeps
  std::atomic<int64_t> open{0};    // blocks that the run follows
  std::atomic<uint64_t> births{0};
  std::atomic<uint64_t> samples{0};
};

// One block.
struct Record {
  State Told(const Run& run) const {
    const uint64_t word = told[run.place].load();
    return word / 8 == run.generation ? static_cast<State>(word % 8) : State::kUnheard;
  }

  // Returns false if the run was already told of the block.
  bool Bear(const Run& run, State state) {
    if (Told(run) != State::kUnheard) return false;
    told[run.place] = run.Word(state);
    return true;
  }

  // Returns false if the block was not in state `from`.
  bool Move(const Run& run, State from, State to) {
    uint64_t expected = run.Word(from);
    return told[run.place].compare_exchange_strong(expected, run.Word(to));
  }

  uint64_t size_bytes = 0;
  uint64_t size_words = 0;
  AllocationSource source = AllocationSource::kMalloc;
  bool young = false;
  std::atomic<uint64_t> told[kPlaces] = {};
};

using RecordPtr = std::shared_ptr<Record>;
using RunPtr = std::shared_ptr<Run>;

// The value that a run's tracker keeps with a block.  It counts itself, so the test sees a value
// that the library loses or destroys twice.
class Value {
 public:
  Value(RunPtr run, RecordPtr record) : run_(std::move(run)), record_(std::move(record)) {
    ++run_->values;
  }
  Value(Value&&) noexcept = default;
  Value& operator=(Value&&) = delete;
  ~Value() {
    if (run_ != nullptr) --run_->values;
  }

  Record& record() const { return *record_; }
  const RunPtr& run() const { return run_; }
  const RecordPtr& shared_record() const { return record_; }

 private:
  RunPtr run_;
  RecordPtr record_;
};

// The set of runs that exist.
class Runs {
 public:
  // Returns nullptr when all slots are taken.
  RunPtr New(double rate);
  void Publish(const RunPtr& run);

  std::vector<RunPtr> All();
  // Whether the library has destroyed every tracker that was started, with its values.
  bool AllGone();
  // Removes a run, for the caller to end.  Returns nullptr if no run is left.
  RunPtr TakeOne(uint64_t random);

 private:
  void GiveBack(const Run* run);

  std::mutex mutex_;
  std::vector<RunPtr> runs_;
  bool taken_[kPlaces] = {};
  uint64_t generations_ = 0;
};

inline RunPtr Runs::New(double rate) {
  std::lock_guard<std::mutex> hold(mutex_);
  bool* const free_place = std::find(std::begin(taken_), std::end(taken_), false);
  if (free_place == std::end(taken_)) return nullptr;
  *free_place = true;
  const int place = static_cast<int>(free_place - taken_);
  return RunPtr(new Run(place, ++generations_, rate), [this](const Run* run) { GiveBack(run); });
}

inline void Runs::GiveBack(const Run* run) {
  {
    std::lock_guard<std::mutex> hold(mutex_);
    taken_[run->place] = false;
  }
  delete run;
}

inline void Runs::Publish(const RunPtr& run) {
  std::lock_guard<std::mutex> hold(mutex_);
  runs_.push_back(run);
}

inline std::vector<RunPtr> Runs::All() {
  std::lock_guard<std::mutex> hold(mutex_);
  return runs_;
}

inline bool Runs::AllGone() {
  std::lock_guard<std::mutex> hold(mutex_);
  return std::find(std::begin(taken_), std::end(taken_), true) == std::end(taken_);
}

inline RunPtr Runs::TakeOne(uint64_t random) {
  std::lock_guard<std::mutex> hold(mutex_);
  if (runs_.empty()) return nullptr;
  const auto it = runs_.begin() + static_cast<std::ptrdiff_t>(random % runs_.size());
  RunPtr run = std::move(*it);
  runs_.erase(it);
  return run;
}

}  // namespace allomon::model

#endif  // ALLOMON_TESTS_MODEL_REFERENCE_H_
