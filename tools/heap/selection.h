// Selects stacks and frames of a profile.
#ifndef ALLOMON_TOOLS_HEAP_SELECTION_H_
#define ALLOMON_TOOLS_HEAP_SELECTION_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/heap/labels.h"
#include "tools/text/regexp.h"

namespace allomon::heap {

// POSIX extended expressions, each of which may match anywhere in a text.  Time is at most the
// product of the lengths of text and expression; nothing recurses.
class Patterns {
 public:
  // Fails with one line if `expression` is invalid or too large.
  absl::Status Add(std::string_view expression);

  bool empty() const { return patterns_.empty(); }
  bool MatchAny(std::string_view text) const;

 private:
  std::vector<mlprof::Regexp> patterns_;
};

// Options that select stacks and frames.  Expressions match a function's name or its file.
struct Selection {
  LabelSelection labels;  // keeps only samples with such labels
  Patterns focus;         // keeps only stacks with a frame that matches; empty: all
  Patterns ignore;        // drops stacks with a frame that matches
  Patterns exclude;       // drops frames that match from all stacks
  bool wrappers = false;  // true: amounts stay with functions that only pass memory on
};

}  // namespace allomon::heap

#endif  // ALLOMON_TOOLS_HEAP_SELECTION_H_
