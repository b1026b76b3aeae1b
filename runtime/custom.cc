#include "runtime/custom.h"

#include <new>
#include <utility>

#include "runtime/internal/collect/collection.h"
#include "runtime/internal/collect/slow_path.h"

namespace allomon::gc {
namespace internal {
namespace {

// Collects because the bytes outside the heap may fill the machine while the nursery is nearly
// empty.
void CollectForBytes(Mutator& mutator, uint64_t bytes) {
  if (mutator.heap->WantsMajor(bytes)) CollectForGrowth(*mutator.heap, mutator, bytes);
}

// Reserves an entry of the heap's table; gives it back unless the block is made.
class PendingCustom {
 public:
  explicit PendingCustom(HeapCore& heap) : heap_(heap) { heap_.ReserveCustom(); }
  ~PendingCustom() {
    if (!became_) heap_.UnreserveCustom();
  }
  PendingCustom(const PendingCustom&) = delete;
  PendingCustom& operator=(const PendingCustom&) = delete;

  void Become(const CustomBlockEntry& entry) {
    became_ = true;
    heap_.AddCustom(entry);
  }

 private:
  HeapCore& heap_;
  bool became_ = false;
};

}  // namespace
}  // namespace internal

Local<CustomBlock> make_custom(void* data, uint64_t bytes, void (*release)(void* data)) {
  const FrameState caller = ALLOMON_CALLER_FRAME();
  internal::Mutator& mutator = internal::CurrentMutator();
  mutator.CheckMayAllocate();
  internal::CollectForBytes(mutator, bytes);
  constexpr size_t kBytes = sizeof(CustomBlock) + internal::kWordBytes;
  const uintptr_t header = internal::HeaderFor<CustomBlock>();
  char* start =
      internal::AllocateYoungSlow(mutator, kBytes, header, AllocationSource::kNormal, caller);
  CustomBlock* block = new (start + internal::kWordBytes) CustomBlock;
  block->data_ = data;
  block->bytes_ = bytes;
  internal::Object* object = reinterpret_cast<internal::Object*>(block);
  internal::HeaderOf(object) = header;
  internal::PendingCustom pending(*mutator.heap);
  internal::SampleCustom(mutator, object, bytes, caller);
  pending.Become({object, data, bytes, release});
  return internal::LocalOf<CustomBlock>(object);
}

void adjust_custom(Handle<CustomBlock> block, uint64_t bytes) {
  internal::Mutator& mutator = internal::CurrentMutator();
  mutator.CheckMayAllocate();
  const uint64_t before = std::exchange(block->bytes_, bytes);
  mutator.heap->custom_bytes.fetch_add(bytes - before, std::memory_order_relaxed);  // may wrap
  if (bytes <= before) return;
  mutator.heap->grown_bytes.fetch_add(bytes - before, std::memory_order_relaxed);
  internal::CollectForBytes(mutator, 0);
  mutator.heap->RunDue(&mutator);
}

}  // namespace allomon::gc
