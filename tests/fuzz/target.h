// Shared by the targets of this folder.  A target is one file with the function that libFuzzer
// calls: it passes bytes to a reader, and checks properties that must hold for any input.
#ifndef ALLOMON_TESTS_FUZZ_TARGET_H_
#define ALLOMON_TESTS_FUZZ_TARGET_H_

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

// Optional in a target: damages an input such that its outer form stays valid.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed);
// libFuzzer's own damage, and replay's where there is no libFuzzer.
extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace allomon::fuzz {

// Returns inputs made by our own writers.  Each target has them, in addition to those of its
// archive.
std::vector<std::string> Seeds();

// The number of inputs that were not refused: a fuzzer whose every input is refused tests nothing.
inline uint64_t accepted_inputs = 0;

inline int Done(bool is_accepted) {
  accepted_inputs += is_accepted ? 1 : 0;
  return 0;
}

inline std::string_view TextOf(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Ends the process, so that libFuzzer keeps the input.
inline void Require(bool holds, const char* what, std::string_view detail = "") {
  if (holds) return;
  fprintf(stderr, "not so: %s: \"%.*s\"\n", what, static_cast<int>(detail.size()), detail.data());
  abort();
}

// Abseil's string_view is not always the library's.
template <typename Text>
std::string_view ViewOf(const Text& text) {
  return {text.data(), text.size()};
}

template <typename Text>
void RequireOneLine(const Text& message) {
  Require(!message.empty() && message.find('\n') == message.npos, "an error is one line",
          ViewOf(message));
}

// Copies a text into libFuzzer's buffer, and returns its size there.
inline size_t PutBack(const std::string& text, uint8_t* data, size_t max_size) {
  const size_t size = text.size() < max_size ? text.size() : max_size;
  text.copy(reinterpret_cast<char*>(data), size);
  return size;
}

}  // namespace allomon::fuzz

#endif  // ALLOMON_TESTS_FUZZ_TARGET_H_
