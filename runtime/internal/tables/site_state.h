// The part of a Site (site.h) that the heap reads and decides.
#ifndef ALLOMON_RUNTIME_INTERNAL_TABLES_SITE_STATE_H_
#define ALLOMON_RUNTIME_INTERNAL_TABLES_SITE_STATE_H_

#include <atomic>

namespace allomon::gc::internal {

struct SiteRecord;

class SiteState {
 public:
  SiteState(const SiteState&) = delete;
  SiteState& operator=(const SiteState&) = delete;

  const char* name() const { return name_; }
  // Whether objects are born old at present.  Cost: a load.
  bool allocates_old() const { return allocates_old_.load(std::memory_order_relaxed); }

 protected:
  constexpr explicit SiteState(const char* name) : name_(name) {}
  ~SiteState() = default;

 private:
  friend class SiteTable;

  const char* const name_;
  std::atomic<bool> allocates_old_{false};
  // Made when the site is first seen by a slow path.
  std::atomic<SiteRecord*> record_{nullptr};
};

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_TABLES_SITE_STATE_H_
