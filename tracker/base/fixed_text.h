// A text in a fixed room, for code that must not allocate.
//
// Text that exceeds the room is dropped, and fits() is then false.  No locks.
#ifndef ALLOMON_TRACKER_BASE_FIXED_TEXT_H_
#define ALLOMON_TRACKER_BASE_FIXED_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace allomon::internal {

template <size_t kRoom>
class FixedText {
 public:
  FixedText& Clear() {
    length_ = 0;
    fits_ = true;
    text_[0] = '\0';
    return *this;
  }
  FixedText& Add(std::string_view text) {
    fits_ = fits_ && text.size() < kRoom - length_;
    if (!fits_ || text.empty()) return *this;
    memcpy(text_ + length_, text.data(), text.size());
    length_ += text.size();
    text_[length_] = '\0';
    return *this;
  }
  FixedText& AddNumber(uint64_t number) {
    if (number >= 10) AddNumber(number / 10);
    const char digit = static_cast<char>('0' + number % 10);
    return Add({&digit, 1});
  }

  const char* text() const { return text_; }
  size_t length() const { return length_; }
  bool fits() const { return fits_; }

 private:
  char text_[kRoom] = {};  // ends with a zero
  size_t length_ = 0;
  bool fits_ = true;
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_BASE_FIXED_TEXT_H_
