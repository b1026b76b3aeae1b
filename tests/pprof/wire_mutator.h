#ifndef ALLOMON_TESTS_PPROF_WIRE_MUTATOR_H_
#define ALLOMON_TESTS_PPROF_WIRE_MUTATOR_H_

#include <cstdint>
#include <iterator>
#include <random>
#include <string>
#include <string_view>

#include "tests/pprof/hand_made.h"
#include "tests/profile/mutator.h"
#include "tools/pprof/wire.h"

namespace allomon::pprof::testing {

// Damages messages in such a way that they remain messages: drops, doubles and exchanges fields,
// changes numbers, and adapts lengths.
class WireMutator {
 public:
  explicit WireMutator(unsigned seed) : random_(seed) {}

  std::string Mutate(std::string_view message);

 private:
  size_t Below(size_t bound) { return random_() % bound; }
  bool IsHit() { return Below(60) == 0; }
  uint64_t OtherNumber(uint64_t number);
  std::string OtherBytes(uint32_t field, std::string_view bytes, int depth);
  std::string MutateMessage(std::string_view message, int depth);

  std::minstd_rand random_;
};

// The depth of a profile's messages: sample, label; location, line.
inline constexpr int kMostMessageDepth = 3;
inline constexpr uint32_t kStringsField = 6;

inline constexpr uint64_t kOddNumbers[] = {
    0, 1, 2, 3, 100, INT32_MAX, UINT32_MAX, INT64_MAX, uint64_t{1} << 63, UINT64_MAX};

inline bool IsMessage(std::string_view bytes) {
  WireReader reader(bytes);
  while (reader.Next()) {
  }
  return !reader.failed();
}

inline uint64_t WireMutator::OtherNumber(uint64_t number) {
  switch (Below(4)) {
    case 0:
      return number + 1;
    case 1:
      return number - 1;
    case 2:
      return Below(8);
    default:
      return kOddNumbers[Below(std::size(kOddNumbers))];
  }
}

// Bytes that are a message by chance are damaged as one, too.
inline std::string WireMutator::OtherBytes(uint32_t field, std::string_view bytes, int depth) {
  const bool is_text = depth == 0 && field == kStringsField;
  if (!is_text && depth < kMostMessageDepth && IsMessage(bytes))
    return MutateMessage(bytes, depth + 1);
  if (!IsHit()) return std::string(bytes);
  return allomon::testing::Mutator(random_(), {"[", "9", ",", "{", "\xff", "-", "1e9"})
      .Mutate(std::string(bytes));
}

inline std::string WireMutator::MutateMessage(std::string_view message, int depth) {
  Message mutated;
  WireReader reader(message);
  while (reader.Next()) {
    if (IsHit() && IsHit()) continue;
    const uint32_t field = IsHit() && IsHit() ? 1 + Below(14) : reader.field();
    for (int times = IsHit() && IsHit() ? 2 : 1; times > 0; --times) {
      if (reader.is_bytes()) {
        mutated.Bytes(field, OtherBytes(reader.field(), reader.bytes(), depth));
      } else {
        mutated.Number(field, IsHit() ? OtherNumber(reader.number()) : reader.number());
      }
    }
  }
  return mutated.bytes();
}

inline std::string WireMutator::Mutate(std::string_view message) {
  return MutateMessage(message, 0);
}

}  // namespace allomon::pprof::testing

#endif  // ALLOMON_TESTS_PPROF_WIRE_MUTATOR_H_
