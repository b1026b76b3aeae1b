// What the writer and the reader of heap_v2 agree on.
#ifndef ALLOMON_TOOLS_LOAD_SHARED_WORDS_H_
#define ALLOMON_TOOLS_LOAD_SHARED_WORDS_H_

namespace allomon::interchange {

// A comment at the end of our files, where other readers look for mappings: the rate at which the
// estimates were made, which the period does not tell.
inline constexpr char kRateComment[] = "# allomon rate ";

}  // namespace allomon::interchange

#endif  // ALLOMON_TOOLS_LOAD_SHARED_WORDS_H_
