// Templates of heap.h; include heap.h instead.
#ifndef ALLOMON_RUNTIME_HEAP_INL_H_
#define ALLOMON_RUNTIME_HEAP_INL_H_

#include "runtime/heap.h"

namespace allomon::gc {
namespace internal {

struct GlobalNode;

// The roots and tables of the heap that this thread is attached to.  References are passed as root
// slots: a Global and a closure take their memory from malloc, which may run user code that
// collects.
GlobalNode* NewGlobal(const Slot* value);
void DeleteGlobal(GlobalNode* node);
Slot& SlotOfGlobal(GlobalNode* node);
void AddFinalizer(const Slot* object, std::function<void(Object*)> run);
void AddValueStack(Slot* slots, const size_t* count);
void RemoveValueStack(const Slot* slots);
// The stack that was registered at `slots` begins at `to` from now on.
void MoveValueStack(const Slot* slots, Slot* to);

}  // namespace internal

template <typename T>
class Global {
 public:
  Global() = default;
  explicit Global(Handle<T> value) { Set(value); }
  ~Global() { Reset(); }
  Global(const Global&) = delete;
  Global& operator=(const Global&) = delete;

  Global& operator=(Handle<T> value) {
    Set(value);
    return *this;
  }
  Local<T> get() const {
    return internal::Access::Adopt<T>(node_ == nullptr ? nullptr : internal::SlotOfGlobal(node_));
  }
  void Reset() {
    if (node_ != nullptr) internal::DeleteGlobal(node_);
    node_ = nullptr;
  }

 private:
  void Set(Handle<T> value) {
    if (node_ == nullptr) {
      node_ = internal::NewGlobal(internal::Access::RootOf(value));
    } else {
      internal::SlotOfGlobal(node_) = internal::Access::Raw(value);
    }
  }

  internal::GlobalNode* node_ = nullptr;
};

// An interpreter's stack: a registered range of roots on the thread that makes it.  Cost: a push is
// a store; collections visit the values below the top.
template <typename T, size_t kCapacity>
class ValueStack {
 public:
  ValueStack() { internal::AddValueStack(slots_, &count_); }
  ~ValueStack() { internal::RemoveValueStack(slots_); }
  ValueStack(const ValueStack&) = delete;
  ValueStack& operator=(const ValueStack&) = delete;

  // Aborts if the stack is full.
  void Push(Handle<T> value) {
    ALLOMON_GC_CHECK(count_ < kCapacity, "rule.value_stack: overflow");
    slots_[count_] = internal::Access::Raw(value);
    ++count_;
  }
  Local<T> Pop() {
    ALLOMON_GC_CHECK(count_ > 0, "rule.value_stack: underflow");
    return internal::Access::Adopt<T>(slots_[--count_]);
  }
  // 0 is the top.
  Local<T> Peek(size_t depth = 0) const {
    ALLOMON_GC_CHECK(depth < count_, "rule.value_stack: underflow");
    return internal::Access::Adopt<T>(slots_[count_ - 1 - depth]);
  }
  size_t size() const { return count_; }

 private:
  internal::Slot slots_[kCapacity];
  size_t count_ = 0;
};

template <typename T>
void add_finalizer(Handle<T> object, std::function<void(Handle<T>)> run) {
  internal::AddFinalizer(
      internal::Access::RootOf(object),
      [run = std::move(run)](internal::Object* raw) { run(internal::Access::Adopt<T>(raw)); });
}

}  // namespace allomon::gc

#endif  // ALLOMON_RUNTIME_HEAP_INL_H_
