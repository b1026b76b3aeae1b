// Writes the live objects of a heap as a heap snapshot of Chrome DevTools.
#ifndef ALLOMON_RUNTIME_INTERNAL_SNAPSHOT_SNAPSHOT_WRITER_H_
#define ALLOMON_RUNTIME_INTERNAL_SNAPSHOT_SNAPSHOT_WRITER_H_

#include "runtime/internal/collect/collection.h"
#include "runtime/internal/object/ephemeron_pairs.h"
#include "runtime/internal/snapshot/live_objects.h"
#include "runtime/internal/snapshot/snapshot_roots.h"
#include "runtime/internal/snapshot/snapshot_text.h"
#include "runtime/internal/tables/type_table.h"

namespace allomon::gc::internal {

// The nodes are, in this order: the root, "(GC roots)", the groups of roots, the live objects by
// their numbers, the memory of custom blocks.  The heap is walked three times: to count, for the
// nodes, for the edges.
//
// inv.snapshot.closed: a reference of a live object or of a root is to a live object.
// inv.snapshot.counts: the file has as many nodes and edges as its head says.
class SnapshotWriter : public LiveObjectsVisitor {
 public:
  enum class Outcome { kWritten, kOutOfMemory, kTooManyObjects };

  // Throws std::bad_alloc.
  explicit SnapshotWriter(FileInPieces& file) : text_(file) {}
  void Look(HeapCore& heap) override;
  Outcome outcome() const { return outcome_; }

 private:
  // A value that the key of an ephemeron keeps alive.
  struct KeptValue {
    uint32_t key;  // number of the key
    Object* value;
  };
  // Memory outside the heap.
  struct Outside {
    uint32_t block;  // the number of the custom block
    uint64_t id;
    uint64_t bytes;
  };

  bool Prepare(HeapCore& heap) ALLOMON_REQUIRES(heap.globals_mutex, heap.tables_mutex);
  bool FindOutside(HeapCore& heap) ALLOMON_REQUIRES(heap.tables_mutex);
  bool CountObject(Object* object);
  bool CountPair(const EphemeronPair& pair);
  void CountRoots(HeapCore& heap) ALLOMON_REQUIRES(heap.globals_mutex, heap.tables_mutex);
  void AssignStrings();

  void WriteHead();
  void WriteNodes(HeapCore& heap);
  void WriteNode(uint64_t type, uint64_t name, uint64_t id, uint64_t bytes, uint64_t edges);
  void WriteObjectNode(Object* object);
  void WriteEdges(HeapCore& heap) ALLOMON_REQUIRES(heap.globals_mutex, heap.tables_mutex);
  void WriteRootEdges(HeapCore& heap) ALLOMON_REQUIRES(heap.globals_mutex, heap.tables_mutex);
  void WriteEdge(uint64_t type, uint64_t name_or_index, uint64_t to_node);
  void WriteObjectEdges(Object* object);
  void WriteNamedSlots(const TypeInfo& type, Object* object);
  void WriteStrings(HeapCore& heap) ALLOMON_REQUIRES(heap.globals_mutex);

  uint64_t NodeOf(Object* object) const;
  uint64_t FirstObjectNode() const { return 2 + groups_.size(); }

  SnapshotText text_;
  Outcome outcome_ = Outcome::kWritten;
  const ObjectNumbers* numbers_ = nullptr;
  TypeTable types_;
  Vector<RootGroup> groups_;
  Vector<KeptValue> kept_;   // sorted by key
  Vector<Outside> outside_;  // sorted by block
  uint64_t n_edges_ = 0;
  uint64_t n_globals_ = 0;  // strings for their names
  uint64_t first_type_string_ = 0;

  // The state of the current walk.
  uint64_t next_object_ = 0;
  size_t next_kept_ = 0;
  size_t next_outside_ = 0;
  uint64_t written_nodes_ = 0;
  uint64_t written_edges_ = 0;
};

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_SNAPSHOT_SNAPSHOT_WRITER_H_
