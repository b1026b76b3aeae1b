// The places in a process where a search for references begins, and those that it leaves out.
#ifndef ALLOMON_TOOLS_LEAKS_ROOTS_H_
#define ALLOMON_TOOLS_LEAKS_ROOTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tools/explain/heap_blocks.h"
#include "tools/explain/mappings.h"

namespace allomon::leaks {

// Sums by what a place is.
class Roots {
 public:
  // `blocks` are those that no root before has referred to.
  void Add(const std::string& what, uint64_t size_bytes, uint64_t blocks);
  void AddUnsearched(const std::string& what, uint64_t size_bytes);

  // Two tables for people, the larger rows first.
  std::string Text() const;

 private:
  struct Row {
    std::string what;
    uint64_t size_bytes;
    uint64_t blocks;
    uint64_t places;
  };
  static void AddTo(std::vector<Row>* rows, const Row& row);

  std::vector<Row> searched_;
  std::vector<Row> unsearched_;
};

std::string NameOfRoot(const explain::Mapping& mapping);
std::string NameOfArea(explain::Use use);

}  // namespace allomon::leaks

#endif  // ALLOMON_TOOLS_LEAKS_ROOTS_H_
