#include "tracker/c/counted_stacks.h"

#include "tracker/base/check.h"

namespace allomon::c {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

void AddOwn(std::atomic<uint64_t>* sum, uint64_t more) {
  sum->store(sum->load(kRelaxed) + more, kRelaxed);
}

// Fibonacci hashing: ids are dense, and a program allocates at stacks with neighbouring ids.
uint32_t HashOf(uint32_t id) { return id * 2654435769u; }

allomon_counted_stack ToC(const CountedStack& stack) {
  allomon_counted_stack out = {};
  out.struct_size = sizeof(out);
  out.frames = stack.callstack.begin();
  out.n_frames = static_cast<uint32_t>(stack.callstack.size());
  out.is_cut = stack.callstack.cut();
  out.blocks = stack.blocks.blocks();
  out.bytes = stack.blocks.bytes();
  out.live_blocks = stack.blocks.live_blocks();
  out.live_bytes = stack.blocks.live_bytes();
  return out;
}

}  // namespace

uint64_t CountedBlocks::Enter(uint64_t size_bytes) {
  AddOwn(&blocks_, 1);
  AddOwn(&bytes_, size_bytes);
  live_blocks_.fetch_add(1, kRelaxed);
  return live_bytes_.fetch_add(size_bytes, kRelaxed) + size_bytes;
}

void CountedBlocks::Leave(uint64_t size_bytes) {
  [[maybe_unused]] const uint64_t blocks = live_blocks_.fetch_sub(1, kRelaxed);
  [[maybe_unused]] const uint64_t bytes = live_bytes_.fetch_sub(size_bytes, kRelaxed);
  ALLOMON_DCHECK_NE("inv.counting.live", blocks, 0u);
  ALLOMON_DCHECK_LE("inv.counting.live", size_bytes, bytes);
}

CountedStack* CountedStacks::PlaceOf(const Callstack& callstack) {
  if (callstack.id() == 0) return &rest_;
  ALLOMON_DCHECK_LT("inv.counting.place", stacks_, kPlaces);
  uint32_t place = HashOf(callstack.id()) % kPlaces;
  for (; places_[place].callstack.id() != 0; place = (place + 1) % kPlaces) {
    if (places_[place].callstack.id() == callstack.id()) return &places_[place];
  }
  if (stacks_ == kMostStacks) return &rest_;
  ++stacks_;
  places_[place].callstack = callstack;
  return &places_[place];
}

CountedStack* CountedStacks::Enter(const Allocation& allocation) {
  CountedStack* const stack = PlaceOf(allocation.callstack);
  stack->blocks.Enter(allocation.size_bytes);
  // Frees only lower the live bytes, so the peak is reached when the one thread allocates.
  const uint64_t live_bytes = all_.Enter(allocation.size_bytes);
  if (live_bytes > peak_bytes_.load(kRelaxed)) peak_bytes_.store(live_bytes, kRelaxed);
  return stack;
}

void CountedStacks::Leave(CountedStack* stack, uint64_t size_bytes) {
  ALLOMON_DCHECK("inv.counting.place",
                 stack == &rest_ || (places_.data() <= stack && stack < places_.data() + kPlaces));
  stack->blocks.Leave(size_bytes);
  all_.Leave(size_bytes);
}

allomon_allocation_totals CountedStacks::Totals() const {
  allomon_allocation_totals totals = ALLOMON_ALLOCATION_TOTALS;
  totals.blocks = all_.blocks();
  totals.bytes = all_.bytes();
  totals.peak_bytes = peak_bytes_.load(kRelaxed);
  totals.live_blocks = all_.live_blocks();
  totals.live_bytes = all_.live_bytes();
  return totals;
}

void CountedStacks::ForEach(int32_t (*each)(void* user, const allomon_counted_stack* stack),
                            void* user) const {
  const auto tell = [&](const CountedStack& stack) {
    if (stack.blocks.blocks() == 0) return true;
    const allomon_counted_stack told = ToC(stack);
    ALLOMON_DCHECK("inv.counting.live",
                   told.live_blocks <= told.blocks && told.live_bytes <= told.bytes);
    return each(user, &told) == 0;
  };
  for (const CountedStack& stack : places_) {
    if (!tell(stack)) return;
  }
  tell(rest_);
}

}  // namespace allomon::c
