#include "runtime/heap.h"

#include "runtime/internal/collect/attach.h"
#include "runtime/internal/collect/collection.h"
#include "runtime/internal/collect/fork.h"
#include "runtime/internal/collect/limit.h"
#include "runtime/internal/collect/slow_path.h"
#include "runtime/internal/collect/standing.h"

namespace allomon::gc {
namespace {

internal::Mutator* RunningMutator(internal::HeapCore& core) {
  internal::Mutator* mutator = internal::MutatorHere(core);
  return mutator != nullptr && mutator->runs() ? mutator : nullptr;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Heap>> Heap::Create(HeapOptions options) {
  if (absl::Status status = options.ParseEnvironment(); !status.ok()) return status;
  if (absl::Status status = options.Validate(); !status.ok()) return status;
  if (!options.sites_path.empty()) {
    const absl::Status loaded = LoadSites(options.sites_path);
    if (!loaded.ok()) return loaded;
  }
  // Stress mode divides the nursery into two halves.
  const size_t nursery_bytes = internal::RoundToSlices(options.nursery_bytes);
  const absl::Status status =
      internal::ProbeYoungRange(options.stress_every == 0 ? nursery_bytes : nursery_bytes * 2);
  if (!status.ok()) return status;
  return std::unique_ptr<Heap>(new Heap(options));
}

Heap::Heap(const HeapOptions& options) : core_(std::make_unique<internal::HeapCore>(options)) {
  internal::RegisterForFork(core_.get());
}
Heap::~Heap() { internal::UnregisterForFork(core_.get()); }

void Heap::Collect(CollectionKind kind) {
  internal::Mutator* mutator = RunningMutator(*core_);
  internal::Collect(*core_, kind, mutator);
  if (mutator != nullptr) internal::SafepointSlow(*mutator);
}

void Heap::CollectFromTop(CollectionKind kind) {
  internal::Mutator* mutator = RunningMutator(*core_);
  internal::Collect(*core_, kind, mutator, internal::CallersStack::kKeepsNothing);
  if (mutator != nullptr) internal::SafepointSlow(*mutator);
}

HeapStatistics Heap::statistics() { return internal::Statistics(*core_, RunningMutator(*core_)); }

static internal::Mutator* AttachTo(internal::HeapCore& core) {
  ALLOMON_GC_CHECK(internal::t_window.mutator == nullptr,
                   "rule.attached: this thread is attached already");
  internal::Mutator* mutator = internal::Attach(core);
  if (mutator == nullptr) throw std::bad_alloc();
  return mutator;
}

Mutator::Mutator(Heap& heap) : mutator_(AttachTo(heap.core())) {}

Mutator::~Mutator() {
  internal::Mutator* mutator = internal::t_window.mutator;
  try {
    internal::SafepointSlow(*mutator);
  } catch (...) {  // the tracker has counted the exception; no caller is left to catch it
  }
  internal::Detach(*mutator->heap, mutator);
}

void Mutator::RequestSafepoint() const { mutator_->RequestAttention(); }

bool RequestSafepoint() {
  internal::Mutator* mutator = internal::t_window.mutator;
  if (mutator == nullptr) return false;
  mutator->RequestAttention();
  return true;
}

NativeRegion::~NativeRegion() { internal::LeaveNative(internal::CurrentMutator()); }

void SafepointSlow() { internal::SafepointSlow(internal::CurrentMutator()); }

NoAllocation::NoAllocation() {
  internal::Mutator& mutator = internal::CurrentMutator();
  ALLOMON_GC_CHECK(mutator.runs(), "rule.native: a NoAllocation scope in a NativeRegion");
  ++mutator.no_allocation;
  internal::PublishLimit(mutator);
}

NoAllocation::~NoAllocation() {
  internal::Mutator& mutator = internal::CurrentMutator();
  --mutator.no_allocation;
  internal::PublishLimit(mutator);
}

namespace internal {

StandPoint& BeginNative() {
  Mutator& mutator = CurrentMutator();
  ALLOMON_GC_CHECK(mutator.runs(), "rule.native: a NativeRegion in a NativeRegion");
  return mutator.stack.here.point;
}

void EnterNative(uintptr_t frame_end) {
  Mutator& mutator = CurrentMutator();
  mutator.stack.here.KeepFrame(frame_end);
  EnterNative(mutator);
}

// Globals outlive threads, so the node names the heap.
struct OwnedGlobal : GlobalNode {
  HeapCore* heap;
};

GlobalNode* NewGlobal(Object* value, const char* name) {
  HeapCore* heap = CurrentMutator().heap;
  OwnedGlobal* node = new OwnedGlobal;  // malloc may run user code, which may collect
  node->object = value;
  node->name = name;
  node->heap = heap;
  heap->AddGlobal(node);
  return node;
}

void DeleteGlobal(GlobalNode* node) {
  OwnedGlobal* owned = static_cast<OwnedGlobal*>(node);
  owned->heap->RemoveGlobal(owned);
  delete owned;
}

Slot& SlotOfGlobal(GlobalNode* node) { return node->object; }

void AddFinalizer(Object* object, std::function<void(Object*)> run) {
  ALLOMON_GC_CHECK(PointsToObject(object), "rule.finalizer: null or a number has no finalizer");
  CurrentMutator().heap->AddFinalizer(object, std::move(run));
}

}  // namespace internal
}  // namespace allomon::gc
