#include "tools/load/recording/missing_of.h"

namespace allomon::recording {

heap::Missing MissingOf(const Shortages& shortages) {
  const auto number = [&](Shortage shortage) { return static_cast<double>(shortages[shortage]); };
  heap::Missing missing;
  missing.samples = number(Shortage::kSamples);
  missing.bytes = number(Shortage::kBytes);
  missing.ends = number(Shortage::kEnds);
  missing.threads = number(Shortage::kThreads);
  missing.saved = number(Shortage::kSaved);
  missing.names = number(Shortage::kNames);
  missing.frames = number(Shortage::kFrames);
  return missing;
}

}  // namespace allomon::recording
