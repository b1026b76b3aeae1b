#include "tests/model/model_tracker.h"

#include "gtest/gtest.h"
#include "tests/model/worker.h"

namespace allomon::model {
namespace {

bool RunCallback() {
  Worker* worker = Worker::Current();
  return worker == nullptr || worker->RunCallback();
}

void CheckAllocation(const Allocation& allocation, const Record& record, double rate) {
  EXPECT_EQ(allocation.size_bytes, record.size_bytes);
  EXPECT_EQ(allocation.size_words, record.size_words);
  EXPECT_EQ(allocation.source, record.source);
  EXPECT_EQ(allocation.rate, rate);
  const uint64_t trials = record.size_words + (record.source == AllocationSource::kCustom ? 0 : 1);
  EXPECT_GE(allocation.n_samples, rate == 1 ? trials : 1);
  EXPECT_LE(allocation.n_samples, trials);
}

}  // namespace

std::optional<Value> ModelTracker::OnBirth(const Allocation& allocation, State state) {
  const RecordPtr record = Worker::Current()->coming();
  if (record == nullptr) {
    ADD_FAILURE() << "a block was reported that nobody allocates, or one of a callback";
    return std::nullopt;
  }
  CheckAllocation(allocation, *record, run_->rate);
  EXPECT_NE(run_->stopped_by.load(), std::this_thread::get_id()) << "stopped";
  EXPECT_EQ(state == State::kYoung, record->young);
  ++run_->births;
  run_->samples += allocation.n_samples;
  EXPECT_TRUE(record->Bear(*run_, State::kUnfollowed)) << "reported twice";
  if (!RunCallback()) return std::nullopt;
  EXPECT_TRUE(record->Move(*run_, State::kUnfollowed, state));
  ++run_->open;
  return Value(run_, record);
}

std::optional<Value> ModelTracker::promote(Value value) {
  EXPECT_NE(run_->ended_by.load(), std::this_thread::get_id()) << "discarded";
  EXPECT_TRUE(value.record().Move(*run_, State::kYoung, State::kUnfollowed)) << "promoted twice";
  --run_->open;
  if (!RunCallback()) return std::nullopt;
  EXPECT_TRUE(value.record().Move(*run_, State::kUnfollowed, State::kOld));
  ++run_->open;
  return value;
}

void ModelTracker::OnDeath(const Value& value, State from) {
  EXPECT_NE(run_->ended_by.load(), std::this_thread::get_id()) << "discarded";
  EXPECT_TRUE(value.record().Move(*run_, from, State::kDead)) << "dead twice, or out of order";
  --run_->open;
  RunCallback();
}

void ModelTracker::OnSurvival(const Allocation& allocation, const Value& value, State from) {
  EXPECT_EQ(allocation.size_bytes, value.record().size_bytes);
  EXPECT_TRUE(value.record().Move(*run_, from, State::kSurvived)) << "survived twice, or dead";
  --run_->open;
}

}  // namespace allomon::model
