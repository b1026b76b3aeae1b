// Managed functions that allocate, and a heap whose profile is compared with the heap's own
// counters.
#ifndef ALLOMON_TESTS_RUNTIME_MANAGED_PROFILE_CASE_H_
#define ALLOMON_TESTS_RUNTIME_MANAGED_PROFILE_CASE_H_

#include <cstdint>
#include <memory>

#include "gtest/gtest.h"
#include "runtime/heap.h"
#include "tests/support/profile_bytes.h"
#include "tracker/callstack/managed_functions.h"
#include "tracker/profile/profile.h"

namespace allomon::gc {

struct Cell {
  long value;
  Field<Cell> next;
};
inline constexpr int64_t kCellBytes = 24;  // with its header

extern const ManagedFunction kBuild;  // "build", and so on
extern const ManagedFunction kSmall;
extern const ManagedFunction kLarge;
extern const ManagedFunction kOpen;

// Makes n cells, as kBuild.
Local<Cell> Build(int n);
// Makes two cells as the function kSmall, and between them calls Build(2).
void Small();
// Makes two cells in an ALLOMON_FUNCTION(), and between them calls Small().
void Scope();

class ManagedProfileTest : public ::testing::Test {
 protected:
  void SetUp() override { before_ = heap_->statistics(); }
  void TearDown() override;

  static void Start(ProfileStyle style = ProfileStyle::kCurrent,
                    ProfileKind kind = ProfileKind::kAlloc);

  // Stops, and compares the profile with the heap's counts since the test began.
  NamedProfile StopAndCompare();
  static int64_t Bytes(const NamedProfile& profile, const char* function);

  std::unique_ptr<Heap> heap_ = Heap::Create().value();
  Mutator mutator_{*heap_};
  HeapStatistics before_;
  const ProfileData data_ = Profile::Malloc().value();
  ScopedProfileData unit_{data_};
};

}  // namespace allomon::gc

#endif  // ALLOMON_TESTS_RUNTIME_MANAGED_PROFILE_CASE_H_
