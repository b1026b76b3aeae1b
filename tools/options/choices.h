// Options whose values are words of a list:
//
//   constexpr Choice<Color> kColors[] = {{"auto", Color::kAuto}, {"never", Color::kNever}};
//   OneOf(kColors)                                 the argument "auto|never"
//   Choose(kColors, "--color", value, &color)      "--color: "x" is not auto or never"
#ifndef ALLOMON_TOOLS_OPTIONS_CHOICES_H_
#define ALLOMON_TOOLS_OPTIONS_CHOICES_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "tools/options/command_text.h"
#include "tools/options/values.h"

namespace allomon::options {

template <typename Value>
struct Choice {
  std::string_view word;
  Value value;
};

template <typename Value, size_t kSize>
Argument OneOf(const Choice<Value> (&choices)[kSize]) {
  std::string name;
  std::vector<Term> words;
  for (const Choice<Value>& choice : choices) {
    name += (name.empty() ? "" : "|") + std::string(choice.word);
    words.push_back({std::string(choice.word), ""});
  }
  return Argument(name, words);
}

// "a, b or c".
std::string InWords(const std::vector<Term>& words);

template <typename Value, size_t kSize>
absl::Status Choose(const Choice<Value> (&choices)[kSize], const char* option,
                    const std::string& text, Value* value) {
  for (const Choice<Value>& choice : choices) {
    if (choice.word != text) continue;
    *value = choice.value;
    return absl::OkStatus();
  }
  return BadValue(option, text, InWords(OneOf(choices).choices));
}

// ---- The name that was probably meant.  Pure functions.

// The nearest of `names`: one that `typed` begins, or that a slip or two turn into `typed`.  Empty
// if no name is near, or several are equally near.
std::string Nearest(const std::string& typed, const std::vector<std::string>& names);

}  // namespace allomon::options

#endif  // ALLOMON_TOOLS_OPTIONS_CHOICES_H_
