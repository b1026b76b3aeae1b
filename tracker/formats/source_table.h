// The source functions of a program, in the form in which an executable lists them for mlprof when
// it is run with the arguments `@MLton show-sources`.  MLMON.md has the grammar.
//
// A name is a function of the source text (mlprof calls it a master); a source is one copy of it
// that the optimizer made (a split); a sequence is a list of sources.  Each source names the
// sequence of those that it may call.
//
// Pure functions: thread safe, nothing thrown, linear in the size of the table; they allocate with
// operator new.
#ifndef ALLOMON_TRACKER_FORMATS_SOURCE_TABLE_H_
#define ALLOMON_TRACKER_FORMATS_SOURCE_TABLE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tracker/formats/profile_kind.h"

namespace allomon {

struct SourceName {
  std::string name;
  std::string position;  // "file: line"; empty for <main> and its like
};

struct Source {
  uint32_t name_index = 0;          // into SourceTable::names
  uint32_t successor_sequence = 0;  // into SourceTable::sequences
};

struct SourceTable {
  uint32_t magic = 0;
  std::vector<SourceName> names;
  std::vector<Source> sources;
  std::vector<std::vector<uint32_t>> sequences;  // of indices into sources
};

// By FixedSource.
inline constexpr std::string_view kFixedSourceNames[] = {"<unknown>", "<gc>", "<main>"};

// Returns a table of just the fixed entries.  Sequences 0 and 1 are the stacks {<unknown>} and
// {<gc>} that MLton's runtime relies on; kNoSuccessors is the empty sequence.
inline constexpr uint32_t kNoSuccessors = 2;
SourceTable FixedSourceTable();

// Returns a name that mlprof accepts: it refuses a whole table for a name that is empty or contains
// a TAB or a newline.  TABs and newlines become spaces, an empty name becomes "<unnamed>".
std::string SanitizedName(std::string_view name);

// The same for a position, which may be empty.
std::string SanitizedPosition(std::string_view position);

// Returns the whole answer to show-sources, with names and positions sanitized.  Indices are
// written unchanged.
std::string FormatSources(const SourceTable& table);

// Returns an executable shell script that prints the answer, for programs that were not linked to
// do so themselves.  It runs sh and tail.  A comment in it tells whether the profile next to it has
// live blocks only, which mlmon.out cannot express.  `comments` are further lines, each of which
// begins with "# ", such as those of call_sites.h.
enum class StubOf { kAll, kLive };
std::string FormatSourcesStub(const SourceTable& table, StubOf what = StubOf::kAll,
                              std::string_view comments = "");

// Extracts the answer from such a script without running it; empty if `script` is not one that
// FormatSourcesStub wrote.  Points into `script`.
std::string_view AnswerOfStub(std::string_view script);

// Whether the script belongs to a profile of live blocks.  Its first 32 bytes are enough.
bool IsStubOfLive(std::string_view script);

// Parses an answer by mlprof's rules and with its error texts, if it has one.  In a parsed table
// every index is valid.  An answer with no names (a program compiled without profiling) ends the
// parsing there, successfully.
bool ParseSources(std::string_view text, SourceTable* table, std::string* error);

// A hash of everything but the magic: two builds have the same magic only if their tables agree, up
// to one chance in 2^32.  Not for adversaries.
uint32_t ContentMagic(const SourceTable& table);

}  // namespace allomon

#endif  // ALLOMON_TRACKER_FORMATS_SOURCE_TABLE_H_
