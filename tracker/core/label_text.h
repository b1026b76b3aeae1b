// The text of a set of labels: key, zero, value, zero for each, in the order of their keys.  Equal
// sets have equal texts, whatever the order in which they were pushed.
//
// Pure functions.  They run inside malloc and allocate nothing.
#ifndef ALLOMON_TRACKER_CORE_LABEL_TEXT_H_
#define ALLOMON_TRACKER_CORE_LABEL_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tracker/label_set.h"

namespace allomon::internal {

inline constexpr size_t kMostLabels = 12;  // of a set
inline constexpr size_t kMostLabelKeyBytes = 64;
inline constexpr size_t kMostLabelValueBytes = 256;
inline constexpr size_t kMostLabelTextBytes =
    kMostLabels * (kMostLabelKeyBytes + kMostLabelValueBytes + 2);

// Collects labels from the innermost scope outwards.
class LabelCollector {
 public:
  // Adds a label.  A label already there with the same key hides it.
  void Add(std::string_view key, std::string_view value);
  void Add(const LabelSet& set) {
    for (const Label label : set) Add(label.key, label.value);
  }

  // Returns the text, with the values of the innermost `others` labels replaced by "(other)".
  // `room` has kMostLabelTextBytes.
  std::string_view Text(size_t others, char* room) const;

  size_t size() const { return size_; }
  bool has_left_out() const { return has_left_out_; }  // labels beyond kMostLabels
  bool has_cut() const { return has_cut_; }            // a key or a value was too long

 private:
  // A key as it will stand in the text.
  struct Key {
    std::string_view stem;
    bool is_cut = false;  // a mark follows the text
    bool operator==(const Key& other) const { return stem == other.stem && is_cut == other.is_cut; }
  };
  static Key KeyOf(std::string_view key);

  Key keys_[kMostLabels];
  std::string_view values_[kMostLabels];
  size_t size_ = 0;
  bool has_left_out_ = false;
  bool has_cut_ = false;
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CORE_LABEL_TEXT_H_
