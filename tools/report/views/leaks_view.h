// The view of leaks: tells growing memory from memory that is kept since the start, and from
// caches.
#ifndef ALLOMON_TOOLS_REPORT_VIEWS_LEAKS_VIEW_H_
#define ALLOMON_TOOLS_REPORT_VIEWS_LEAKS_VIEW_H_

#include "tools/heap/interval.h"
#include "tools/report/table/scene.h"
#include "tools/report/table/table.h"
#include "tools/report/views/growth.h"

namespace allomon::views {

// Live blocks of a function, and facts on its freed ones.
struct Survivors {
  heap::Estimate live;
  heap::Estimate old;          // part of `live` that is older than an eighth of the run
  heap::Estimate outlived;     // part of `live`: its scope of labels has ended
  heap::Estimate unreachable;  // part of `live`: nothing refers to it, if that is known
  // Parts of `live` and `old` that are tables which have grown in steps (GrowInSteps), and the part
  // of the former that is younger than five eighths of the run.
  double steps_bytes = 0;
  double old_steps_bytes = 0;
  double young_steps_bytes = 0;
  // Of all other blocks:
  double young_bytes = 0;     // younger than half of the run
  double aged_bytes = 0;      // bytes of known age
  double died_old_bytes = 0;  // bytes of blocks that died older than an eighth of the run
  Growth growth;
  double allocated_bytes = 0;  // of all

  void Add(const Survivors& other);
};

enum class Verdict {
  kUnreachable,  // ten samples or more are live, and nothing refers to them
  kOutlived,     // ten samples or more are live after their scope of labels has ended
  kGrows,        // has all ages; old blocks stay, and more become old all the time
  kSteps,        // most of it is tables that are copied when they grow, the last time lately
  kMayGrow,      // as kGrows, but as many bytes may die old: too few samples to tell
  kFilled,       // grew and has stopped: a cache that is full
  kSilent,       // it may have grown: the program allocated next to nothing where that would show
  kNew,          // nearly all of the last half, and little of it was freed: growth that began late
  kKept,         // nearly all of the first half
  kTurnsOver,    // old blocks die, as those of a cache do
  kInUse,        // nearly all of the last half, and most of it was freed
  kUnknown,      // no ages are known
  kNoise,        // fewer than ten samples
};
Verdict VerdictOf(const Survivors& survivors, const Generations& generations);

// Adds the table "leaks" and the stacks of its first rows.  Rows to which nothing refers come
// first, by these bytes; then rows that outlived their scopes likewise; growing rows follow, the
// fastest on top, then those that grow in steps, by live bytes, kMayGrow, kSilent, and the others
// by old bytes.
void AddLeaks(const Scene& scene, Report* report);

}  // namespace allomon::views

#endif  // ALLOMON_TOOLS_REPORT_VIEWS_LEAKS_VIEW_H_
