// Makes the pages of the server, from requests.
#ifndef ALLOMON_TOOLS_SERVE_PAGES_H_
#define ALLOMON_TOOLS_SERVE_PAGES_H_

#include <string>
#include <string_view>
#include <vector>

#include "tools/serve/bounded_work.h"
#include "tools/serve/heap_of.h"
#include "tools/serve/http.h"
#include "tools/serve/pusher.h"
#include "tools/serve/shared_replies.h"
#include "tools/serve/source.h"
#include "tools/symbols/name_sources.h"

namespace allomon::serve {

// Thread safe.
class Pages {
 public:
  // `source` must outlive it, and `pushes`, if that is not null.
  Pages(Source* source, const NameSources& name_sources, const WorkLimits& limits,
        const PushCounts* pushes = nullptr)
      : source_(*source), options_{name_sources, true}, limits_(limits), pushes_(pushes) {}

  // True if the text is a request for a page that takes no time.
  static bool IsQuick(std::string_view request);

  // Returns the page, or one line that says what is wrong with the request.  Recordings are read in
  // a process of its own for each reply (bounded_work.h).
  Reply Get(const Request& request);

 private:
  using Files = std::vector<RecordingFile>;
  using Page = absl::StatusOr<Reply> (Pages::*)(const Files& files, const Request& request) const;
  struct Entry {
    const char* path;
    const char* about;
    Page page;
    bool takes_body;
    // The names of the parameters that the page uses beside those of a choice (heap_of.h). Requests
    // with equal values of all these share one reply within a second.
    const char* parameters;
    bool has_choice;
    bool reads_recordings;
  };
  static const Entry kEntries[];
  static const Entry* Find(const std::string& path);
  static std::string KeyOf(const Entry& entry, const Request& request);

  Reply Make(const Entry& entry, const Request& request);
  Reply Call(const Entry& entry, const Files& files, const Request& request) const;

  absl::StatusOr<heap::HeapProfile> HeapFor(const Files& files, const Request& request) const;
  absl::StatusOr<Reply> PprofOf(const Files& files, const Request& request, const char* name,
                                heap::Metric first) const;
  absl::StatusOr<Reply> Index(const Files& files, const Request& request) const;
  absl::StatusOr<Reply> Flame(const Files& files, const Request& request) const;
  absl::StatusOr<Reply> MetricsText(const Files& files, const Request& request) const;
  absl::StatusOr<Reply> Heap(const Files& files, const Request& request) const;
  absl::StatusOr<Reply> Allocs(const Files& files, const Request& request) const;
  absl::StatusOr<Reply> Profile(const Files& files, const Request& request) const;
  absl::StatusOr<Reply> Cmdline(const Files& files, const Request& request) const;
  absl::StatusOr<Reply> Symbol(const Files& files, const Request& request) const;

  Source& source_;
  const HeapOptions options_;
  const WorkLimits limits_;
  const PushCounts* const pushes_;
  SharedReplies replies_;
};

}  // namespace allomon::serve

#endif  // ALLOMON_TOOLS_SERVE_PAGES_H_
