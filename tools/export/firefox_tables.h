// Tables of the Firefox Profiler's format: columns of equal length, and indices between them.
#ifndef ALLOMON_TOOLS_EXPORT_FIREFOX_TABLES_H_
#define ALLOMON_TOOLS_EXPORT_FIREFOX_TABLES_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tools/export/exporters.h"
#include "tools/heap/heap_profile.h"

namespace allomon::interchange::firefox {

// Adds columns of equal values: the format has many that say nothing of a heap.
inline void Fill(size_t length, const Json& value, std::initializer_list<const char*> names,
                 Json* table) {
  for (const char* name : names) (*table)[name] = Json::array_t(length, value);
  (*table)["length"] = length;
}

// The texts of a table, each once.
class Texts {
 public:
  uint32_t Add(const std::string& text) {
    const auto [at, is_new] = numbers_.try_emplace(text, texts_.size());
    if (is_new) texts_.push_back(text);
    return at->second;
  }
  const std::vector<std::string>& All() const { return texts_; }

 private:
  std::unordered_map<std::string, uint32_t> numbers_;
  std::vector<std::string> texts_;
};

// Stacks as a tree: a node is a frame and the node of its caller, which comes before it.
class StackTree {
 public:
  // Returns the node of the innermost frame.
  uint32_t Add(const std::vector<uint32_t>& frames_outermost_first) {
    uint32_t node = heap::kNone;
    for (const uint32_t frame : frames_outermost_first) {
      const uint64_t key = uint64_t{node} << 32 | frame;
      const auto [at, is_new] = nodes_.try_emplace(key, frames_.size());
      if (is_new) {
        frames_.push_back(frame);
        callers_.push_back(node == heap::kNone ? Json(nullptr) : Json(node));
      }
      node = at->second;
    }
    return node;
  }
  Json ToJson() && {
    return {{"length", frames_.size()}, {"frame", frames_}, {"prefix", std::move(callers_)}};
  }

 private:
  std::unordered_map<uint64_t, uint32_t> nodes_;
  std::vector<uint32_t> frames_;
  std::vector<Json> callers_;
};

}  // namespace allomon::interchange::firefox

#endif  // ALLOMON_TOOLS_EXPORT_FIREFOX_TABLES_H_
