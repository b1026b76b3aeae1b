#include "runtime/internal/collect/team_marking.h"

#include <algorithm>
#include <new>

#include "allomon_backend.h"

namespace allomon::gc::internal {
namespace {

// All members together have as many entries as one thread alone, but each has the least number.
size_t EntriesOfMember(const HeapOptions& options, size_t members) {
  return std::max<size_t>(HeapOptions::kLeastMarkStackEntries,
                          options.mark_stack_entries / members);
}

bool SumsAreRight(HeapCore& heap) {
  bool right = true;
  heap.blocks.ForEachChunk([&right](Chunk& chunk) {
    uint64_t words[kBlocksPerChunk] = {};
    chunk.ForEachMarked([&words](Object* object) {
      words[Chunk::BlockOf(object)] += SizeWords(TypeOf(HeaderOf(object)), object) + 1;
    });
    right = right && std::equal(std::begin(words), std::end(words), chunk.live_words);
  });
  return right;
}

}  // namespace

static_assert(alignof(TeamMarker) <= alignof(TeamMarking), "markers lie after the object");

TeamMarking::TeamMarking(HeapCore& heap, size_t members)
    : heap_(heap), members_(members), work_(members) {
  for (size_t i = 0; i < members; ++i) {
    new (markers() + i) TeamMarker(heap, EntriesOfMember(heap.options, members), work_);
  }
}

TeamMarking::~TeamMarking() { std::destroy_n(markers(), members_); }

TeamMarking::Pointer TeamMarking::Make(HeapCore& heap, size_t members) {
  void* const memory = backend::Malloc(sizeof(TeamMarking) + members * sizeof(TeamMarker));
  return Pointer(memory == nullptr ? nullptr : new (memory) TeamMarking(heap, members));
}

void TeamMarking::Destroy::operator()(TeamMarking* marking) const {
  marking->~TeamMarking();
  backend::Free(marking);
}

void TeamMarking::Help(void* self, size_t member) {
  TeamMarking& marking = *static_cast<TeamMarking*>(self);
  if (member < marking.members_ && marking.work_.Join())
    marking.markers()[member].MarkBesideOthers();
}

void TeamMarking::Run(WholeMarker& marker) {
  heap_.team.BeginJob(Help, this);
  own().MarkBesideOthers();
  heap_.team.EndJob();
  for (size_t i = 0; i < members_; ++i) marker.Adopt(markers()[i]);
}

bool MarksAreWhole(HeapCore& heap, const WholeMarker& marker) {
  bool whole = SumsAreRight(heap);
  const auto look = [&](Object* object) {
    ForEachSlot(TypeOf(HeaderOf(object)), object, [&](const Slot& slot) {
      whole = whole && (!PointsToObject(slot) || marker.IsMarked(slot));
    });
  };
  heap.blocks.ForEachMarked(look);
  heap.young.ForEachMarked(look);
  heap.large.ForEachMarked(look);
  return whole;
}

}  // namespace allomon::gc::internal
