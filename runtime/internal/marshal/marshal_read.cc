// The building of a graph from bytes that CheckGraph() has accepted.
//
// inv.marshal.rooted: an object is linked to an earlier one as soon as it is made, so all objects
// are reachable from the root, which is on the stack.  Old objects do not move.  The addresses of
// objects that may be young, table_[first_young_, made_), are roots themselves, so a collection
// updates them.  A collection then visits the objects made since the last one, not the whole table.
#include "runtime/internal/collect/allocate.h"
#include "runtime/internal/collect/slow_path.h"
#include "runtime/internal/marshal/marshal_check.h"

namespace allomon::gc::internal {
namespace {

class GraphBuilder {
 public:
  GraphBuilder(const CheckedGraph& graph, FrameState caller)
      : graph_(graph),
        caller_(caller),
        heads_(graph.heads),
        body_heads_(graph.heads),
        bodies_(graph.bodies),
        table_(graph.n_objects + 1) {  // one more, so that the end is an address of this table too
    AddValueStack(table_.data(), &n_young_);
  }
  ~GraphBuilder() { RemoveValueStack(table_.data() + first_young_); }
  GraphBuilder(const GraphBuilder&) = delete;
  GraphBuilder& operator=(const GraphBuilder&) = delete;

  Object* Build() {
    if (graph_.n_objects == 0) return nullptr;
    MakeNext();
    root_ = table_[0];
    ForgetRoot();
    for (uint64_t i = 0; i < graph_.n_objects; ++i) FillBody(i);
    return root_;
  }

 private:
  struct Head {
    const MarshalLayout* layout;
    uint64_t length;  // length of an array or bytes
  };

  // CheckGraph() has made sure that the read succeeds.
  static void Must(bool read) {
    ALLOMON_DCHECK("inv.marshal.checked", read);
    static_cast<void>(read);
  }

  Head NextHead(MarshalSource& heads) const {
    uint64_t number = 0;
    Must(heads.Number(&number));
    Head head = {graph_.types[number], 0};
    if (head.layout->type->kind != Kind::kFixed) Must(heads.Number(&head.length));
    return head;
  }

  // Makes the next object.  A safepoint; all earlier objects are already linked.
  void MakeNext() {
    const Head head = NextHead(heads_);
    ForgetOld();
    table_[made_++] = Make(head);
    ++n_young_;
  }

  // The root stays in its place, because it is on the stack.
  void ForgetRoot() {
    MoveValueStack(table_.data(), table_.data() + 1);
    first_young_ = 1;
    n_young_ = 0;
  }

  // Nearly all objects are promoted at once, so the old ones are mostly a prefix.  (Large objects
  // among the young ones are visited without need.)
  void ForgetOld() {
    const Slot* const before = table_.data() + first_young_;
    while (n_young_ > 0 && !IsYoung(table_[first_young_])) {
      ++first_young_;
      --n_young_;
    }
    if (before != table_.data() + first_young_) {
      MoveValueStack(before, table_.data() + first_young_);
    }
  }

  Object* Make(const Head& head) const {
    const TypeInfo& type = *head.layout->type;
    if (type.kind == Kind::kFixed) return MakeYoung(head.layout->header, type.size_words);
    const uint64_t more = type.kind == Kind::kArray ? head.length : BytesToWords(head.length);
    Object* object = more < kMaxYoungBytes / kWordBytes ? MakeYoung(head.layout->header, more + 1)
                                                        : MakeLarge(head.layout->header, more + 1);
    *WordsOf(object) = head.length;
    return object;
  }

  // Both functions zero-fill the object: references are null until they are read.
  Object* MakeYoung(uintptr_t header, uint64_t words) const {
    const size_t bytes = (words + 1) * kWordBytes;
    char* start = TryAllocateYoung(bytes);
    if (start == nullptr) {
      start =
          AllocateYoungSlow(CurrentMutator(), bytes, header, AllocationSource::kMarshal, caller_);
    }
    memset(start, 0, bytes);
    Object* object = reinterpret_cast<Object*>(start + kWordBytes);
    HeaderOf(object) = header;
    return object;
  }
  Object* MakeLarge(uintptr_t header, uint64_t words) const {
    Object* object = AllocateLargeSlow(CurrentMutator(), words + 1, words * kWordBytes, header,
                                       AllocationSource::kMarshal, caller_);
    HeaderOf(object) = header | kLargeBit;
    return object;
  }

  void FillBody(uint64_t i) {
    const Head head = NextHead(body_heads_);
    const MarshalLayout& layout = *head.layout;
    switch (layout.type->kind) {
      case Kind::kArray:
        for (uint64_t word = 1; word <= head.length; ++word) {
          FillReference(i, layout.element, word);
        }
        return;
      case Kind::kBytes:
        return FillRun(table_[i], kWordBytes, head.length);
      default:
        break;
    }
    for (uint32_t k = 0; k < layout.n_references; ++k) {
      FillReference(i, layout.references[k].target, layout.references[k].word);
    }
    for (uint32_t k = 0; k < layout.n_runs; ++k) {
      FillRun(table_[i], layout.runs[k].offset_bytes, layout.runs[k].size_bytes);
    }
  }

  void FillReference(uint64_t i, const TypeInfo* target, uint64_t word) {
    uint64_t number = 0;
    Must(bodies_.Number(&number));
    if (IsValueTarget(target)) {
      if (number == 1) return FillRun(table_[i], word * kWordBytes, kWordBytes);
      number /= 2;
    }
    if (number == 0) return;
    if (number > made_) MakeNext();
    ALLOMON_DCHECK("inv.marshal.rooted", number <= made_ && i < made_);
    // The slot is computed here, because object i may have moved.
    Slot* slot = SlotsOf(table_[i]) + word;
    *slot = table_[number - 1];
    Remember(slot, nullptr, *slot);
  }

  void FillRun(Object* object, uint64_t offset_bytes, uint64_t size_bytes) {
    const char* from = nullptr;
    Must(bodies_.Take(size_bytes, &from));
    if (size_bytes != 0) memcpy(reinterpret_cast<char*>(object) + offset_bytes, from, size_bytes);
  }

  const CheckedGraph& graph_;
  const FrameState caller_;
  MarshalSource heads_;       // heads of the objects to make
  MarshalSource body_heads_;  // heads of the objects to fill, which come earlier
  MarshalSource bodies_;
  Vector<Slot> table_;  // indexed by number, from 0
  uint64_t made_ = 0;
  size_t first_young_ = 0;
  size_t n_young_ = 0;
  Object* root_ = nullptr;
};

}  // namespace

__attribute__((noinline)) absl::StatusOr<Object*> ReadGraph(std::string_view bytes,
                                                            const MarshalRegistry& types,
                                                            const TypeInfo* root_type) {
  const FrameState caller = ALLOMON_CALLER_FRAME();
  const absl::StatusOr<CheckedGraph> graph = CheckGraph(bytes, types, root_type);
  if (!graph.ok()) return graph.status();
  return GraphBuilder(*graph, caller).Build();
}

}  // namespace allomon::gc::internal
