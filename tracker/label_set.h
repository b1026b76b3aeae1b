// The labels at the allocation of a block: pairs of a key and a value that the program set with
// allomon/labels.h.
#ifndef ALLOMON_TRACKER_LABEL_SET_H_
#define ALLOMON_TRACKER_LABEL_SET_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace allomon {

struct Label {
  std::string_view key;
  std::string_view value;
};

// A view of interned memory: copy it freely, it is valid until the process ends, and equal sets
// have equal ids.
class LabelSet {
 public:
  LabelSet() = default;
  // `text` is key, zero, value, zero for each label.
  LabelSet(uint32_t id, std::string_view text) : text_(text), id_(id) {}

  // Labels by key, each key once.
  class Iterator {
   public:
    explicit Iterator(std::string_view rest) : rest_(rest) {}
    Label operator*() const {
      const std::string_view key = UpToZero(rest_);
      return {key, UpToZero(rest_.substr(key.size() + 1))};
    }
    Iterator& operator++() {
      const Label label = **this;
      rest_.remove_prefix(label.key.size() + label.value.size() + 2);
      return *this;
    }
    bool operator!=(const Iterator& other) const { return rest_.size() != other.rest_.size(); }

   private:
    static std::string_view UpToZero(std::string_view text) {
      return text.substr(0, text.find('\0'));
    }
    std::string_view rest_;
  };
  Iterator begin() const { return Iterator(text_); }
  Iterator end() const { return Iterator({}); }

  bool empty() const { return text_.empty(); }
  // Returns the value for a key; its data() is null if there is none. "(other)" if there were too
  // many sets.
  std::string_view ValueOf(std::string_view key) const {
    std::string_view value;
    for (const Label label : *this) {
      if (label.key == key) return label.value;
      if (label.key == kOther) value = label.value;
    }
    return value;
  }

  // Dense, from 1; 0 for no labels.
  uint32_t id() const { return id_; }
  std::string_view text() const { return text_; }

  // The value of labels that are not known any more.
  static constexpr std::string_view kOther = "(other)";

 private:
  std::string_view text_;
  uint32_t id_ = 0;
};

}  // namespace allomon

#endif  // ALLOMON_TRACKER_LABEL_SET_H_
