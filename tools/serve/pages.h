// The pages of the server: from a request to a reply.
#ifndef ALLOMON_TOOLS_SERVE_PAGES_H_
#define ALLOMON_TOOLS_SERVE_PAGES_H_

#include <string>

#include "tools/serve/heap_of.h"
#include "tools/serve/http.h"
#include "tools/serve/shared_replies.h"
#include "tools/serve/source.h"

namespace allomon::serve {

// Thread safe.
class Pages {
 public:
  // `source` must outlive it.
  Pages(Source* source, const std::string& debug_dir)
      : source_(*source), options_{debug_dir, true} {}

  // What is wrong with a request is its reply, in one line.
  Reply Get(const Request& request);

 private:
  using Page = absl::StatusOr<Reply> (Pages::*)(const Request& request);
  struct Entry {
    const char* path;
    const char* about;
    Page page;
    bool takes_body;
    bool is_shared;  // equal requests within a second have one reply
  };
  static const Entry kEntries[];
  static const Entry* Find(const std::string& path);

  Reply Make(const Entry& entry, const Request& request);

  absl::StatusOr<heap::HeapProfile> HeapFor(const Request& request);
  absl::StatusOr<Reply> PprofOf(const Request& request, const char* name, heap::Metric first);
  absl::StatusOr<Reply> Index(const Request& request);
  absl::StatusOr<Reply> Flame(const Request& request);
  absl::StatusOr<Reply> MetricsText(const Request& request);
  absl::StatusOr<Reply> Heap(const Request& request);
  absl::StatusOr<Reply> Allocs(const Request& request);
  absl::StatusOr<Reply> Profile(const Request& request);
  absl::StatusOr<Reply> Cmdline(const Request& request);
  absl::StatusOr<Reply> Symbol(const Request& request);

  Source& source_;
  const HeapOptions options_;
  SharedReplies replies_;
};

}  // namespace allomon::serve

#endif  // ALLOMON_TOOLS_SERVE_PAGES_H_
