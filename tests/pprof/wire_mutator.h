#ifndef ALLOMON_TESTS_PPROF_WIRE_MUTATOR_H_
#define ALLOMON_TESTS_PPROF_WIRE_MUTATOR_H_

#include <cstdint>
#include <random>
#include <string>
#include <string_view>

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

}  // namespace allomon::pprof::testing

#endif  // ALLOMON_TESTS_PPROF_WIRE_MUTATOR_H_
