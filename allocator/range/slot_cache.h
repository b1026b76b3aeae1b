// Free slots that a thread caches, so that a sample freed by the thread that allocated it needs no
// locked instruction for its memory.
#ifndef ALLOMON_ALLOCATOR_RANGE_SLOT_CACHE_H_
#define ALLOMON_ALLOCATOR_RANGE_SLOT_CACHE_H_

#include "allocator/range/size_classes.h"
#include "allocator/range/slot_classes.h"
#include "tracker/base/tagged_free_list.h"

namespace allomon::internal {

// Slots for blocks up to 1 KiB are kept, up to 16 of a class: 138 KiB in all.
inline constexpr uint32_t kCachedSlotClasses = SlotClass(1024) + 1;
using SlotCache = ThreadFreeCache<SlotLinks, kCachedSlotClasses, 16>;

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_RANGE_SLOT_CACHE_H_
