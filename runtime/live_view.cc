// Heap::LiveByType() and Heap::WriteSnapshot().
#include <algorithm>
#include <cstring>
#include <new>

#include "runtime/heap.h"
#include "runtime/internal/collect/collection.h"
#include "runtime/internal/collect/slow_path.h"
#include "runtime/internal/snapshot/live_objects.h"
#include "runtime/internal/snapshot/snapshot_writer.h"
#include "runtime/internal/tables/type_table.h"
#include "tracker/base/uncancelled.h"

namespace allomon::gc {
namespace internal {
namespace {

// MutatorHere(), where the thread may allocate.
Mutator* CheckedMutator(const HeapCore& core) {
  Mutator* const mutator = MutatorHere(core);
  if (mutator != nullptr) mutator->CheckMayAllocate();
  return mutator;
}

// Runs the callbacks, finalizers and releases that the collection has made due.
void RunDue(Mutator* mutator) {
  if (mutator != nullptr) SafepointSlow(*mutator);
}

class TypeCounter : public LiveObjectsVisitor {
 public:
  void Look(HeapCore& heap) override {
    ForEachLiveObject(heap, [this](Object* object) {
      const TypeInfo& type = TypeOf(HeaderOf(object));
      TypeRow* const row = types_.Find(type);
      has_room_ = has_room_ && row != nullptr;
      if (row == nullptr) return;
      ++row->objects;
      row->bytes += BytesOf(type, object);
    });
  }

  std::vector<LiveType> Take() {
    if (!has_room_) throw std::bad_alloc();
    std::vector<LiveType> types;
    for (const TypeRow& row : types_.rows()) Add(row, &types);
    std::stable_sort(types.begin(), types.end(), [](const LiveType& a, const LiveType& b) {
      return a.bytes != b.bytes ? a.bytes > b.bytes : strcmp(a.name, b.name) < 0;
    });
    return types;
  }

 private:
  static void Add(const TypeRow& row, std::vector<LiveType>* types) {
    for (LiveType& type : *types) {
      if (strcmp(type.name, row.type->name) != 0) continue;
      type.objects += row.objects;
      type.bytes += row.bytes;
      return;
    }
    types->push_back({row.type->name, row.objects, row.bytes});
  }

  TypeTable types_;
  bool has_room_ = true;
};

}  // namespace
}  // namespace internal

std::vector<LiveType> Heap::LiveByType() {
  internal::TypeCounter counter;
  internal::Mutator* const mutator = internal::CheckedMutator(*core_);
  internal::CollectAndLook(*core_, counter, mutator);
  std::vector<LiveType> types = counter.Take();
  internal::RunDue(mutator);
  return types;
}

absl::Status Heap::WriteSnapshot(const std::string& path) {
  const allomon::internal::Uncancelled uncancelled;
  internal::Mutator* const mutator = internal::CheckedMutator(*core_);
  std::string error;
  FileInPieces file(path, kPrivateMode);
  if (!file.Open(&error)) return absl::UnavailableError(error);
  internal::SnapshotWriter writer(file);
  internal::CollectAndLook(*core_, writer, mutator);
  using Outcome = internal::SnapshotWriter::Outcome;
  if (writer.outcome() == Outcome::kOutOfMemory) throw std::bad_alloc();
  if (writer.outcome() == Outcome::kTooManyObjects) {
    return absl::ResourceExhaustedError("cannot write " + path +
                                        ": a snapshot has at most 715827882 objects");
  }
  const bool written = file.Commit(&error);
  internal::RunDue(mutator);
  return written ? absl::OkStatus() : absl::UnavailableError(error);
}

}  // namespace allomon::gc
