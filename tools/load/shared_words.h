// Words that the writer and the reader of heap_v2 share.
#ifndef ALLOMON_TOOLS_LOAD_SHARED_WORDS_H_
#define ALLOMON_TOOLS_LOAD_SHARED_WORDS_H_

namespace allomon::interchange {

// A comment at the end of Allomon's files, where other readers look for mappings.  It states the
// sampling rate of the estimates, which the period does not determine.
inline constexpr char kRateComment[] = "# allomon rate ";

}  // namespace allomon::interchange

#endif  // ALLOMON_TOOLS_LOAD_SHARED_WORDS_H_
