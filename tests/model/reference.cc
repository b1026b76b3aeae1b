#include "tests/model/reference.h"

#include <algorithm>

namespace allomon::model {

RunPtr Runs::New(double rate) {
  std::lock_guard<std::mutex> hold(mutex_);
  bool* const free_place = std::find(std::begin(taken_), std::end(taken_), false);
  if (free_place == std::end(taken_)) return nullptr;
  *free_place = true;
  const int place = static_cast<int>(free_place - taken_);
  return RunPtr(new Run(place, ++generations_, rate), [this](const Run* run) { GiveBack(run); });
}

void Runs::GiveBack(const Run* run) {
  {
    std::lock_guard<std::mutex> hold(mutex_);
    taken_[run->place] = false;
  }
  delete run;
}

void Runs::Publish(const RunPtr& run) {
  std::lock_guard<std::mutex> hold(mutex_);
  runs_.push_back(run);
}

std::vector<RunPtr> Runs::All() {
  std::lock_guard<std::mutex> hold(mutex_);
  return runs_;
}

bool Runs::AllGone() {
  std::lock_guard<std::mutex> hold(mutex_);
  return std::find(std::begin(taken_), std::end(taken_), true) == std::end(taken_);
}

RunPtr Runs::TakeOne(uint64_t random) {
  std::lock_guard<std::mutex> hold(mutex_);
  if (runs_.empty()) return nullptr;
  const auto it = runs_.begin() + static_cast<std::ptrdiff_t>(random % runs_.size());
  RunPtr run = std::move(*it);
  runs_.erase(it);
  return run;
}

}  // namespace allomon::model
