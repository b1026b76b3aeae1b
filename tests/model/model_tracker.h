// The tracker that the model starts.  Every callback is a move of the reference model, and then
// does whatever the thread's worker chooses.
#ifndef ALLOMON_TESTS_MODEL_MODEL_TRACKER_H_
#define ALLOMON_TESTS_MODEL_MODEL_TRACKER_H_

#include <optional>
#include <utility>

#include "tests/model/reference.h"

namespace allomon::model {

class ModelTracker {
 public:
  explicit ModelTracker(RunPtr run) : run_(std::move(run)) {}

  std::optional<Value> alloc_minor(const Allocation& allocation) {
    return OnBirth(allocation, State::kYoung);
  }
  std::optional<Value> alloc_major(const Allocation& allocation) {
    return OnBirth(allocation, State::kOld);
  }
  std::optional<Value> promote(Value value);
  void dealloc_minor(Value value) { OnDeath(value, State::kYoung); }
  void dealloc_major(Value value) { OnDeath(value, State::kOld); }
  void survive_minor(const Allocation& allocation, Value value) {
    OnSurvival(allocation, value, State::kYoung);
  }
  void survive_major(const Allocation& allocation, Value value) {
    OnSurvival(allocation, value, State::kOld);
  }

 private:
  std::optional<Value> OnBirth(const Allocation& allocation, State state);
  void OnDeath(const Value& value, State from);
  void OnSurvival(const Allocation& allocation, const Value& value, State from);

  RunPtr run_;
};

}  // namespace allomon::model

#endif  // ALLOMON_TESTS_MODEL_MODEL_TRACKER_H_
