// The resident memory of a process, divided into rows that add up to it.
#ifndef ALLOMON_TOOLS_EXPLAIN_ACCOUNT_H_
#define ALLOMON_TOOLS_EXPLAIN_ACCOUNT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tools/explain/heap_blocks.h"
#include "tools/explain/mappings.h"
#include "tools/explain/notes.h"

namespace allomon::explain {

struct Row {
  std::string id;    // "free_in_pages", for programs
  std::string name;  // "free blocks between live ones", for people
  uint64_t resident_bytes = 0;
  uint64_t untouched_bytes = 0;  // asked for, and not resident: never written, or swapped
  uint64_t count = 0;            // of blocks, threads or mappings; 0: not counted
  std::string remedy;            // what would make it smaller; "": nothing is known
  uint64_t saves_bytes = 0;      // at most, by the remedy
};

struct Account {
  Totals totals;          // the sums of what was read
  std::vector<Row> rows;  // the largest first; their bytes add up to totals.resident_bytes
  std::vector<std::string> notes;
  uint64_t large_live_bytes = 0;  // of live blocks of kLargeBytes or more, resident or not
};

// What the mappings do not say.
struct Facts {
  std::vector<Area> areas;               // without overlap, in the order of their addresses
  std::vector<uint64_t> stack_pointers;  // of threads
  uint64_t stack_bytes = 0;              // the usual size of a thread's stack; 0: not known
  std::vector<Module> modules;           // in the order of their addresses; others are not known
  // The resident bytes of a part of a mapping.
  std::function<uint64_t(uint64_t begin, uint64_t end)> resident_bytes;
};

// Each resident page is in one row: by the area that it lies in, or by the kind of its mapping.  If
// the areas of a mapping have more resident bytes than the mapping had when it was read, they get
// less, so that rows always add up.
Account MakeAccount(const std::vector<Mapping>& mappings, const Facts& facts);

uint64_t UntouchedBytes(const Account& account);

// The rows, of which those with names that the program gave its mappings are joined into one, but
// for the `names` largest.
std::vector<Row> WithoutSmallNames(const std::vector<Row>& rows, size_t names);

// Divides the row of live blocks: `rounding_bytes` of them were not asked for.  Of these,
// `beyond_bytes` are rounding of large blocks, of which the part that is not resident is taken from
// the row's untouched bytes.  Does nothing if there is no such row, or nothing to divide.
void SplitLive(double rounding_bytes, double beyond_bytes, const std::string& name,
               Account* account);

}  // namespace allomon::explain

#endif  // ALLOMON_TOOLS_EXPLAIN_ACCOUNT_H_
