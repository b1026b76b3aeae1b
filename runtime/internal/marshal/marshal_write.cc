// Writes a graph breadth first, so that the list of found objects is also the queue.
//
// inv.marshal.still: between the first and the last access to an object there is no safepoint and
// no call of malloc (whose samples run user code, which may collect), so no object moves.
#include "runtime/internal/collect/heap_core.h"
#include "runtime/internal/marshal/marshal_format.h"
#include "runtime/internal/marshal/marshal_registry.h"
#include "runtime/internal/marshal/marshal_sink.h"
#include "runtime/internal/object/object.h"

namespace allomon::gc::internal {
namespace {

// Numbers objects in the order of their first look-up, from 1.
class ObjectNumbers {
 public:
  const Vector<Object*>& objects() const { return objects_; }

  // Returns the object's number.  Sets *is_new if this is the first look-up of the object.
  uint64_t Of(Object* object, bool* is_new) {
    if (objects_.size() >= slots_.size() / 4 * 3) Grow();
    uint32_t& slot = SlotOf(object);
    *is_new = slot == 0;
    if (*is_new) {
      objects_.push_back(object);
      slot = static_cast<uint32_t>(objects_.size());
    }
    return slot;
  }

  // A number takes four bytes in slots_.
  bool full() const { return objects_.size() == UINT32_MAX; }

 private:
  uint32_t& SlotOf(const Object* object) {
    const size_t mask = slots_.size() - 1;
    // Fibonacci hashing: the product's high bits depend on all of the address.
    size_t i = reinterpret_cast<uintptr_t>(object) * 0x9e3779b97f4a7c15 >> 32;
    while (slots_[i & mask] != 0 && objects_[slots_[i & mask] - 1] != object) ++i;
    return slots_[i & mask];
  }

  void Grow() {
    slots_.assign(slots_.empty() ? 64 : slots_.size() * 2, 0);
    for (size_t i = 0; i < objects_.size(); ++i) {
      SlotOf(objects_[i]) = static_cast<uint32_t>(i) + 1;
    }
  }

  Vector<Object*> objects_;
  Vector<uint32_t> slots_;  // a hash table: 0, or a number
};

// Returns the number of collections of the attached heap, for a check in debug builds.
uint64_t CollectionsForCheck() {
  const Mutator* const mutator = t_window.mutator;
  return mutator == nullptr ? 0 : mutator->heap->statistics.minor_collections;
}

class GraphWriter {
 public:
  explicit GraphWriter(const MarshalRegistry& types) : types_(types), places_(types.size(), 0) {}

  // Returns the type that cannot be written, or nullptr on success.
  const TypeInfo* Write(Object* root) {
    const uint64_t collections = CollectionsForCheck();
    NumberOf(root);
    for (size_t i = 0; i < numbers_.objects().size() && refused_ == nullptr && !too_many_; ++i) {
      WriteBody(numbers_.objects()[i]);
    }
    ALLOMON_DCHECK_EQ("inv.marshal.still", CollectionsForCheck(), collections);
    return refused_;
  }

  bool too_many() const { return too_many_; }

  // Called after Write().  The objects are not read any more.
  std::string Text() const {
    MarshalSink types;
    types.Number(used_.size());
    for (const MarshalRegistry::Type* type : used_) {
      types.Number(type->name.size());
      types.Append(type->name.data(), type->name.size());
      types.Append(&type->layout.fingerprint, sizeof(type->layout.fingerprint));
    }
    types.Number(numbers_.objects().size());

    std::string text(sizeof(MarshalHeader), '\0');
    text.reserve(text.size() + types.size_bytes() + heads_.size_bytes() + bodies_.size_bytes());
    types.CopyTo(&text);
    heads_.CopyTo(&text);
    bodies_.CopyTo(&text);
    MarshalHeader header = {{}, kMarshalVersion, 0, text.size(), 0};
    memcpy(header.magic, kMarshalMagic, sizeof(header.magic));
    header.checksum = MarshalChecksum(std::string_view(text).substr(sizeof(header)));
    memcpy(text.data(), &header, sizeof(header));
    return text;
  }

 private:
  // Remembers the last type, because neighbours are mostly of one type.
  const MarshalRegistry::Type* TypeFor(const TypeInfo* info) {
    if (last_info_ == info) return last_;
    last_info_ = info;
    return last_ = types_.Find(info);
  }

  // Returns the index of the type in the table of used types.
  uint64_t PlaceOf(const MarshalRegistry::Type* type) {
    uint32_t& place = places_[type->index];
    if (place == 0) {
      used_.push_back(type);
      place = static_cast<uint32_t>(used_.size());
    }
    return place - 1;
  }

  void WriteHead(Object* object) {
    const TypeInfo& info = TypeOf(HeaderOf(object));
    const MarshalRegistry::Type* type = TypeFor(&info);
    if (type == nullptr) {
      refused_ = &info;
      return;
    }
    heads_.Number(PlaceOf(type));
    if (info.kind == Kind::kArray || info.kind == Kind::kBytes) heads_.Number(ArrayLength(object));
  }

  // Returns the number of `object`; the first call for an object writes its head.
  uint64_t NumberOf(Object* object) {
    if (object == nullptr) return 0;
    too_many_ |= numbers_.full();
    if (too_many_) return 0;
    bool is_new = false;
    const uint64_t number = numbers_.Of(object, &is_new);
    if (is_new) WriteHead(object);
    return number;
  }

  // The even number of a Value is twice that of its object.  1 means that the word of an immediate
  // follows.
  void WriteReference(const TypeInfo* target, Object* to) {
    if (!IsValueTarget(target)) return bodies_.Number(NumberOf(to));
    if (to == nullptr || PointsToObject(to)) return bodies_.Number(2 * NumberOf(to));
    const uint64_t word = gc::internal::WordOf(to);
    bodies_.Number(1);
    bodies_.Append(&word, sizeof(word));
  }

  void WriteBody(Object* object) {
    const TypeInfo& info = TypeOf(HeaderOf(object));
    if (info.kind == Kind::kBytes) {
      bodies_.Append(WordsOf(object) + 1, ArrayLength(object));
      return;
    }
    // The body has as many references as the object, in the order of their addresses.
    if (info.kind == Kind::kArray) {
      const Slot* slots = SlotsOf(object) + 1;
      const TypeInfo* const element = TypeFor(&info)->layout.element;
      for (uint64_t i = 0, n = ArrayLength(object); i < n; ++i) WriteReference(element, slots[i]);
      return;
    }
    const MarshalLayout& layout = TypeFor(&info)->layout;
    for (uint32_t i = 0; i < layout.n_references; ++i) {
      const MarshalReference& reference = layout.references[i];
      WriteReference(reference.target, SlotsOf(object)[reference.word]);
    }
    for (uint32_t i = 0; i < layout.n_runs; ++i) {
      bodies_.Append(reinterpret_cast<const char*>(object) + layout.runs[i].offset_bytes,
                     layout.runs[i].size_bytes);
    }
  }

  const MarshalRegistry& types_;
  ObjectNumbers numbers_;
  Vector<const MarshalRegistry::Type*> used_;
  Vector<uint32_t> places_;  // indexed by type: its place in used_ plus one, or 0
  const TypeInfo* last_info_ = nullptr;
  const MarshalRegistry::Type* last_ = nullptr;
  MarshalSink heads_;
  MarshalSink bodies_;
  const TypeInfo* refused_ = nullptr;
  bool too_many_ = false;
};

absl::Status Refused(const TypeInfo& info) {
  const std::string name = info.name;
  if (info.kind == Kind::kEphemeron) {
    return absl::FailedPreconditionError("marshal: '" + name + "' is a weak reference");
  }
  if (info.kind == Kind::kShaped) {
    return absl::FailedPreconditionError("marshal: the graph reaches a '" + name +
                                         "', an object of a shape, which only this run knows");
  }
  if (name == "CustomBlock") {
    return absl::FailedPreconditionError(
        "marshal: the graph reaches a 'CustomBlock', memory outside the heap");
  }
  return absl::FailedPreconditionError("marshal: type '" + name +
                                       "' is not registered: MarshalTypes::Add<" + name + ">()");
}

}  // namespace

absl::StatusOr<std::string> WriteGraph(Object* root, const MarshalRegistry& types) {
  if (root != nullptr && !PointsToObject(root)) {
    return absl::FailedPreconditionError("marshal: the root is a number: put it into an object");
  }
  GraphWriter writer(types);
  const TypeInfo* refused = writer.Write(root);
  if (refused != nullptr) return Refused(*refused);
  if (writer.too_many()) {
    return absl::ResourceExhaustedError("marshal: the graph has more than 4294967295 objects");
  }
  return writer.Text();
}

}  // namespace allomon::gc::internal
