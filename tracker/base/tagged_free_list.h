// A free list that all threads share, and a thread's own cache of free elements.
//
// Elements are identified by 32-bit numbers.  The link of a free element belongs to the user of the
// list, which passes a Links to each call:
//
//   struct Links {
//     static constexpr uint32_t kNone = 0;             // the number that names no element
//     uint32_t Next(uint32_t element) const;           // relaxed atomic load of its link
//     void SetNext(uint32_t element, uint32_t next) const;  // relaxed atomic store
//   };
//
// Next() may be called for an element that another thread has popped meanwhile.  Its result is then
// discarded, so it may be any number, but the memory must still be readable: elements that were
// ever in a list are never unmapped.
//
// inv.free.once (tracker/README.md): an element is in one place only: in the list, in one thread's
// cache, or in use.
#ifndef ALLOMON_TRACKER_BASE_TAGGED_FREE_LIST_H_
#define ALLOMON_TRACKER_BASE_TAGGED_FREE_LIST_H_

#include <atomic>
#include <cstdint>

#include "tracker/base/check.h"

namespace allomon::internal {

// Thread safe, lock free, async-signal-safe.  Last in, first out.
//
// The head is one word: the first element in the low half, a tag in the high half.  Every push and
// pop changes the tag.  A pop reads the head and then the first element's link.  If another thread
// pops that element before the exchange, and pushes it back over another successor, the head names
// the same element (ABA) but has another tag, and the exchange fails.  A tag returns after 2^32
// changes: a thread would have to be stopped between two instructions for minutes, until exactly
// that change.
template <typename Links>
class TaggedFreeList {
 public:
  // kNone if the list is empty.
  uint32_t Pop(const Links& links);
  void Push(const Links& links, uint32_t element) { PushChain(links, element, element); }

  // The same for several elements, by one exchange.  A chain is linked from its first to its last
  // element.  PopChain() returns the first of at most `most` and sets *last and *count; kNone if
  // the list is empty.  It reads the links of elements that other threads have popped meanwhile, so
  // these must lead to elements for ever.
  void PushChain(const Links& links, uint32_t first, uint32_t last);
  uint32_t PopChain(const Links& links, uint32_t most, uint32_t* last, uint32_t* count);

 private:
  static uint32_t First(uint64_t head) { return static_cast<uint32_t>(head); }
  static uint64_t Changed(uint64_t head, uint32_t first) {
    constexpr uint64_t kTagStep = uint64_t{1} << 32;
    return ((head & ~(kTagStep - 1)) + kTagStep) | first;
  }

  std::atomic<uint64_t> head_{Links::kNone};
};

template <typename Links>
inline uint32_t TaggedFreeList<Links>::Pop(const Links& links) {
  uint64_t head = head_.load(std::memory_order_acquire);
  while (First(head) != Links::kNone) {
    const uint32_t next = links.Next(First(head));
    // Acquire, here and in the load, pairs with the release in PushChain(): the element's last user
    // is finished with it, and its link is the one of this head.  The exchange needs it where it
    // fails: one that succeeds replaces the head that was acquired, by its tag.
    if (head_.compare_exchange_weak(head, Changed(head, next), std::memory_order_acquire)) {
      return First(head);
    }
  }
  return Links::kNone;
}

template <typename Links>
inline void TaggedFreeList<Links>::PushChain(const Links& links, uint32_t first, uint32_t last) {
  uint64_t head = head_.load(std::memory_order_relaxed);
  do {
    // Only the head can be checked without a lock.
    ALLOMON_DCHECK_NE("inv.free.once", first, First(head));
    links.SetNext(last, First(head));
    // Release pairs with the acquire in Pop() and in PopChain().  A pop needs none: it is a part of
    // the release sequence of the push whose head it replaces.
  } while (!head_.compare_exchange_weak(head, Changed(head, first), std::memory_order_release,
                                        std::memory_order_relaxed));
}

// An unchanged head means an unchanged chain: every change of the list changes the tag.
template <typename Links>
inline uint32_t TaggedFreeList<Links>::PopChain(const Links& links, uint32_t most, uint32_t* last,
                                                uint32_t* count) {
  uint64_t head = head_.load(std::memory_order_acquire);
  while (First(head) != Links::kNone) {
    *last = First(head);
    uint32_t next = links.Next(*last);
    for (*count = 1; *count < most && next != Links::kNone; ++*count) {
      *last = next;
      next = links.Next(next);
    }
    // Acquire as in Pop().
    if (head_.compare_exchange_weak(head, Changed(head, next), std::memory_order_acquire)) {
      return First(head);
    }
  }
  return Links::kNone;
}

// Free elements that one thread keeps for itself, so that reusing its released elements costs no
// locked instruction: `kLists` lists of at most `kMaxElements` each.
//
// Plain data of one thread, valid and empty when all bytes are zero.  A signal handler that
// interrupts a change of the same thread's cache finds `in_use` set.  The cache then looks empty to
// Pop() and full to Push(), and the handler uses the shared list.  A thread that ends must Drain()
// its cache, else the elements in it are lost.
template <typename Links, uint32_t kLists, uint32_t kMaxElements>
class ThreadFreeCache {
 public:
  // Returns kNone if the list is empty or the cache is in use.
  uint32_t Pop(const Links& links, uint32_t list);
  // Returns false, and does nothing, if the list is full or the cache is in use.
  bool Push(const Links& links, uint32_t list, uint32_t element);
  // Spill() returns `count` elements of one list to `to`, Refill() takes at most `count`, each by
  // one exchange.  They do nothing if the list has fewer elements, or less room, or if the cache is
  // in use.
  void Spill(const Links& links, uint32_t list, uint32_t count, TaggedFreeList<Links>& to);
  void Refill(const Links& links, uint32_t list, uint32_t count, TaggedFreeList<Links>& from);
  // Gives one list back.
  void Drain(const Links& links, uint32_t list, TaggedFreeList<Links>& to);

  // True for a signal handler that has interrupted a change of the cache.
  bool in_use() const { return static_cast<const volatile bool&>(in_use_); }

 private:
  struct List {
    uint32_t first = 0;  // of no meaning when count is 0
    uint32_t count = 0;
  };

  // The fences are for the compiler: signal handlers of this thread must see the mark around the
  // change.
  class Change {
   public:
    explicit Change(ThreadFreeCache& cache) : cache_(cache) {
      cache_.Mark() = true;
      std::atomic_signal_fence(std::memory_order_seq_cst);
    }
    ~Change() {
      std::atomic_signal_fence(std::memory_order_seq_cst);
      cache_.Mark() = false;
    }
    Change(const Change&) = delete;
    Change& operator=(const Change&) = delete;

   private:
    ThreadFreeCache& cache_;
  };

  // Volatile, so that each access in the code is made.  An atomic would cost a thread-local two
  // more instructions, and a volatile member has no constant initialiser for clang.
  volatile bool& Mark() { return in_use_; }

  List lists_[kLists] = {};
  bool in_use_ = false;
};

template <typename Links, uint32_t kLists, uint32_t kMaxElements>
__attribute__((always_inline)) inline uint32_t ThreadFreeCache<Links, kLists, kMaxElements>::Pop(
    const Links& links, uint32_t list_index) {
  if (in_use()) return Links::kNone;
  const Change change(*this);
  List& list = lists_[list_index];
  ALLOMON_DCHECK_LE("inv.free.once", list.count, kMaxElements);
  if (list.count == 0) return Links::kNone;
  const uint32_t element = list.first;
  ALLOMON_DCHECK_NE("inv.free.once", element, Links::kNone);
  // Keeps the caller's test for kNone from being executed after this test for emptiness.
  if (element == Links::kNone) __builtin_unreachable();
  list.first = links.Next(element);
  --list.count;
  return element;
}

template <typename Links, uint32_t kLists, uint32_t kMaxElements>
__attribute__((always_inline)) inline bool ThreadFreeCache<Links, kLists, kMaxElements>::Push(
    const Links& links, uint32_t list_index, uint32_t element) {
  if (in_use()) return false;
  const Change change(*this);
  List& list = lists_[list_index];
  if (list.count == kMaxElements) return false;
  ALLOMON_DCHECK("inv.free.once", list.count == 0 || list.first != element);
  links.SetNext(element, list.first);
  list.first = element;
  ++list.count;
  return true;
}

template <typename Links, uint32_t kLists, uint32_t kMaxElements>
inline void ThreadFreeCache<Links, kLists, kMaxElements>::Spill(const Links& links,
                                                                uint32_t list_index, uint32_t count,
                                                                TaggedFreeList<Links>& to) {
  if (in_use()) return;
  const Change change(*this);
  List& list = lists_[list_index];
  // A signal handler may have taken elements since the list was found full.
  if (count > list.count) return;
  const uint32_t first = list.first;
  uint32_t last = first;
  for (uint32_t i = 1; i < count; ++i) last = links.Next(last);
  list.first = links.Next(last);
  list.count -= count;
  to.PushChain(links, first, last);
}

template <typename Links, uint32_t kLists, uint32_t kMaxElements>
inline void ThreadFreeCache<Links, kLists, kMaxElements>::Refill(const Links& links,
                                                                 uint32_t list_index,
                                                                 uint32_t count,
                                                                 TaggedFreeList<Links>& from) {
  if (in_use()) return;
  const Change change(*this);
  List& list = lists_[list_index];
  // A signal handler may have released elements since the list was found empty.
  if (count > kMaxElements - list.count) return;
  uint32_t last;
  uint32_t taken;
  const uint32_t first = from.PopChain(links, count, &last, &taken);
  if (first == Links::kNone) return;
  links.SetNext(last, list.first);
  list.first = first;
  list.count += taken;
}

template <typename Links, uint32_t kLists, uint32_t kMaxElements>
inline void ThreadFreeCache<Links, kLists, kMaxElements>::Drain(const Links& links,
                                                                uint32_t list_index,
                                                                TaggedFreeList<Links>& to) {
  for (uint32_t element; (element = Pop(links, list_index)) != Links::kNone;) {
    to.Push(links, element);
  }
}

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_BASE_TAGGED_FREE_LIST_H_
