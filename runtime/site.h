// Allocation sites: places of a program that make objects of one kind, and whose objects the heap
// makes old at once when nearly all of them live long (pretenuring).
//
//   gc::Site g_entries("cache entries");
//   ...
//   gc::Local<Entry> entry = gc::make<Entry>(g_entries, key, value);     // or
//   gc::Local<Entry> entry = gc::make<Entry>(ALLOMON_GC_SITE(), key, value);
//
// The heap follows one object in 16 KiB, later one in 64 KiB, of what a thread makes young, and
// sees which are promoted.  The objects of a site of which 90 % are, and an interval of three
// standard deviations says so, are born old from then on: in the old space, without being copied.
// Some of them are still made young, and followed.  The site goes back when the interval says that
// fewer than 80 % are promoted, or that fewer than half of those that were born old live until the
// next major collection.  A site that goes to and fro waits longer each time.
// HeapOptions::pretenure turns all of this off.
//
// A site is a program's, not a heap's: what two heaps make at it decides together.
//
// Literature: Blackburn and others 2001 (pretenuring for Java, advice from profiles); Jump,
// Blackburn, Hardy 2004 (dynamic object sampling for pretenuring); Clifford and others 2015
// (memento mori).
#ifndef ALLOMON_RUNTIME_SITE_H_
#define ALLOMON_RUNTIME_SITE_H_

#include <atomic>
#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace allomon::gc {

namespace internal {
struct SiteRecord;
class SiteTable;
}  // namespace internal

// What is known of a site since the last change of its state.
struct SiteSurvival {
  uint64_t samples = 0;   // that were promoted, or have died young
  uint64_t promoted = 0;  // of these
  uint64_t changes = 0;   // of the state, in all
};

// In static storage, or a member of a node of an interpreter's tree.  Thread safe, except its
// destruction, which comes after the last make() at the site; objects and heaps may live longer.
class Site {
 public:
  // The name is for SaveSites() and not copied; a site without one is not saved.
  constexpr explicit Site(const char* name = nullptr) : name_(name) {}
  // Cost: a mutex.
  ~Site();
  Site(const Site&) = delete;
  Site& operator=(const Site&) = delete;

  const char* name() const { return name_; }
  // Whether objects are born old at present.  Cost: a load.
  bool allocates_old() const { return allocates_old_.load(std::memory_order_relaxed); }
  // Cost: a mutex.
  SiteSurvival survival() const;

 private:
  friend class internal::SiteTable;

  const char* const name_;
  std::atomic<bool> allocates_old_{false};
  // Made when the site is first seen by a slow path.
  std::atomic<internal::SiteRecord*> record_{nullptr};
};

// Writes the states of all sites that have names, one to a line, so that the program's next run
// begins with them: ALLOMON_HEAP=sites=FILE, HeapOptions::sites_path.  The file is replaced as a
// whole.  The status has one line with the path, the cause and a remedy.  Any thread; a thread that
// is attached to a heap does not stand meanwhile.
absl::Status SaveSites(const std::string& path);

// Reads such a file.  Sites that exist take their states at once, others when they are first seen.
// A file that is none changes nothing: the status names the line.  A name that no site has is kept,
// and does no harm.
absl::Status LoadSites(const std::string& path);

}  // namespace allomon::gc

// A site of its own for each place in the source, with the place as its name.
#define ALLOMON_GC_SITE_TEXT(word) #word
#define ALLOMON_GC_SITE_LINE(line) ALLOMON_GC_SITE_TEXT(line)
#define ALLOMON_GC_SITE()                                                         \
  ([]() -> ::allomon::gc::Site& {                                                 \
    static ::allomon::gc::Site site(__FILE__ ":" ALLOMON_GC_SITE_LINE(__LINE__)); \
    return site;                                                                  \
  }())

#endif  // ALLOMON_RUNTIME_SITE_H_
