// The references that a thread holds in the program's own memory: a list linked through the Roots.
#ifndef ALLOMON_RUNTIME_INTERNAL_COLLECT_ROOT_LIST_H_
#define ALLOMON_RUNTIME_INTERNAL_COLLECT_ROOT_LIST_H_

#include "runtime/internal/space/window.h"
#include "tracker/base/check.h"

namespace allomon::gc::internal {

// A node is in the list of the thread that makes it, from its construction to its destruction.
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
  RootNode** link;  // the pointer to this node
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
  // Debug builds check that the owner is not in a NativeRegion, when a collector may be reading the
  // list.
  bool OwnerRuns() const;
  // Aborts with rule.attached or rule.root.thread.
  [[noreturn]] static void FailRootOwner();
};

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_COLLECT_ROOT_LIST_H_
