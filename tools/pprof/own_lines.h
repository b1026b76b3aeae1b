// The lines of a pprof file that carry facts for which pprof has no field.  README.md documents
// each.
#ifndef ALLOMON_TOOLS_PPROF_OWN_LINES_H_
#define ALLOMON_TOOLS_PPROF_OWN_LINES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tools/heap/heap_profile.h"

namespace allomon::pprof {

// The beginning of each kind of line.  The first kind is a comment; the others are strings to which
// nothing refers, because `go tool pprof` prints all comments above every table.
inline constexpr std::string_view kProfileLine = "allomon-profile ";
inline constexpr std::string_view kRunLine = "allomon-run ";
inline constexpr std::string_view kThreadLine = "allomon-thread ";
inline constexpr std::string_view kTimelineLine = "allomon-timeline ";
inline constexpr std::string_view kHeaderlessLine = "allomon-headerless ";
inline constexpr std::string_view kSourcesLine = "allomon-sources ";
inline constexpr std::string_view kAgesLine = "allomon-ages ";
inline constexpr std::string_view kOutlivedLine = "allomon-outlived ";
inline constexpr std::string_view kSizesLine = "allomon-sizes ";

inline constexpr int kLinesVersion = 1;

// The function in the only frame of samples with an empty stack.
inline constexpr std::string_view kNoStack = "[no stack]";

// Returns a summary for people, then the profile line.
std::vector<std::string> CommentsOf(const heap::HeapProfile& profile);

// Returns all lines that are not comments.
std::vector<std::string> StringsOf(const heap::HeapProfile& profile);

bool IsOwnLine(std::string_view text);

// Reads the lines of a file.  The file may be anything: damaged lines are left out.
class OwnLines {
 public:
  // Callers keep both vectors alive as long as this object.
  OwnLines(const std::vector<std::string_view>& comments,
           const std::vector<std::string_view>& strings)
      : comments_(comments), strings_(strings) {}

  // Fills the whole profile except samples, stacks and code.
  void ReadProfile(heap::HeapProfile* profile);

  // True if this version of Allomon wrote the file.
  bool is_ours() const { return profile_lines_ > 0; }

  // False if samples have no threads, so that a label "thread" is the program's own.  Known after
  // ReadProfile().
  bool samples_have_threads() const { return samples_have_threads_; }

  // Adds lifetimes and other facts to single samples.  The samples must be those that were written:
  // if another tool has merged, cut or sorted them, they get no lifetimes, and a note says so.
  void ReadSamples(heap::HeapProfile* profile) const;

 private:
  void ReadProfileLine(std::string_view json, heap::HeapProfile* profile);
  void ReadRunLine(std::string_view json, heap::HeapProfile* profile);

  const std::vector<std::string_view>& comments_;
  const std::vector<std::string_view>& strings_;
  int profile_lines_ = 0;  // one per profile that the file was merged from
  bool samples_have_threads_ = true;
  uint64_t fingerprint_ = 0;
};

// Rounds a value for an integer field; 0 for NaN.
int64_t Rounded(double value);

// A hash that tells the samples of one profile from those of another.
uint64_t Fingerprint(const heap::HeapProfile& profile);

// Returns a few lines for people, without control characters: the recorded program, and how it was
// sampled.
std::vector<std::string> SummaryOf(const heap::HeapProfile& profile);

}  // namespace allomon::pprof

#endif  // ALLOMON_TOOLS_PPROF_OWN_LINES_H_
