// The part of a worker that starts and stops trackers.
#include <iterator>
#include <thread>

#include "gtest/gtest.h"
#include "tests/model/model_tracker.h"
#include "tests/model/worker.h"

namespace allomon::model {

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
