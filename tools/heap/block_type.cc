#include "tools/heap/block_type.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "tools/heap/labels.h"
#include "tools/heap/template_name.h"
#include "tracker/names/base_name.h"
#include "tracker/names/wrappers.h"

namespace allomon::heap {
namespace {

constexpr char kManagedHolder[] = "a managed heap";
constexpr char kNewHolder[] = "new";
constexpr char kPythonHolder[] = "Python";

bool StartsWith(std::string_view text, std::string_view head) {
  return text.substr(0, head.size()) == head;
}

// Returns "vector" for "std::vector" and for "std::__cxx11::vector"; empty for other namespaces.
std::string_view NameInStd(std::string_view name) {
  for (const std::string_view scope : {"std::__cxx11::", "std::"}) {
    if (StartsWith(name, scope)) return name.substr(scope.size());
  }
  return {};
}

// The memory that a container asks for.
enum class Memory {
  kElements,  // an array of its first argument
  kNodes,     // one element each, with links
  kTree,      // nodes of the second argument; the third tells a map from a set
  kHash,      // nodes of the second argument, and arrays of buckets
  kMixed,     // elements of the first argument, and other arrays
};

struct Container {
  std::string_view internal;  // without "std::"
  std::string_view name;
  Memory memory;
};

constexpr std::array<Container, 29> kContainers = {{
    {"vector", "std::vector", Memory::kElements},
    {"_Vector_base", "std::vector", Memory::kElements},
    {"__split_buffer", "std::vector", Memory::kElements},
    {"basic_string", "std::basic_string", Memory::kElements},
    {"deque", "std::deque", Memory::kMixed},
    {"_Deque_base", "std::deque", Memory::kMixed},
    {"list", "std::list", Memory::kNodes},
    {"_List_base", "std::list", Memory::kNodes},
    {"__list_imp", "std::list", Memory::kNodes},
    {"forward_list", "std::forward_list", Memory::kNodes},
    {"_Fwd_list_base", "std::forward_list", Memory::kNodes},
    {"__forward_list_base", "std::forward_list", Memory::kNodes},
    {"_Rb_tree", "", Memory::kTree},
    {"__tree", "", Memory::kTree},
    {"map", "std::map", Memory::kTree},
    {"multimap", "std::multimap", Memory::kTree},
    {"set", "std::set", Memory::kTree},
    {"multiset", "std::multiset", Memory::kTree},
    {"_Hashtable", "", Memory::kHash},
    {"__hash_table", "", Memory::kHash},
    {"__detail::_Map_base", "", Memory::kHash},
    {"__detail::_Insert_base", "", Memory::kHash},
    {"__detail::_Insert", "", Memory::kHash},
    {"unordered_map", "std::unordered_map", Memory::kHash},
    {"unordered_multimap", "std::unordered_multimap", Memory::kHash},
    {"unordered_set", "std::unordered_set", Memory::kHash},
    {"unordered_multiset", "std::unordered_multiset", Memory::kHash},
    {"valarray", "std::valarray", Memory::kElements},
    {"basic_stringbuf", "std::basic_stringbuf", Memory::kElements},
}};

const Container* ContainerOf(std::string_view name) {
  const std::string_view internal = NameInStd(name);
  const auto found =
      std::find_if(kContainers.begin(), kContainers.end(),
                   [internal](const Container& known) { return known.internal == internal; });
  return found == kContainers.end() ? nullptr : &*found;
}

// A map's nodes have "std::pair<Key const, Value>", for which libc++ has a type of its own.
struct Pair {
  std::string key;
  std::string value;
};
std::optional<Pair> PairOf(std::string_view type) {
  const TemplateName pair = TemplateNameOf(type);
  const bool is_pair = pair.name == "std::pair" || pair.name == "std::__value_type" ||
                       pair.name == "std::__hash_value_type";
  if (!is_pair || pair.arguments.size() != 2) return std::nullopt;
  std::string key = SourceType(pair.arguments[0]);
  constexpr std::string_view kConst = " const";
  const size_t cut = key.size() - std::min(key.size(), kConst.size());
  if (key.substr(cut) == kConst) key.resize(cut);
  if (StartsWith(key, "const ")) key.erase(0, 6);
  return Pair{key, SourceType(pair.arguments[1])};
}

std::string ElementText(std::string_view type) {
  const auto pair = PairOf(type);
  return pair.has_value() ? "std::pair<" + pair->key + " const, " + pair->value + ">"
                          : SourceType(type);
}

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Returns "multi" if keys may be there more than once, "[multi]" if neither the function nor the
// type tells.
std::string Multiplicity(const TemplateName& holder, std::string_view function) {
  if (Contains(function, "_unique") || Contains(holder.name, "_Map_base")) return "";
  if (Contains(function, "_equal") || Contains(function, "_multi")) return "multi";
  for (const std::string_view argument : holder.arguments) {
    const TemplateName traits = TemplateNameOf(argument);
    if (traits.name != "std::__detail::_Hashtable_traits") continue;
    return traits.Argument(2) == "true" ? "" : "multi";
  }
  return "[multi]";
}

// Returns "std::map<Key, Value>" or "std::set<Key>" for the tree or hash table of both.
std::string KeyedHolder(const TemplateName& holder, std::string_view ordered,
                        std::string_view function) {
  const bool is_libcxx =
      StartsWith(holder.name, "std::__tree") || StartsWith(holder.name, "std::__hash");
  const std::string_view element = holder.Argument(is_libcxx ? 0 : 1);
  const bool is_map =
      is_libcxx
          ? PairOf(element).has_value()
          : std::any_of(holder.arguments.begin(), holder.arguments.end(),
                        [](std::string_view argument) { return Contains(argument, "_Select1st"); });
  const auto pair = PairOf(element);
  const std::string kind = std::string(ordered) + Multiplicity(holder, function);
  if (is_map && pair.has_value()) return kind + "map<" + pair->key + ", " + pair->value + ">";
  return kind + "set<" + SourceType(element) + ">";
}

// Returns the element of a tree or hash table: the pair of a map, the key of a set.
std::string KeyedElement(const TemplateName& holder, const Container& container) {
  if (container.name.empty()) {
    const bool is_libcxx =
        StartsWith(holder.name, "std::__tree") || StartsWith(holder.name, "std::__hash");
    return ElementText(holder.Argument(is_libcxx ? 0 : 1));
  }
  const std::string key = SourceType(holder.Argument(0));
  if (container.name.find("map") == std::string_view::npos) return key;
  return "std::pair<" + key + " const, " + SourceType(holder.Argument(1)) + ">";
}

BlockType ClueOfContainer(const TemplateName& holder, const Container& container,
                          std::string_view function) {
  BlockType clue;
  switch (container.memory) {
    case Memory::kElements:
    case Memory::kNodes:
      clue.type = ElementText(holder.Argument(0));
      break;
    case Memory::kTree:
      clue.type = KeyedElement(holder, container);
      break;
    case Memory::kHash:
      if (StartsWith(function, "_M_rehash") || StartsWith(function, "__rehash") ||
          StartsWith(function, "__do_rehash") || StartsWith(function, "_M_allocate_buckets")) {
        clue.type = "buckets";
      }
      break;
    case Memory::kMixed:
      break;
  }
  std::string text(holder.name);
  if (!container.name.empty()) {
    text = container.name;
    std::string arguments;
    for (const std::string_view argument : holder.arguments)
      arguments += ", " + std::string(argument);
    clue.holder = SourceType(text + "<" + (arguments.empty() ? "" : arguments.substr(2)) + ">");
  } else {
    clue.holder = KeyedHolder(
        holder, container.memory == Memory::kTree ? "std::" : "std::unordered_", function);
  }
  return clue;
}

// Nodes of containers, as their allocators are asked for them.
constexpr std::array<std::string_view, 9> kNodes = {
    "std::_Rb_tree_node", "std::_List_node",           "std::_Fwd_list_node",
    "std::__tree_node",   "std::__list_node",          "std::__forward_list_node",
    "std::__hash_node",   "std::__forward_begin_node", "std::__detail::_Hash_node"};

BlockType ClueOfAllocated(std::string_view type) {
  BlockType clue;
  const TemplateName made = TemplateNameOf(type);
  if (std::find(kNodes.begin(), kNodes.end(), made.name) != kNodes.end()) {
    clue.type = ElementText(made.Argument(0));
  } else if (made.name == "std::_Sp_counted_ptr_inplace" ||
             made.name == "std::__shared_ptr_emplace") {
    clue.type = SourceType(made.Argument(0));
    clue.holder = "std::make_shared";
  } else if (made.name == "std::__function::__func") {
    clue = {SourceType(made.Argument(0)), "std::function"};
  } else if (made.name == "std::_Sp_counted_ptr" || made.name == "std::_Sp_counted_deleter") {
    clue.type = std::string(made.name) + "<" + SourceType(made.Argument(0)) + ">";
  } else if (StartsWith(type, "std::__detail::_Hash_node_base*") ||
             StartsWith(type, "std::__hash_node_base<")) {
    clue.type = "buckets";
  } else if (type.find("container_internal::AlignedType") == std::string_view::npos) {
    clue.type = SourceType(type);
  }
  return clue;
}

// Returns T of "A<T>::allocate", for any allocator, and of the traits of A<T>.
std::string_view AllocatedBy(const MemberName& member) {
  TemplateName allocator = TemplateNameOf(member.scope);
  const std::string_view function = TemplateNameOf(member.name).name;
  if (function != "allocate" && function != "_S_allocate" && function != "allocate_at_least") {
    return {};
  }
  if (allocator.name == "std::allocator_traits" || allocator.name == "__gnu_cxx::__alloc_traits") {
    allocator = TemplateNameOf(allocator.Argument(0));
  }
  return allocator.Argument(0);
}

// Functions that make an object of their template's first argument.
BlockType ClueOfMaker(const MemberName& member) {
  const TemplateName function = TemplateNameOf(member.name);
  const std::string_view made = function.Argument(0);
  BlockType clue;
  if (made.empty()) return clue;
  if (function.name == "make_unique" || function.name == "make_unique_for_overwrite" ||
      function.name == "make_shared" || function.name == "allocate_shared") {
    clue = {SourceType(made), "std::" + std::string(function.name)};
    const bool is_array = clue.type.size() > 2 && clue.type.substr(clue.type.size() - 2) == "[]";
    if (is_array)
      clue.type.resize(clue.type.size() - (clue.type[clue.type.size() - 3] == ' ' ? 3 : 2));
  } else if (function.name == "__shared_count") {
    const bool is_counter_alone = made.back() == '*';
    const char* const counter =
        function.arguments.size() > 1 ? "std::_Sp_counted_deleter<" : "std::_Sp_counted_ptr<";
    clue.type = is_counter_alone ? counter + SourceType(made) + ">" : SourceType(made);
    clue.holder = is_counter_alone ? "std::shared_ptr" : "std::make_shared";
  } else if (function.name == "_M_create") {
    clue = {SourceType(made), "std::function"};
  }
  return clue;
}

// Hash tables and trees of Abseil.  Their arrays have control bytes beside the elements.
BlockType ClueOfAbseil(const TemplateName& holder) {
  static constexpr std::array<std::pair<std::string_view, const char*>, 8> kPolicies = {{
      {"FlatHashMapPolicy", "absl::flat_hash_map"},
      {"FlatHashSetPolicy", "absl::flat_hash_set"},
      {"NodeHashMapPolicy", "absl::node_hash_map"},
      {"NodeHashSetPolicy", "absl::node_hash_set"},
      {"map_params", "absl::btree_map"},
      {"set_params", "absl::btree_set"},
      {"multimap_params", "absl::btree_multimap"},
      {"multiset_params", "absl::btree_multiset"},
  }};
  BlockType clue;
  const TemplateName policy = TemplateNameOf(holder.Argument(0));
  const std::string_view base = MemberNameOf(policy.name).name;
  for (const auto& known : kPolicies) {
    if (base != known.first) continue;
    const bool is_map = std::string_view(known.second).find("map") != std::string_view::npos;
    const std::string key = SourceType(policy.Argument(0));
    const std::string both = key + ", " + SourceType(policy.Argument(1));
    clue.holder = std::string(known.second) + "<" + (is_map ? both : key) + ">";
  }
  return clue;
}

// The containers and pointers of Rust, by the paths of their types.
struct RustHolder {
  std::string_view path;
  std::string_view name;  // empty: the memory is another holder's
  bool is_map;
};
constexpr std::array<RustHolder, 17> kRustHolders = {{
    {"alloc::boxed::Box", "Box", false},
    {"alloc::rc::Rc", "Rc", false},
    {"alloc::rc::RcBox", "Rc", false},
    {"alloc::rc::RcInner", "Rc", false},
    {"alloc::sync::Arc", "Arc", false},
    {"alloc::sync::ArcInner", "Arc", false},
    {"alloc::vec::Vec", "Vec", false},
    {"alloc::collections::vec_deque::VecDeque", "VecDeque", false},
    {"alloc::raw_vec::RawVec", "", false},
    {"std::collections::hash::map::HashMap", "HashMap", true},
    {"hashbrown::map::HashMap", "HashMap", true},
    {"alloc::collections::btree::map::BTreeMap", "BTreeMap", true},
    {"alloc::collections::btree::map::entry::VacantEntry", "BTreeMap", true},
    {"alloc::collections::btree::node::LeafNode", "BTreeMap", true},
    {"alloc::collections::btree::node::InternalNode", "BTreeMap", true},
    {"alloc::collections::btree::node::NodeRef", "BTreeMap", true},
    {"alloc::collections::btree::node::Handle", "BTreeMap", true},
}};

// "Vec<r::Order>" of "alloc::vec::Vec<r::Order, alloc::alloc::Global>".
std::string RustType(std::string_view type) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kShorter = {{
      {", alloc::alloc::Global", ""},
      {"alloc::string::String", "String"},
      {"alloc::vec::Vec<", "Vec<"},
      {"alloc::boxed::Box<", "Box<"},
      {"alloc::rc::Rc<", "Rc<"},
      {"alloc::sync::Arc<", "Arc<"},
      {"std::collections::hash::map::HashMap<", "HashMap<"},
  }};
  std::string text(type);
  for (const auto& [longer, shorter] : kShorter) ReplaceAll(longer, shorter, &text);
  return text;
}

bool IsParameter(std::string_view type) {
  return type.size() == 1 && type[0] >= 'A' && type[0] <= 'Z';
}

// "alloc::vec::Vec<T>" of "<alloc::vec::Vec<T>>" and of "<alloc::vec::Vec<T> as core::X>".
std::string_view RustScope(std::string_view scope) {
  if (!StartsWith(scope, "<") || scope.back() != '>') return scope;
  scope = scope.substr(1, scope.size() - 2);
  return scope.substr(0, scope.find(" as "));
}

// `arguments` are the types that the code was made for.
BlockType ClueOfRustHolder(std::string_view path, const std::vector<std::string_view>& arguments) {
  const auto known = std::find_if(kRustHolders.begin(), kRustHolders.end(),
                                  [path](const RustHolder& each) { return each.path == path; });
  if (known == kRustHolders.end() || arguments.empty()) return {};
  std::string inside = RustType(arguments[0]);
  if (known->is_map) {
    if (arguments.size() < 2) return {};
    inside += ", " + RustType(arguments[1]);
  } else if (known->name == "Box") {
    // What others keep in boxes.
    const TemplateName boxed = TemplateNameOf(arguments[0]);
    BlockType clue = ClueOfRustHolder(boxed.name, boxed.arguments);
    const bool is_inner = boxed.name.find("Inner") != boxed.name.npos ||
                          boxed.name == "alloc::rc::RcBox" || StartsWith(clue.holder, "BTreeMap");
    if (is_inner && !clue.type.empty()) return clue;
  }
  const std::string element = known->is_map ? "(" + inside + ")" : inside;
  if (known->name.empty()) return {element, ""};
  return {element, std::string(known->name) + "<" + inside + ">"};
}

// Rust's older mangling has a type's own parameters, "alloc::vec::Vec<T,A>"; the types that the
// function was made for come after its name.  v0 has them in the place of the parameters.
BlockType ClueOfRust(const MemberName& member) {
  const TemplateName scope = TemplateNameOf(RustScope(member.scope));
  const TemplateName function = TemplateNameOf(member.name);
  const bool of_function = !function.arguments.empty();
  const auto& arguments = of_function ? function.arguments : scope.arguments;
  // The older mangling tells the parameters alone if there is no debug information.
  if (arguments.empty() || IsParameter(arguments[0])) return {};
  // The table's elements are pairs already: "(u32, r::Item)".
  if (StartsWith(scope.name, "hashbrown::raw::")) {
    const std::string element = RustType(arguments[0]);
    return {StartsWith(element, "(") ? element : "", ""};
  }
  // The parameters of these types are others than those of their functions.
  const bool is_node = scope.name == "alloc::collections::btree::node::NodeRef" ||
                       scope.name == "alloc::collections::btree::node::Handle";
  if (is_node && !of_function) return {};
  return ClueOfRustHolder(scope.name, arguments);
}

// Tells the holder by the file.  Debug information of clang's -g1 names no classes.
BlockType ClueOfFile(const std::string& file) {
  static constexpr std::array<std::pair<std::string_view, const char*>, 9> kFiles = {{
      {"stl_vector.h", "std::vector"},
      {"vector.tcc", "std::vector"},
      {"basic_string.h", "std::string"},
      {"basic_string.tcc", "std::string"},
      {"stl_tree.h", "std::map or std::set"},
      {"hashtable.h", "std::unordered_map or std::unordered_set"},
      {"stl_list.h", "std::list"},
      {"stl_deque.h", "std::deque"},
      {"deque.tcc", "std::deque"},
  }};
  BlockType clue;
  if (file.find("/c++/") == std::string::npos) return clue;
  const std::string base = BaseName(file);
  for (const auto& known : kFiles) {
    if (base == known.first) clue.holder = known.second;
  }
  return clue;
}

// Whether "std::[multi]map<int, Node>" may be `holder`.
bool IsOneOf(const std::string& holder, std::string candidates) {
  constexpr std::string_view kMulti = "[multi]";
  const size_t at = candidates.find(kMulti);
  if (at == std::string::npos) return candidates == holder;
  if (candidates == holder) return true;
  candidates.erase(at, kMulti.size());
  if (candidates == holder) return true;
  candidates.insert(at, "multi");
  return candidates == holder;
}

}  // namespace

BlockType ClueOfName(const std::string& name, const std::string& file) {
  const MemberName member = MemberNameOf(BareName(name));
  if (const std::string_view type = AllocatedBy(member); !type.empty()) {
    return ClueOfAllocated(type);
  }
  if (StartsWith(member.name, "operator new") && !member.scope.empty()) {
    return {SourceType(member.scope), "its operator new"};
  }
  if (BlockType clue = ClueOfRust(member); !clue.type.empty()) return clue;
  const TemplateName scope = TemplateNameOf(member.scope);
  if (const Container* const container = ContainerOf(scope.name);
      container != nullptr && !scope.arguments.empty()) {
    return ClueOfContainer(scope, *container, member.name);
  }
  if (StartsWith(scope.name, "absl::") &&
      scope.name.find("container_internal::") != std::string_view::npos) {
    return ClueOfAbseil(scope);
  }
  BlockType clue = ClueOfMaker(member);
  if (clue.holder.empty() && member.scope.empty()) clue = ClueOfFile(file);
  return clue;
}

const BlockType& BlockTypes::ClueOf(uint32_t name) {
  std::optional<BlockType>& clue = clues_[name];
  if (!clue.has_value()) {
    clue = ClueOfName(stacks_.names[name].text, stacks_.names[name].file);
    clue->by_symbol = stacks_.names[name].file.empty();
  }
  return *clue;
}

void BlockTypes::TakeNewType(const Sample& sample, BlockType* found) const {
  if (sample.stack.empty() || sample.stack[0] >= profile_.locations.size()) return;
  const std::string& type = profile_.locations[sample.stack[0]].new_type;
  if (type.empty()) return;
  found->type = type;
  if (found->holder.empty()) found->holder = kNewHolder;
}

BlockType BlockTypes::Of(const Stack& stack) {
  const Sample& sample = profile_.samples[stack.sample];
  if (!sample.type.empty()) {
    const bool is_managed =
        sample.source == Source::kManaged || sample.source == Source::kUnmarshalled;
    return {sample.type, is_managed ? kManagedHolder : kPythonHolder};
  }
  BlockType found;
  for (uint64_t i = stack.innermost; i < stack.begin; ++i) {
    const BlockType& clue = ClueOf(stacks_.frames[stacks_.cells[i]].name);
    const bool is_first = found.holder.empty();
    if (is_first && found.type.empty() && !clue.type.empty()) {
      found.type = clue.type;
      found.by_symbol = clue.by_symbol;
    }
    // The first container asks for the memory.  Its callers may know its kind better.  Another
    // container holds it.
    if (clue.holder.empty()) continue;
    if (!is_first && !IsOneOf(clue.holder, found.holder)) break;
    found.holder = clue.holder;
  }
  if (found.type.empty()) TakeNewType(sample, &found);
  return found;
}

}  // namespace allomon::heap
