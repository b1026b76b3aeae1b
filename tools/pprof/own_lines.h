// The lines of a pprof file that carry what pprof has no place for.  README.md documents them, one
// by one.
#ifndef ALLOMON_TOOLS_PPROF_OWN_LINES_H_
#define ALLOMON_TOOLS_PPROF_OWN_LINES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tools/heap/heap_profile.h"

namespace allomon::pprof {

// How each kind of line begins.  The first kind is a comment; the others are strings that nothing
// refers to, since `go tool pprof` prints all comments above every table.
inline constexpr std::string_view kProfileLine = "allomon-profile ";
inline constexpr std::string_view kRunLine = "allomon-run ";
inline constexpr std::string_view kThreadLine = "allomon-thread ";
inline constexpr std::string_view kTimelineLine = "allomon-timeline ";
inline constexpr std::string_view kHeaderlessLine = "allomon-headerless ";
inline constexpr std::string_view kAgesLine = "allomon-ages ";

inline constexpr int kLinesVersion = 1;

// The function of the only frame of samples that have none.
inline constexpr std::string_view kNoStack = "[no stack]";

// For people, then the profile line.
std::vector<std::string> CommentsOf(const heap::HeapProfile& profile);

// All other lines.
std::vector<std::string> StringsOf(const heap::HeapProfile& profile);

bool IsOwnLine(std::string_view text);

// Reads the lines of a file, which may be anything: one that is damaged is left out.
class OwnLines {
 public:
  // Both must outlive it.
  OwnLines(const std::vector<std::string_view>& comments,
           const std::vector<std::string_view>& strings)
      : comments_(comments), strings_(strings) {}

  // Fills all but the samples and what these refer to.
  void ReadProfile(heap::HeapProfile* profile);

  // Whether the file is of Allomon's make, and of this version.
  bool is_ours() const { return profile_lines_ > 0; }

  // Adds to the samples what is known of single ones.  They must be those that were written: what
  // another tool has merged, cut or sorted has no lifetimes, and a note says so.
  void ReadSamples(heap::HeapProfile* profile) const;

 private:
  void ReadProfileLine(std::string_view json, heap::HeapProfile* profile);

  const std::vector<std::string_view>& comments_;
  const std::vector<std::string_view>& strings_;
  int profile_lines_ = 0;  // one per profile that the file was merged from
  uint64_t fingerprint_ = 0;
};

// Of a value that is written as an integer; 0 for what is none.
int64_t Rounded(double value);

// Tells the samples of one profile from those of another.
uint64_t Fingerprint(const heap::HeapProfile& profile);

}  // namespace allomon::pprof

#endif  // ALLOMON_TOOLS_PPROF_OWN_LINES_H_
