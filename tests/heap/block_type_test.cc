// Types and holders, from names as g++, clang, libstdc++, libc++ and Abseil make them.
#include "tools/heap/block_type.h"

#include <gtest/gtest.h>

#include "tools/heap/template_name.h"

namespace allomon::heap {
namespace {

struct Case {
  const char* name;
  const char* type;
  const char* holder;
};

constexpr Case kCases[] = {
    {"std::__new_allocator<Order>::allocate(unsigned long, void const*)", "Order", ""},
    {"__gnu_cxx::new_allocator<Order>::allocate(unsigned long, void const*)", "Order", ""},
    {"std::allocator<shop::Order>::allocate(unsigned long)", "shop::Order", ""},
    {"std::allocator_traits<std::allocator<Cell> >::allocate(std::allocator<Cell>&, unsigned long)",
     "Cell", ""},
    {"Arena<Cell>::allocate(unsigned long)", "Cell", ""},
    {"std::__new_allocator<std::_Rb_tree_node<std::pair<Key const, Node> > >::allocate(unsigned "
     "long, void const*)",
     "std::pair<Key const, Node>", ""},
    {"std::__new_allocator<std::_Sp_counted_ptr_inplace<Shared, std::allocator<void>, "
     "(__gnu_cxx::_Lock_policy)2> >::allocate(unsigned long, void const*)",
     "Shared", "std::make_shared"},
    {"std::__detail::_MakeUniq<Cell []>::__array std::make_unique<Cell []>(unsigned long)", "Cell",
     "std::make_unique"},
    {"make_unique<Pool<Order> >", "Pool<Order>", "std::make_unique"},
    {"void std::vector<Cell, std::allocator<Cell> >::_M_realloc_insert<Cell>(int, Cell&&)", "Cell",
     "std::vector<Cell>"},
    {"std::vector<Cell>::__push_back_slow_path(Cell&&)", "Cell", "std::vector<Cell>"},
    {"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> "
     ">::_M_create(unsigned long&, unsigned long)",
     "char", "std::string"},
    {"std::_Rb_tree<int, std::pair<int const, Node>, std::_Select1st<std::pair<int const, Node> >, "
     "std::less<int>, std::allocator<std::pair<int const, Node> > >::_M_get_node()",
     "std::pair<int const, Node>", "std::[multi]map<int, Node>"},
    {"std::_Rb_tree<int, std::pair<int const, Node>, std::_Select1st<std::pair<int const, Node> >, "
     "std::less<int> >::_M_insert_equal(int)",
     "std::pair<int const, Node>", "std::multimap<int, Node>"},
    {"std::_Rb_tree<long, long, std::_Identity<long>, std::less<long> >::_M_insert_unique(long)",
     "long", "std::set<long>"},
    {"std::__tree<std::__value_type<int, Node>, std::less<int> >::__emplace_unique_key_args(int)",
     "std::pair<int const, Node>", "std::map<int, Node>"},
    {"std::_Hashtable<int, int, std::allocator<int>, std::__detail::_Identity, std::equal_to<int>, "
     "std::hash<int>, A, B, C, std::__detail::_Hashtable_traits<false, true, false> "
     ">::_M_rehash(unsigned long, int)",
     "buckets", "std::unordered_multiset<int>"},
    {"std::_Hashtable<int, int, std::allocator<int>, std::__detail::_Identity, std::equal_to<int>, "
     "std::hash<int>, A, B, C, std::__detail::_Hashtable_traits<false, true, true> "
     ">::_M_insert_unique_node(int)",
     "", "std::unordered_set<int>"},
    {"std::deque<Order, std::allocator<Order> >::_M_push_back_aux<Order>(Order&&)", "",
     "std::deque<Order>"},
    {"__shared_count<Counted *>", "std::_Sp_counted_ptr<Counted *>", "std::shared_ptr"},
    {"absl::container_internal::raw_hash_set<absl::container_internal::FlatHashMapPolicy<int, "
     "Order>, absl::hash_internal::Hash<int>, std::equal_to<int>, std::allocator<int> "
     ">::resize(unsigned long)",
     "", "absl::flat_hash_map<int, Order>"},
    {"shop::Order::operator new(unsigned long)", "shop::Order", "its operator new"},
    // Rust's: older mangling with the types that debug information has, and v0.
    {"alloc::vec::Vec<T,A>::push<r::Order, alloc::alloc::Global>", "r::Order", "Vec<r::Order>"},
    {"<alloc::vec::Vec<r::Order>>::push", "r::Order", "Vec<r::Order>"},
    {"<alloc::vec::Vec<T> as alloc::vec::spec_from_iter::SpecFromIter<T,I>>::from_iter<"
     "alloc::boxed::Box<r::Order, alloc::alloc::Global>, I>",
     "Box<r::Order>", "Vec<Box<r::Order>>"},
    {"alloc::raw_vec::RawVec<T,A>::grow_one<alloc::string::String, alloc::alloc::Global>", "String",
     ""},
    {"alloc::boxed::Box<T>::new<alloc::rc::RcInner<r::Item>>", "r::Item", "Rc<r::Item>"},
    {"alloc::boxed::Box<T>::new<alloc::collections::btree::node::LeafNode<u32, r::Item>>",
     "(u32, r::Item)", "BTreeMap<u32, r::Item>"},
    {"std::collections::hash::map::HashMap<K,V,S>::insert<u32, r::Item, S>", "(u32, r::Item)",
     "HashMap<u32, r::Item>"},
    {"hashbrown::raw::RawTable<T,A>::reserve_rehash<(u32, r::Item), H>", "(u32, r::Item)", ""},
    {"alloc::vec::Vec<T,A>::push", "", ""},
    {"<alloc::collections::btree::node::NodeRef<marker::Mut, u32, r::Item, Leaf>>::new", "", ""},
    {"hashbrown::raw::RawTable<T,A>::reserve_rehash", "", ""},
    {"<", "", ""},
    {"<>::f<>", "", ""},
    // Names that tell no type.
    {"operator new(unsigned long)", "", ""},
    {"main", "", ""},
    {"", "", ""},
    {"allocate", "", ""},
    {"shop::Allocate(int)", "", ""},
    {"void operator<< <int>(std::ostream&, int)", "", ""},
    {"std::vector<", "", ""},
    {"std::vector<int::push_back", "", ""},
    {">>>::allocate", "", ""},
};

TEST(BlockType, NamesTellTypes) {
  for (const Case& c : kCases) {
    const BlockType clue = ClueOfName(c.name, "");
    EXPECT_EQ(clue.type, c.type) << c.name;
    EXPECT_EQ(clue.holder, c.holder) << c.name;
  }
}

TEST(BlockType, AFileTellsTheHolderOfANameWithoutClass) {
  EXPECT_EQ(ClueOfName("_M_allocate", "/usr/include/c++/12/bits/stl_vector.h").holder,
            "std::vector");
  EXPECT_EQ(ClueOfName("_M_allocate", "/home/me/stl_vector.h").holder, "");
}

// Frames innermost first; the last one is charged.
BlockType TypeOf(const std::vector<std::string>& frames, const Sample& sample = {}) {
  HeapProfile profile;
  profile.samples.push_back(sample);
  Stacks stacks;
  for (const std::string& frame : frames) {
    const auto number = static_cast<uint32_t>(stacks.names.size());
    stacks.names.push_back({frame, "x.h", 1});
    stacks.frames.push_back({number, 1});
    stacks.cells.push_back(number);
  }
  return BlockTypes(profile, stacks).Of({0, kNone, frames.size() - 1, frames.size(), 0});
}

TEST(BlockType, ATypeThatTheProcessKnowsComesBeforeNames) {
  Sample sample;
  sample.type = "cons";
  sample.source = Source::kManaged;
  const std::vector<std::string> frames = {"std::__new_allocator<char>::allocate(int)", "Charged"};
  EXPECT_EQ(TypeOf(frames, sample).type, "cons");
  EXPECT_EQ(TypeOf(frames, sample).holder, "a managed heap");
  sample.source = Source::kMalloc;
  EXPECT_EQ(TypeOf(frames, sample).holder, "Python");
  sample.type.clear();
  EXPECT_EQ(TypeOf(frames, sample).type, "char");
}

TEST(BlockType, TheContainerThatAsksIsTheHolder) {
  const BlockType type = TypeOf({"std::__new_allocator<char>::allocate(int)",
                                 "std::basic_string<char>::_M_create(int)",
                                 "std::vector<std::string>::push_back(std::string)", "Charged"});
  EXPECT_EQ(type.type, "char");
  EXPECT_EQ(type.holder, "std::string");
}

TEST(BlockType, CallersMayNameTheSameContainerBetter) {
  const BlockType type = TypeOf(
      {"std::__new_allocator<std::_Rb_tree_node<std::pair<int const, Node> > >::allocate(int)",
       "std::_Rb_tree<int, std::pair<int const, Node>, std::_Select1st<int> >::_M_get_node()",
       "std::multimap<int, Node>::emplace(int)", "std::vector<std::multimap<int, Node> >::f()",
       "Charged"});
  EXPECT_EQ(type.type, "std::pair<int const, Node>");
  EXPECT_EQ(type.holder, "std::multimap<int, Node>");
}

TEST(BlockType, TheChargedFunctionIsNotAsked) {
  EXPECT_EQ(TypeOf({"std::__new_allocator<Order>::allocate(int)"}).type, "");
}

TEST(TemplateName, LeavesOutWhatTheLibraryFillsIn) {
  EXPECT_EQ(SourceType("std::map<int, A<char>, std::less<int>, std::allocator<int> >"),
            "std::map<int, A<char>>");
  EXPECT_EQ(SourceType("std::__cxx11::basic_string<char, std::char_traits<char>, "
                       "std::allocator<char> >"),
            "std::string");
  EXPECT_EQ(SourceType("std::function<int (long)>"), "std::function<int (long)>");
  EXPECT_EQ(SourceType("f()::<lambda()>"), "f()::<lambda()>");
  EXPECT_EQ(SourceType("a<b"), "a<b");
}

TEST(TemplateName, DeepNamesEnd) {
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "A<";
  EXPECT_EQ(SourceType(deep), deep);
  for (int i = 0; i < 100000; ++i) deep += ">";
  EXPECT_FALSE(SourceType(deep).empty());
}

}  // namespace
}  // namespace allomon::heap
