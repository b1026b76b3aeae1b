// Remembers the FrameRule of each pc that a walk has met.  Fixed size, lossy, shared by all threads
// without a lock, async-signal-safe, never allocates.
//
// A slot is one 64-bit word: the rule in the low bits and, above it, the bits of the pc that the
// slot's index does not determine.  So key and value cannot be torn apart, and a hit is exact.
// Relaxed order is enough, because no other memory is published with the word, and the word is true
// whenever it is read.  Two threads that fill a slot at once overwrite each other, which costs the
// loser one more lookup.
//
// Next to each slot is a hash of the module of its rule, by which a caller can find out whether
// that module is still there.  Walks do not read it.  Rule and hash may be torn apart: then a valid
// rule is taken for an invalid one.
#ifndef ALLOMON_TRACKER_CALLSTACK_RULE_CACHE_H_
#define ALLOMON_TRACKER_CALLSTACK_RULE_CACHE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tracker/base/check.h"
#include "tracker/callstack/frame_rule.h"
#include "tracker/callstack/registers.h"

namespace allomon::internal {

class RuleCache {
 public:
  // Zero-initialised static storage, so it may be used before any constructor has run.
  constexpr RuleCache() = default;

  // Sets *rule to the rule that is stored for pc.  Returns false if there is none.  Cost: one load.
  bool Find(uintptr_t pc, FrameRule* rule) const {
    const uint64_t word = slots_[IndexOf(pc)].load(std::memory_order_relaxed);
    *rule = FrameRule(word & kRuleMask);
    return (word >> FrameRule::kBits) == TagOf(pc) && word != 0;
  }

  // Does nothing for a pc above the bits that Linux gives to user code by default.
  void Store(uintptr_t pc, FrameRule rule, uint16_t module_hash) {
    if ((pc >> kPcBits) != 0) return;
    ALLOMON_DCHECK_EQ("inv.cache.exact", PcOf(IndexOf(pc), TagOf(pc)), pc >> kPcShift << kPcShift);
    module_hashes_[IndexOf(pc)].store(module_hash, std::memory_order_relaxed);
    slots_[IndexOf(pc)].store(TagOf(pc) << FrameRule::kBits | rule.bits(),
                              std::memory_order_relaxed);
  }

  // Whether the rule stored for pc, if any, is of another module than this.
  bool IsOfAnotherModule(uintptr_t pc, uint16_t module_hash) const {
    FrameRule rule;
    return Find(pc, &rule) &&
           module_hashes_[IndexOf(pc)].load(std::memory_order_relaxed) != module_hash;
  }

  void Clear() {
    for (auto& slot : slots_) slot.store(0, std::memory_order_relaxed);
  }

 private:
  // 16384 slots of 8 + 2 bytes: 160 KiB of .bss, of which only touched pages exist.
  static constexpr int kIndexBits = 14;
  static constexpr uint64_t kRuleMask = (uint64_t{1} << FrameRule::kBits) - 1;
  static constexpr uintptr_t kIndexMask = (uintptr_t{1} << kIndexBits) - 1;
  // checks inv.cache.exact: no bit of the tag is lost above the rule.
  static_assert(kPcBits - kPcShift - kIndexBits + FrameRule::kBits <= 64);

  static size_t IndexOf(uintptr_t pc) {
    return (pc >> kPcShift ^ pc >> (kPcShift + kIndexBits)) & kIndexMask;
  }
  static uint64_t TagOf(uintptr_t pc) { return pc >> (kPcShift + kIndexBits); }
  static uintptr_t PcOf(size_t index, uint64_t tag) {
    return (tag << kIndexBits | ((index ^ tag) & kIndexMask)) << kPcShift;
  }

  std::atomic<uint64_t> slots_[size_t{1} << kIndexBits] = {};
  std::atomic<uint16_t> module_hashes_[size_t{1} << kIndexBits] = {};
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CALLSTACK_RULE_CACHE_H_
