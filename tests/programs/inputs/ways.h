// A function that both units inline, and a type that both describe.  ways_to_build.py finds the
// lines by the words behind `line:`.
#ifndef ALLOMON_TESTS_PROGRAMS_INPUTS_WAYS_H_
#define ALLOMON_TESTS_PROGRAMS_INPUTS_WAYS_H_

#include <cstdlib>
#include <map>
#include <string>

namespace shop {

using Shelves = std::map<std::string, void*>;  // much to describe, for dwz
extern void* g_last;
extern Shelves* g_shelves;

inline void* Reserve(size_t bytes) {
  void* block = std::malloc(bytes);  // line: of Reserve
  g_last = block;
  return block;
}

void* Order(size_t bytes);

}  // namespace shop

#endif  // ALLOMON_TESTS_PROGRAMS_INPUTS_WAYS_H_
