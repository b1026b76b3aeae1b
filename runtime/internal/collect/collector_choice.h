// Chooses whether several threads do a minor collection, or a marking.
#ifndef ALLOMON_RUNTIME_INTERNAL_COLLECT_COLLECTOR_CHOICE_H_
#define ALLOMON_RUNTIME_INTERNAL_COLLECT_COLLECTOR_CHOICE_H_

#include <cstddef>
#include <cstdint>

namespace allomon::gc::internal {

// Several threads are worth their start when enough survives.  Whether they are quicker then
// depends on the objects (a list is moved cell by cell, by one thread) and on the machine (another
// program may have the second processor, and a thread that has it not while it holds work keeps all
// others waiting for milliseconds).  So both ways are timed, and the one with less time per byte is
// taken.  The other one is tried again after two collections, and after twice as many each time
// that it was the slower one again: what tries cost is bounded by a few collections in thousands.
//
// Used while the world is stopped.
class CollectorChoice {
 public:
  // `least_bytes`: that are moved, or marked; 0: always several.
  explicit CollectorChoice(size_t least_bytes) : least_bytes_(least_bytes) {}

  // Whether so much is expected to survive that several threads may be quicker.
  bool ExpectsEnough() const { return expected_bytes_ >= least_bytes_; }

  // Whether several threads are to do the next collection.  `used_bytes`: of the nurseries, or of
  // the old space; no more can survive.
  bool TakesSeveral(uint64_t used_bytes) {
    if (least_bytes_ == 0) return true;
    if (used_bytes < least_bytes_ || !ExpectsEnough()) return false;
    if (costs_[kSeveral] == 0 || costs_[kOne] == 0) return costs_[kOne] != 0;
    const bool several = costs_[kSeveral] < costs_[kOne] * kWorthwhile;
    if (several != takes_several_) {
      takes_several_ = several;
      wait_ = kLeastWait;
      choices_ = 0;
    }
    if (++choices_ < wait_) return several;
    choices_ = 0;
    wait_ = wait_ < kMostWait ? wait_ * 2 : kMostWait;
    return !several;
  }

  // Several threads do the collection that has begun.
  void BeginSeveral() { several_ = true; }
  // Notes a collection, which has ended.  `survived_bytes`: moved, or marked.
  void Note(uint64_t survived_bytes, uint64_t ns) {
    const bool several = several_;
    several_ = false;
    expected_bytes_ = (expected_bytes_ + survived_bytes) / 2;
    if (survived_bytes < least_bytes_ || survived_bytes == 0) return;
    const double cost = static_cast<double>(ns) / static_cast<double>(survived_bytes);
    double& known = costs_[several ? kSeveral : kOne];
    known = known == 0 ? cost : known + (cost - known) * kWeight;
  }

 private:
  enum Way { kOne, kSeveral };
  static constexpr double kWeight = 0.25;
  // Several threads take processor time from the program: that must be paid for.
  static constexpr double kWorthwhile = 0.9;
  static constexpr uint32_t kLeastWait = 2;  // the first figures are of new pages
  static constexpr uint32_t kMostWait = 4096;

  const size_t least_bytes_;
  uint64_t expected_bytes_ = 0;  // half of it is the last collection's, and so on
  double costs_[2] = {};         // nanoseconds per byte, decaying averages; 0: unknown
  bool several_ = false;         // of the present collection
  bool takes_several_ = false;   // the quicker way
  uint32_t choices_ = 0;         // since the other way was tried
  uint32_t wait_ = kLeastWait;   // so many choices lie between two tries
};

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_COLLECT_COLLECTOR_CHOICE_H_
