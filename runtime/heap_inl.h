// Templates of heap.h; include heap.h instead.
#ifndef ALLOMON_RUNTIME_HEAP_INL_H_
#define ALLOMON_RUNTIME_HEAP_INL_H_

#include "runtime/heap.h"

namespace allomon::gc {
namespace internal {

struct GlobalNode;

// The roots and tables of the heap that this thread is attached to.
GlobalNode* NewGlobal(Object* value, const char* name);
void DeleteGlobal(GlobalNode* node);
Slot& SlotOfGlobal(GlobalNode* node);
void AddFinalizer(Object* object, std::function<void(Object*)> run);

}  // namespace internal

template <typename T>
class Global {
 public:
  Global() = default;
  // Snapshots show the root by this name, which is not copied.
  explicit Global(const char* name) : name_(name) {}
  explicit Global(Handle<T> value) { Set(value); }
  ~Global() { Reset(); }
  Global(const Global&) = delete;
  Global& operator=(const Global&) = delete;

  Global& operator=(Handle<T> value) {
    Set(value);
    return *this;
  }
  Local<T> get() const {
    return internal::LocalOf<T>(node_ == nullptr ? nullptr : internal::SlotOfGlobal(node_));
  }
  void Reset() {
    if (node_ != nullptr) internal::DeleteGlobal(node_);
    node_ = nullptr;
  }

 private:
  void Set(Handle<T> value) {
    if (node_ == nullptr) {
      node_ = internal::NewGlobal(internal::Access::Raw(value), name_);
    } else {
      internal::SlotOfGlobal(node_) = internal::Access::Raw(value);
    }
  }

  internal::GlobalNode* node_ = nullptr;
  const char* const name_ = nullptr;
};

template <typename T>
void add_finalizer(Handle<T> object, std::function<void(Handle<T>)> run) {
  internal::AddFinalizer(
      internal::Access::Raw(object),
      [run = std::move(run)](internal::Object* raw) { run(internal::LocalOf<T>(raw)); });
}

}  // namespace allomon::gc

#endif  // ALLOMON_RUNTIME_HEAP_INL_H_
