// The scopes of labels with an end (allomon/labels.h), as far as blocks of them were sampled.
//
// A record is kept while its scope is open, while a sampled block of it is live, and while a record
// inside of it is kept.  So their number is bounded by those of live sampled blocks and of open
// scopes, and does not grow with the number of scopes so far.  Labels that were ended for all
// threads keep theirs.
//
// AddBlock() and RemoveBlock() take no lock.  The others are called under the recorder's lock.
#ifndef ALLOMON_TRACKER_RECORDING_SCOPES_H_
#define ALLOMON_TRACKER_RECORDING_SCOPES_H_

#include <atomic>
#include <cstdint>
#include <new>

#include "tracker/base/tagged_free_list.h"
#include "tracker/recording/records.h"

namespace allomon::recording {

class ScopeTable {
 public:
  struct Own {
    const void* owner;  // the open scope; nullptr: it has ended
    Written<Scope> file;
    std::atomic<uint32_t> uses;  // 1 while open, and 1 for each block and each record inside
    uint32_t outer;              // record of the next scope outside, or 0
    std::atomic<uint32_t> next_free;
  };
  using Links = FreeLinks<Own>;

  void Begin(SegmentSource* source, WrittenField<uint32_t> count) {
    scopes_.Begin(source, count);
    new (&free_) internal::TaggedFreeList<Links>;
  }
  void Clear() {
    scopes_.Clear();
    own_.Clear();
    of_label_.Clear();
  }

  // Adds the record of an open scope: `end_nanos` is 0.  Returns 0 if there is no room.
  uint32_t Add(const void* owner, uint32_t outer, const Scope& scope);
  // Ends it.  Has no effect if the record is another scope's.
  void End(uint32_t number, const void* owner, uint64_t nanos);
  // Ends a label, which is a set by itself, for all blocks of this moment.  False if there is no
  // room.
  bool EndLabel(uint32_t set, TextRef label, uint64_t nanos);

  // The scope is open, or has a live block.
  void AddBlock(uint32_t number) const {
    [[maybe_unused]] const uint32_t uses =
        own_.At(number).uses.fetch_add(1, std::memory_order_relaxed);
    ALLOMON_DCHECK_NE("inv.recording.scope", uses, 0u);
  }
  void RemoveBlock(uint32_t number) { Release(number); }

 private:
  Links links() const { return {&own_}; }
  uint32_t Take();
  void Write(uint32_t number, const Scope& scope) const;
  void Release(uint32_t number);

  Records<Scope, SegmentKind::kScopes> scopes_;
  OwnArray<Own> own_;
  OwnArray<uint32_t> of_label_;  // the record of an ended label, by the set's id
  internal::TaggedFreeList<Links> free_;
};

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_RECORDING_SCOPES_H_
