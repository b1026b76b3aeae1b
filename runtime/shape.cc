#include "runtime/shape.h"

#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "runtime/internal/object/check.h"

namespace allomon::gc {
namespace {

// Allocates memory that is never freed.
template <typename T>
T* Forever(size_t count) {
  return new T[count];
}

const char* CopyForever(std::string_view text) {
  char* const copy = Forever<char>(text.size() + 1);
  memcpy(copy, text.data(), text.size());
  copy[text.size()] = '\0';
  return copy;
}

internal::TypeInfo Describe(std::string_view name, const std::vector<Shape::Word>& words) {
  ALLOMON_GC_CHECK(words.size() < Shape::kMostWords, "rule.shape: a shape has at most 1,023 words");
  internal::TypeInfo info = {CopyForever(name), 0, nullptr, 0, 1, internal::Kind::kShaped};
  if (!words.empty()) info.size_words = static_cast<uint32_t>(words.size());
  uint32_t* const offsets = words.size() > 64 ? Forever<uint32_t>(words.size()) : nullptr;
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] != Shape::kValue) continue;
    if (offsets == nullptr) {
      info.pointer_map |= uint64_t{1} << i;
    } else {
      offsets[info.n_offsets++] = static_cast<uint32_t>(i);
    }
  }
  info.offsets = offsets;
  return info;
}

}  // namespace

Shape::Shape(std::string_view name, const std::vector<Word>& words)
    : TypeInfo(Describe(name, words)), n_words_(words.size()) {
  Word* const kinds = Forever<Word>(words.size() + 1);
  for (size_t i = 0; i < words.size(); ++i) kinds[i] = words[i];
  kinds_ = kinds;
}

const Shape& Shape::Define(std::string_view name, const std::vector<Word>& words) {
  using Key = std::pair<std::string, std::vector<Word>>;
  static std::mutex* const mutex = new std::mutex;
  static auto* const shapes = new std::map<Key, const Shape*>;
  const std::lock_guard<std::mutex> hold(*mutex);
  const Shape*& shape = (*shapes)[{std::string(name), words}];
  if (shape == nullptr) shape = new Shape(name, words);
  return *shape;
}

}  // namespace allomon::gc
