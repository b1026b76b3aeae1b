// The references that a thread holds in memory of the program's own: a list through the Roots.
#ifndef ALLOMON_RUNTIME_INTERNAL_ROOT_LIST_H_
#define ALLOMON_RUNTIME_INTERNAL_ROOT_LIST_H_

#include "runtime/internal/window.h"

namespace allomon::gc::internal {

// In the list of the thread that makes it, from its construction to its end.
struct RootNode {
  // Aborts with rule.attached.
  explicit RootNode(Object* value) : object(value), owner(t_window.mutator) { Link(); }
  ~RootNode() {
    if (__builtin_expect(owner != t_window.mutator, 0)) FailRootOwner();
    ALLOMON_DCHECK("rule.native", OwnerRuns());
    *link = next;
    if (next != nullptr) next->link = link;
  }
  RootNode(const RootNode&) = delete;
  RootNode& operator=(const RootNode&) = delete;

  Slot object;
  RootNode* next;
  RootNode** link;  // what points to this node
  Mutator* const owner;

 private:
  void Link() {
    if (__builtin_expect(owner == nullptr, 0)) FailRootOwner();
    ALLOMON_DCHECK("rule.native", OwnerRuns());
    next = t_window.first_root;
    link = &t_window.first_root;
    if (next != nullptr) next->link = &next;
    t_window.first_root = this;
  }
  // Not in a NativeRegion: a collector may be reading the list.  For debug builds.
  bool OwnerRuns() const;
  // Aborts with rule.attached or rule.root.thread.
  [[noreturn]] static void FailRootOwner();
};

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_ROOT_LIST_H_
