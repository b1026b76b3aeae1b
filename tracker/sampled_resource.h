// Makes any std::pmr::memory_resource sampled and tracked, so that an arena of one's own is
// profiled without touching malloc.
//
//   std::pmr::monotonic_buffer_resource arena;
//   allomon::SampledResource sampled(&arena);
//   std::pmr::vector<int> numbers(&sampled);
//
// Blocks stay where the upstream resource puts them.  A block that is never deallocated one by one,
// as in an arena, dies with this object: destroy it together with the arena.
//
// As thread safe as the upstream resource.  An unsampled allocation costs a subtraction and a
// branch more, a deallocation one load and a branch.  Throws what upstream throws.
//
// libc++ has std::pmr from version 16 on; with an older one this header declares nothing.
#ifndef ALLOMON_TRACKER_SAMPLED_RESOURCE_H_
#define ALLOMON_TRACKER_SAMPLED_RESOURCE_H_

#include <cstddef>
#include <cstdint>

#if __has_include(<memory_resource>)
#include <memory_resource>

#include "tracker/core/address_index.h"

namespace allomon {

class SampledResource : public std::pmr::memory_resource {
 public:
  // `upstream` is not owned and must outlive this object.
  explicit SampledResource(std::pmr::memory_resource* upstream = std::pmr::get_default_resource())
      : upstream_(upstream) {}
  // Runs the dealloc callbacks of the blocks that are still live.
  ~SampledResource() override { EndAll(); }
  SampledResource(const SampledResource&) = delete;
  SampledResource& operator=(const SampledResource&) = delete;

  // Ends all blocks without destroying the object: for an arena that is released and used again.
  void EndAll();

  std::pmr::memory_resource* upstream() const { return upstream_; }

 private:
  void* do_allocate(size_t size_bytes, size_t alignment_bytes) override;
  void do_deallocate(void* block, size_t size_bytes, size_t alignment_bytes) override;
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  void ReportSlow(void* block, size_t size_bytes);

  std::pmr::memory_resource* const upstream_;
  internal::AddressIndex sampled_;
};

}  // namespace allomon

#endif  // std::pmr

#endif  // ALLOMON_TRACKER_SAMPLED_RESOURCE_H_
