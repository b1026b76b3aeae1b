// Makes the requests of an interval: allocations of each recording since the look before, and its
// live blocks.
#ifndef ALLOMON_TOOLS_SERVE_PUSH_LOOK_H_
#define ALLOMON_TOOLS_SERVE_PUSH_LOOK_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tools/pprof/wire.h"
#include "tools/serve/bounded_work.h"
#include "tools/serve/heap_of.h"
#include "tools/serve/http.h"
#include "tools/serve/source.h"
#include "tools/symbols/name_sources.h"

namespace allomon::serve {

// For one thread.
class PushLook {
 public:
  // Recordings that began before `since_unix_nanos` count from the first look on, others from their
  // begin.  `source` must outlive it.  `say` gets a line on recordings that cannot be
  // read, once for each.
  PushLook(Source* source, const NameSources& name_sources, int64_t since_unix_nanos,
           std::function<void(const std::string& line)> say)
      : source_(*source),
        options_{name_sources, true},
        since_unix_nanos_(since_unix_nanos),
        say_(std::move(say)) {}

  // Returns the bodies, one for each program of each recording that has changed.  Reads in a
  // process of its own (bounded_work.h): what fails is in the next look's interval.  Throws
  // Cancelled.
  std::vector<SharedText> Look(const std::atomic<bool>* is_cancelled);

 private:
  Reply Make(const std::vector<RecordingFile>& files) const;
  void KeepAll(const RecordingFile& file, pprof::WireWriter* out) const;
  void SayOnce(const std::string& line);

  Source& source_;
  const HeapOptions options_;
  const int64_t since_unix_nanos_;
  const std::function<void(const std::string& line)> say_;
  // The profiles of the look before, as pprof: differences then add up to the pages of pprof.
  std::map<std::string, std::string> before_;
  bool is_first_ = true;
  std::string last_line_;
};

}  // namespace allomon::serve

#endif  // ALLOMON_TOOLS_SERVE_PUSH_LOOK_H_
