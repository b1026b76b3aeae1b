#include "tests/pprof/wire_mutator.h"

#include <vector>

#include "tests/pprof/hand_made.h"
#include "tests/profile/mutator.h"

namespace allomon::pprof::testing {
namespace {

constexpr int kMostDepth = 3;  // the depth of a profile's messages: sample, label; location, line
constexpr uint32_t kStrings = 6;

constexpr uint64_t kNumbers[] = {
    0, 1, 2, 3, 100, INT32_MAX, UINT32_MAX, INT64_MAX, uint64_t{1} << 63, UINT64_MAX};

bool IsMessage(std::string_view bytes) {
  WireReader reader(bytes);
  while (reader.Next()) {
  }
  return !reader.failed();
}

}  // namespace

uint64_t WireMutator::OtherNumber(uint64_t number) {
  switch (Below(4)) {
    case 0:
      return number + 1;
    case 1:
      return number - 1;
    case 2:
      return Below(8);
    default:
      return kNumbers[Below(std::size(kNumbers))];
  }
}

// Bytes that are a message by chance are damaged as one, too.
std::string WireMutator::OtherBytes(uint32_t field, std::string_view bytes, int depth) {
  const bool is_text = depth == 0 && field == kStrings;
  if (!is_text && depth < kMostDepth && IsMessage(bytes)) return MutateMessage(bytes, depth + 1);
  if (!IsHit()) return std::string(bytes);
  return allomon::testing::Mutator(random_(), {"[", "9", ",", "{", "\xff", "-", "1e9"})
      .Mutate(std::string(bytes));
}

std::string WireMutator::MutateMessage(std::string_view message, int depth) {
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

std::string WireMutator::Mutate(std::string_view message) { return MutateMessage(message, 0); }

}  // namespace allomon::pprof::testing
