// The comments of a pprof file that carry what pprof has no place for.  README.md documents them,
// line by line.
#ifndef ALLOMON_TOOLS_PPROF_COMMENTS_H_
#define ALLOMON_TOOLS_PPROF_COMMENTS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tools/heap/heap_profile.h"

namespace allomon::pprof {

// What begins the lines that are read again.
inline constexpr std::string_view kProfileLine = "allomon-profile ";
inline constexpr std::string_view kThreadLine = "allomon-thread ";
inline constexpr std::string_view kTimelineLine = "allomon-timeline ";
inline constexpr std::string_view kHeaderlessLine = "allomon-headerless ";
inline constexpr std::string_view kAgesLine = "allomon-ages ";

// The form of these lines.
inline constexpr int kCommentsVersion = 1;

// All lines, those for people first.
std::vector<std::string> CommentsOf(const heap::HeapProfile& profile);

// The lines of one file.
class CommentReader {
 public:
  explicit CommentReader(std::vector<std::string_view> lines) : lines_(std::move(lines)) {}

  // Fills all but the samples and what these refer to.  False if the file is not of Allomon's make,
  // or of a later version: then the lines become notes.  A line that is damaged is left out.
  bool ReadProfile(heap::HeapProfile* profile);

  // Adds to the samples what is known of single ones.  They must be those that were written: what
  // another tool has merged, cut or sorted has no ages, and a note says so.
  void ReadSamples(heap::HeapProfile* profile) const;

 private:
  void ReadHeader(std::string_view json, heap::HeapProfile* profile);
  void ReadForeign(heap::HeapProfile* profile) const;
  template <typename Function>
  void ForEach(std::string_view head, Function function) const;

  std::vector<std::string_view> lines_;
  int headers_ = 0;         // files that this one was merged from
  uint64_t fingerprint_ = 0;
};

// Of a value that is written as an integer; 0 for what is none.
int64_t Rounded(double value);

// Tells the samples of one profile from those of another.
uint64_t Fingerprint(const heap::HeapProfile& profile);

}  // namespace allomon::pprof

#endif  // ALLOMON_TOOLS_PPROF_COMMENTS_H_
