// Allocation sites: places of a program that make objects of one kind.  When nearly all objects of
// a site live long, the heap allocates them in the old space (pretenuring).
//
//   gc::Site g_entries("cache entries");
//   ...
//   gc::Local<Entry> entry = gc::make<Entry>(g_entries, key, value);     // or
//   gc::Local<Entry> entry = gc::make<Entry>(ALLOMON_GC_SITE(), key, value);
//
// The heap follows one object in 16 KiB, later one in 64 KiB, of a thread's young allocations, and
// counts the ones that are promoted.  When at least 90 % of a site's objects are promoted, by an
// interval of three standard deviations, its objects are born old: in the old space, without being
// copied.  Some of them are still made young, and followed.  The site returns to young allocation
// when the interval says that fewer than 80 % are promoted, or that fewer than half of those born
// old live until the next major collection.  After each change back and forth a site waits longer
// before it changes again. HeapOptions::pretenure turns all of this off.
//
// A site belongs to the program, not to a heap: the objects of all heaps count together.
//
// Literature: Blackburn and others 2001 (pretenuring for Java, advice from profiles); Jump,
// Blackburn, Hardy 2004 (dynamic object sampling for pretenuring); Clifford and others 2015
// (memento mori).
#ifndef ALLOMON_RUNTIME_SITE_H_
#define ALLOMON_RUNTIME_SITE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "runtime/internal/tables/site_state.h"

namespace allomon::gc {

// The knowledge about a site since the last change of its state.
struct SiteSurvival {
  uint64_t samples = 0;   // objects that were promoted or died young
  uint64_t promoted = 0;  // of these samples
  uint64_t changes = 0;   // changes of the state, in total
};

// A Site lies in static storage, or is a member of a node of an interpreter's tree.  Thread safe,
// except its destruction, which comes after the last make() at the site; objects and heaps may live
// longer.
class Site : public internal::SiteState {
 public:
  // The name is for SaveSites() and is not copied.  A site without a name is not saved.
  constexpr explicit Site(const char* name = nullptr) : SiteState(name) {}
  // Cost: a mutex.
  ~Site();
  Site(const Site&) = delete;
  Site& operator=(const Site&) = delete;

  // With name() and allocates_old(), which tells whether objects are born old at present.
  // Cost: a mutex.
  SiteSurvival survival() const;
};

// Writes the states of all sites that have names, one to a line, so that the program's next run
// begins with them: ALLOMON_HEAP=sites=FILE, HeapOptions::sites_path.  The file is replaced as a
// whole.  The status has one line with the path, the cause and a remedy.  Any thread; if the thread
// is attached to a heap, collections wait for it during the call.
absl::Status SaveSites(const std::string& path);

// Reads a file of SaveSites().  Existing sites take their states at once, other sites when they are
// first seen. If a line is invalid, nothing changes and the status names the line.  Names of
// unknown sites are kept and are harmless.
absl::Status LoadSites(const std::string& path);

}  // namespace allomon::gc

// Gives each place in the source its own site, named after the place.
#define ALLOMON_GC_SITE_TEXT(word) #word
#define ALLOMON_GC_SITE_LINE(line) ALLOMON_GC_SITE_TEXT(line)
#define ALLOMON_GC_SITE()                                                         \
  ([]() -> ::allomon::gc::Site& {                                                 \
    static ::allomon::gc::Site site(__FILE__ ":" ALLOMON_GC_SITE_LINE(__LINE__)); \
    return site;                                                                  \
  }())

#endif  // ALLOMON_RUNTIME_SITE_H_
