// Heap profiles that tests write out: stacks of names with their weights.
#ifndef ALLOMON_TESTS_VIEWS_HAND_MADE_H_
#define ALLOMON_TESTS_VIEWS_HAND_MADE_H_

#include <map>
#include <string>
#include <vector>

#include "tools/heap/heap_profile.h"
#include "tools/report/table/options.h"

namespace allomon::views {

// Makes a profile.  A frame is "name" or "name@file.cc:12"; stacks are given innermost first.
class HandMade {
 public:
  // Allocated and live are known, at a rate of 1e-4.
  HandMade();

  // Adds a sample of blocks of one size, of which `live` are live and `peak` were at the peak.
  heap::Sample& Add(const std::vector<std::string>& stack, double size_bytes, double allocated,
                    double live = 0, double peak = 0);

  heap::HeapProfile profile;

 private:
  uint32_t LocationOf(const std::string& frame);
  uint32_t FunctionOf(const std::string& name, const std::string& file);

  std::map<std::string, uint32_t> locations_;
  std::map<std::string, uint32_t> functions_;
};

// Returns the report of a profile as text of that width, without terminal colours.  `args` are
// options of allomon report.  The test fails if the report does.
std::string Shown(const heap::HeapProfile& profile, const std::vector<std::string>& args,
                  int width = 0);
std::string Json(const heap::HeapProfile& profile, const std::vector<std::string>& args);
std::string Csv(const heap::HeapProfile& profile, const std::vector<std::string>& args);

// Returns the error line of a report that must fail.
std::string Failure(const heap::HeapProfile& profile, const std::vector<std::string>& args);

// A server that leaks, has a cache, formats many short texts, and once held 40 MB for a moment.
HandMade Server();

}  // namespace allomon::views

#endif  // ALLOMON_TESTS_VIEWS_HAND_MADE_H_
