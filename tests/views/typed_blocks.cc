// Allocates blocks of known types, each in a function of its own.
//
//   typed_blocks: each function is called 1,000 times, and its blocks stay.
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <forward_list>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <new>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#define KEPT __attribute__((noinline))

struct Order {
  long id;
  double price[3];
};
struct Node {
  long values[4];
};
struct Key {
  int number;
  bool operator<(const Key& other) const { return number < other.number; }
};
struct Shared {
  long values[7];
};
struct Counted {
  long values[11];
};
struct Cell {
  int values[4];
};
template <typename T>
struct Pool {
  T items[3];
};
struct Own {
  static void* operator new(size_t bytes) KEPT;
  long values[13];
};
void* Own::operator new(size_t bytes) {
  void* const block = std::malloc(bytes);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

constexpr int kCalls = 1000;

// Lets no block be optimized away.
KEPT void Use(const volatile void* block) { asm volatile("" : : "r"(block) : "memory"); }
template <typename T>
void Leak(T* object) {
  Use(object);
}

KEPT void InVector() {
  auto* v = new (std::nothrow) std::vector<Order>();
  v->reserve(20);
  Leak(v);
}
KEPT void InGrowingVector(std::vector<Cell>* v) { v->push_back({}); }
KEPT void InString(std::vector<std::string>* v) { v->emplace_back(100, 'x'); }
KEPT void InMap(std::map<Key, Node>* m, int i) { (*m)[Key{i}] = Node(); }
KEPT void InMultimap(std::multimap<int, Node>* m, int i) { m->emplace(i, Node()); }
KEPT void InSet(std::set<long>* s, int i) { s->insert(i); }
KEPT void InHashMap(std::unordered_map<int, Order>* m, int i) { (*m)[i] = Order(); }
KEPT void InHashSet(std::unordered_set<std::string>* s, int i) { s->insert(std::to_string(i)); }
KEPT void InList(std::list<Node>* l) { l->push_back(Node()); }
KEPT void InForwardList(std::forward_list<Order>* l) { l->push_front(Order()); }
KEPT void InDeque(std::deque<Order>* d) { d->push_back(Order()); }
KEPT void ByMakeShared() {
  auto shared = std::make_shared<Shared>();
  Leak(new (std::nothrow) std::shared_ptr<Shared>(shared));
}
KEPT void CountedApart() {
  auto* made = static_cast<Counted*>(std::calloc(1, sizeof(Counted)));
  Leak(new (std::nothrow) std::shared_ptr<Counted>(made, std::free));
}
KEPT void ByMakeUnique() { Leak(std::make_unique<Pool<Order>>().release()); }
KEPT void ByMakeUniqueArray() { Leak(std::make_unique<Cell[]>(32).release()); }
KEPT void InFunction() {
  const Order order = {};
  auto* f = new (std::nothrow) std::function<long()>([order] { return order.id; });
  Leak(f);
}
KEPT void ByOwnNew() { Leak(new Own); }
KEPT void InWideString() { Leak(new (std::nothrow) std::wstring(100, L'x')); }
KEPT void InPointers(std::vector<const Order*>* v) { v->push_back(nullptr); }
KEPT void ByMalloc() { Use(std::calloc(1, 123)); }

// The debug information that clang 21 writes for `new shop::Item` and `new shop::Item*`: the type
// is an attribute of the call.
#ifdef __x86_64__
extern "C" {
void LeakTyped(void* block);
KEPT void LeakTyped(void* block) { Use(block); }
}
void ByTypedNew();
asm(R"(
        .text
        .globl _Z10ByTypedNewv
        .type _Z10ByTypedNewv, @function
_Z10ByTypedNewv:
.Ltyped_begin:
        .cfi_startproc
        subq $8, %rsp
        .cfi_def_cfa_offset 16
        movl $64, %edi
        call _Znwm@PLT
.Ltyped_item:
        movq %rax, %rdi
        call LeakTyped@PLT
        movl $8, %edi
        call _Znwm@PLT
.Ltyped_pointer:
        movq %rax, %rdi
        call LeakTyped@PLT
        addq $8, %rsp
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
.Ltyped_end:
        .size _Z10ByTypedNewv, . - _Z10ByTypedNewv
)");
#ifndef WITHOUT_DEBUG_INFORMATION
asm(R"(
        .pushsection .debug_abbrev, "", @progbits
.Ltyped_abbreviations:
        .uleb128 1, 0x11       # compile_unit
        .byte 1
        .uleb128 0x03, 0x08, 0x13, 0x05, 0x11, 0x01, 0x12, 0x07, 0, 0
        .uleb128 2, 0x39       # namespace
        .byte 1
        .uleb128 0x03, 0x08, 0, 0
        .uleb128 3, 0x13       # structure_type
        .byte 0
        .uleb128 0x03, 0x08, 0x0b, 0x0b, 0, 0
        .uleb128 4, 0x0f       # pointer_type
        .byte 0
        .uleb128 0x49, 0x13, 0, 0
        .uleb128 5, 0x2e       # subprogram
        .byte 1
        .uleb128 0x03, 0x08, 0x11, 0x01, 0x12, 0x07, 0, 0
        .uleb128 6, 0x48       # call_site: call_return_pc, LLVM_alloc_type
        .byte 0
        .uleb128 0x7d, 0x01, 0x3e0e, 0x13, 0, 0
        .uleb128 0
        .popsection
        .pushsection .debug_info, "", @progbits
.Ltyped_unit:
        .long .Ltyped_unit_end - .Ltyped_unit_begin
.Ltyped_unit_begin:
        .short 5
        .byte 1, 8
        .long .Ltyped_abbreviations
        .uleb128 1
        .asciz "typed.cc"
        .short 0x21
        .quad .Ltyped_begin, .Ltyped_end - .Ltyped_begin
        .uleb128 2
        .asciz "shop"
.Ltyped_shop_item:
        .uleb128 3
        .asciz "Item"
        .byte 64
        .byte 0
.Ltyped_item_pointer:
        .uleb128 4
        .long .Ltyped_shop_item - .Ltyped_unit
        .uleb128 5
        .asciz "ByTypedNew"
        .quad .Ltyped_begin, .Ltyped_end - .Ltyped_begin
        .uleb128 6
        .quad .Ltyped_item
        .long .Ltyped_shop_item - .Ltyped_unit
        .uleb128 6
        .quad .Ltyped_pointer
        .long .Ltyped_item_pointer - .Ltyped_unit
        .byte 0
        .byte 0
.Ltyped_unit_end:
        .popsection
)");
#endif
#else
KEPT void ByTypedNew() {}
#endif

int main() {
  auto& cells = *new std::vector<Cell>();
  auto& strings = *new std::vector<std::string>();
  auto& map = *new std::map<Key, Node>();
  auto& multimap = *new std::multimap<int, Node>();
  auto& set = *new std::set<long>();
  auto& hash_map = *new std::unordered_map<int, Order>();
  auto& hash_set = *new std::unordered_set<std::string>();
  auto& list = *new std::list<Node>();
  auto& forward_list = *new std::forward_list<Order>();
  auto& deque = *new std::deque<Order>();
  auto& pointers = *new std::vector<const Order*>();
  for (int i = 0; i < kCalls; ++i) {
    InVector();
    InGrowingVector(&cells);
    InString(&strings);
    InMap(&map, i);
    InMultimap(&multimap, i);
    InSet(&set, i);
    InHashMap(&hash_map, i);
    InHashSet(&hash_set, i);
    InList(&list);
    InForwardList(&forward_list);
    InDeque(&deque);
    ByMakeShared();
    CountedApart();
    ByMakeUnique();
    ByMakeUniqueArray();
    InFunction();
    ByOwnNew();
    InWideString();
    InPointers(&pointers);
    ByMalloc();
    ByTypedNew();
  }
  std::puts("done");
}
