// What grew and did not die, told from what is kept from the start and from caches.
#ifndef ALLOMON_TOOLS_REPORT_VIEWS_LEAKS_VIEW_H_
#define ALLOMON_TOOLS_REPORT_VIEWS_LEAKS_VIEW_H_

#include "tools/heap/interval.h"
#include "tools/report/table/scene.h"
#include "tools/report/table/table.h"
#include "tools/report/views/growth.h"

namespace allomon::views {

// Live blocks of a function.
struct Survivors {
  heap::Estimate live;
  heap::Estimate old;         // of them, older than an eighth of the run
  double young_bytes = 0;     // younger than half of the run
  double aged_bytes = 0;      // those whose age is known
  double died_old_bytes = 0;  // of blocks that died older than an eighth of the run
  double allocated_bytes = 0;
  Growth growth;

  void Add(const Survivors& other);
};

enum class Verdict {
  kGrows,      // of all ages, what is old does not die, and more becomes old all the time
  kMayGrow,    // as far as it is known: there may be as much that dies old
  kFilled,     // grew, and has stopped: a cache that is full
  kNew,        // nearly all of the last half, and little of it was freed: growth that began late
  kKept,       // nearly all of the first half
  kTurnsOver,  // old blocks die, as those of a cache do
  kInUse,      // nearly all of the last half, and most was freed
  kUnknown,    // no ages are known
  kNoise,      // fewer than ten samples
};
Verdict VerdictOf(const Survivors& survivors, const Generations& generations);

// Adds the table "leaks": what grows first, the fastest on top, then by what is old;
// and the stacks of the first rows.
void AddLeaks(const Scene& scene, Report* report);

}  // namespace allomon::views

#endif  // ALLOMON_TOOLS_REPORT_VIEWS_LEAKS_VIEW_H_
