#include "runtime/internal/snapshot/snapshot_writer.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "runtime/internal/object/value_word.h"
#include "tracker/base/check.h"

namespace allomon::gc::internal {
namespace {

// Indices into the tables of types below.
enum NodeType : uint64_t { kObjectNode = 3, kNativeNode = 8, kSyntheticNode = 9 };
enum EdgeType : uint64_t { kElement = 1, kProperty = 2, kInternal = 3, kWeak = 6 };

constexpr uint64_t kNodeFields = 6;
// Readers hold the index of a node, its number times the fields of a node, in 32 bits.
constexpr uint64_t kMostNodes = UINT32_MAX / kNodeFields;

constexpr const char kMeta[] =
    "{\"snapshot\":{\"meta\":{"
    "\"node_fields\":[\"type\",\"name\",\"id\",\"self_size\",\"edge_count\",\"detachedness\"],"
    "\"node_types\":[[\"hidden\",\"array\",\"string\",\"object\",\"code\",\"closure\",\"regexp\","
    "\"number\",\"native\",\"synthetic\",\"concatenated string\",\"sliced string\",\"symbol\","
    "\"bigint\"],\"string\",\"number\",\"number\",\"number\",\"number\"],"
    "\"edge_fields\":[\"type\",\"name_or_index\",\"to_node\"],"
    "\"edge_types\":[[\"context\",\"element\",\"property\",\"internal\",\"hidden\",\"shortcut\","
    "\"weak\"],\"string_or_number\",\"node\"],"
    "\"trace_function_info_fields\":[\"function_id\",\"name\",\"script_name\",\"script_id\","
    "\"line\",\"column\"],"
    "\"trace_node_fields\":[\"id\",\"function_info_index\",\"count\",\"size\",\"children\"],"
    "\"sample_fields\":[\"timestamp_us\",\"last_assigned_id\"],"
    "\"location_fields\":[\"object_index\",\"script_id\",\"line\",\"column\"]}";

// Strings with fixed indices.  The names of groups, of globals and of types with their references
// follow them.
constexpr const char* kStrings[] = {
    "", "(GC roots)", "key", "value", "value of an ephemeron", "memory outside the heap", "memory",
};
enum String : uint64_t { kEmpty, kRoots, kKey, kValue, kKeptByKey, kOutside, kMemory };
constexpr uint64_t kFirstGroupString = std::size(kStrings);

// Old objects do not move and have two words or more, so the number identifies the object as long
// as it lives.  It is odd; even numbers are left for nodes that are not objects.
uint64_t IdOf(Object* object) { return reinterpret_cast<uintptr_t>(object) / 16 * 2 + 1; }

}  // namespace

void SnapshotWriter::Look(HeapCore& heap) {
  const MutexHolder hold_globals(heap.globals_mutex);
  const MutexHolder hold_tables(heap.tables_mutex);
  const ObjectNumbers numbers(heap);
  numbers_ = &numbers;
  if (!Prepare(heap)) {
    outcome_ = Outcome::kOutOfMemory;
  } else if (FirstObjectNode() + numbers.n_objects() + outside_.size() > kMostNodes) {
    outcome_ = Outcome::kTooManyObjects;
  } else {
    WriteHead();
    WriteNodes(heap);
    WriteEdges(heap);
    WriteStrings(heap);
    text_.Flush();
  }
  numbers_ = nullptr;
}

// --- The first walk.

bool SnapshotWriter::Prepare(HeapCore& heap) {
  if (!FindRootGroups(heap, &groups_) || !FindOutside(heap)) return false;
  bool has_room = true;
  ForEachLiveObject(heap, [&](Object* object) { has_room = has_room && CountObject(object); });
  std::sort(kept_.begin(), kept_.end(),
            [](const KeptValue& a, const KeptValue& b) { return a.key < b.key; });
  CountRoots(heap);
  AssignStrings();
  return has_room;
}

// Blocks whose release is due are dead.  A block under construction has no entry yet.
bool SnapshotWriter::FindOutside(HeapCore& heap) {
  const Vector<CustomBlockEntry>& entries = heap.customs.entries;
  if (!TryReserve(outside_, entries.size())) return false;
  for (const CustomBlockEntry& entry : entries) {
    outside_.push_back({numbers_->Of(entry.object), IdOf(entry.object) - 1, entry.bytes_now()});
  }
  std::sort(outside_.begin(), outside_.end(),
            [](const Outside& a, const Outside& b) { return a.block < b.block; });
  n_edges_ += outside_.size();
  return true;
}

bool SnapshotWriter::CountObject(Object* object) {
  const TypeInfo& type = TypeOf(HeaderOf(object));
  TypeRow* const row = types_.Find(type);
  if (row == nullptr) return false;
  ++row->objects;
  uint64_t edges = 0;
  ForEachSlot(type, object, [&edges](Slot& slot) { edges += PointsToObject(slot) ? 1 : 0; });
  n_edges_ += edges;
  bool has_room = true;
  if (HasPairs(type)) {
    ForEachPair(object, [&](EphemeronPair& pair) { has_room = has_room && CountPair(pair); });
  }
  return has_room;
}

// After a major collection the key of an ephemeron lives, or key and value are null.
bool SnapshotWriter::CountPair(const EphemeronPair& pair) {
  n_edges_ += 1;
  if (!PointsToObject(pair.value)) return true;
  n_edges_ += 2;
  return TryPush(kept_, {numbers_->Of(pair.key), pair.value});
}

void SnapshotWriter::CountRoots(HeapCore& heap) {
  n_edges_ += 1 + 2 * groups_.size();
  for (const RootGroup& group : groups_) {
    n_edges_ += group.edges;
    if (group.kind != RootGroup::Kind::kGlobals) continue;
    group.ForEach(heap,
                  [this](Object*, uint64_t, const char* name) { n_globals_ += name != nullptr; });
  }
}

// Types with the same name share its string: readers tell types apart by it.
void SnapshotWriter::AssignStrings() {
  uint64_t next = first_type_string_ = kFirstGroupString + groups_.size() + n_globals_;
  Vector<TypeRow>& rows = types_.rows();
  for (auto row = rows.begin(); row != rows.end(); ++row) {
    const auto same = std::find_if(rows.begin(), row, [row](const TypeRow& other) {
      return strcmp(other.type->name, row->type->name) == 0;
    });
    row->name_string = same == row ? static_cast<uint32_t>(next++) : same->name_string;
    row->reference_string = static_cast<uint32_t>(next);
    if (row->type->reference_names != nullptr) next += CountReferences(*row->type);
  }
}

// --- Nodes.

void SnapshotWriter::WriteHead() {
  text_.Add(kMeta);
  text_.Add(",\"node_count\":");
  text_.Add(FirstObjectNode() + numbers_->n_objects() + outside_.size());
  text_.Add(",\"edge_count\":");
  text_.Add(n_edges_);
  text_.Add(",\"trace_function_count\":0},\n");
}

void SnapshotWriter::WriteNode(uint64_t type, uint64_t name, uint64_t id, uint64_t bytes,
                               uint64_t edges) {
  ALLOMON_DCHECK("inv.snapshot.ids", id != 0);
  ++written_nodes_;
  text_.AddItem({type, name, id, bytes, edges, 0});
}

// Numbers of nodes that are not objects are even.
void SnapshotWriter::WriteNodes(HeapCore& heap) {
  text_.Add("\"nodes\":[");
  text_.BeginList();
  WriteNode(kSyntheticNode, kEmpty, 2, 0, 1 + groups_.size());
  WriteNode(kSyntheticNode, kRoots, 4, 0, groups_.size());
  for (size_t i = 0; i < groups_.size(); ++i) {
    WriteNode(kObjectNode, kFirstGroupString + i, 6 + 2 * i, 0, groups_[i].edges);
  }
  next_object_ = next_kept_ = next_outside_ = 0;
  ForEachLiveObject(heap, [this](Object* object) { WriteObjectNode(object); });
  for (const Outside& outside : outside_) {
    WriteNode(kNativeNode, kOutside, outside.id, outside.bytes, 0);
  }
  ALLOMON_DCHECK_EQ("inv.snapshot.counts", next_object_, numbers_->n_objects());
  ALLOMON_DCHECK_EQ("inv.snapshot.counts", next_outside_, outside_.size());
  ALLOMON_DCHECK_EQ("inv.snapshot.counts", next_kept_, kept_.size());
  text_.Add("],\n");
}

void SnapshotWriter::WriteObjectNode(Object* object) {
  const TypeInfo& type = TypeOf(HeaderOf(object));
  uint64_t edges = 0;
  ForEachSlot(type, object, [&edges](Slot& slot) { edges += PointsToObject(slot) ? 1 : 0; });
  if (HasPairs(type)) {
    ForEachPair(object, [&edges](const EphemeronPair& pair) {
      edges += PointsToObject(pair.value) ? 2 : 1;
    });
  }
  for (; next_kept_ < kept_.size() && kept_[next_kept_].key == next_object_; ++next_kept_) ++edges;
  if (next_outside_ < outside_.size() && outside_[next_outside_].block == next_object_) {
    ++edges;
    ++next_outside_;
  }
  ++next_object_;
  WriteNode(kObjectNode, types_.Find(type)->name_string, IdOf(object), BytesOf(type, object),
            edges);
}

// --- Edges.

uint64_t SnapshotWriter::NodeOf(Object* object) const {
  ALLOMON_DCHECK("inv.snapshot.closed", numbers_->IsLive(object));
  return FirstObjectNode() + numbers_->Of(object);
}

void SnapshotWriter::WriteEdge(uint64_t type, uint64_t name_or_index, uint64_t to_node) {
  ++written_edges_;
  text_.AddItem({type, name_or_index, to_node * kNodeFields});
}

void SnapshotWriter::WriteEdges(HeapCore& heap) {
  text_.Add("\"edges\":[");
  text_.BeginList();
  WriteRootEdges(heap);
  next_object_ = next_kept_ = next_outside_ = 0;
  ForEachLiveObject(heap, [this](Object* object) { WriteObjectEdges(object); });
  text_.Add("],\n");
  ALLOMON_DCHECK_EQ("inv.snapshot.counts", written_edges_, n_edges_);
  ALLOMON_DCHECK_EQ("inv.snapshot.counts", written_nodes_,
                    FirstObjectNode() + numbers_->n_objects() + outside_.size());
}

// The root itself also has edges to the groups: DevTools counts distances from the root's direct
// children that are not synthetic.
void SnapshotWriter::WriteRootEdges(HeapCore& heap) {
  WriteEdge(kElement, 1, 1);
  for (size_t i = 0; i < groups_.size(); ++i) WriteEdge(kElement, 2 + i, 2 + i);
  for (size_t i = 0; i < groups_.size(); ++i) WriteEdge(kElement, 1 + i, 2 + i);
  uint64_t global_string = kFirstGroupString + groups_.size();
  for (const RootGroup& group : groups_) {
    group.ForEach(heap, [&](Object* object, uint64_t index, const char* name) {
      const bool named = name != nullptr;
      WriteEdge(named ? kProperty : kElement, named ? global_string++ : index, NodeOf(object));
    });
  }
}

void SnapshotWriter::WriteNamedSlots(const TypeInfo& type, Object* object) {
  uint64_t index = types_.Find(type)->reference_string;
  ForEachSlot(type, object, [&](Slot& slot) {
    if (PointsToObject(slot)) WriteEdge(kProperty, index, NodeOf(slot));
    ++index;
  });
}

void SnapshotWriter::WriteObjectEdges(Object* object) {
  const TypeInfo& type = TypeOf(HeaderOf(object));
  if (type.reference_names != nullptr) {
    WriteNamedSlots(type, object);
  } else {
    uint64_t index = 0;
    ForEachSlot(type, object, [&](Slot& slot) {
      if (PointsToObject(slot)) WriteEdge(kElement, index, NodeOf(slot));
      ++index;
    });
  }
  if (HasPairs(type)) {
    ForEachPair(object, [this](const EphemeronPair& pair) {
      WriteEdge(kWeak, kKey, NodeOf(pair.key));
      if (PointsToObject(pair.value)) WriteEdge(kWeak, kValue, NodeOf(pair.value));
    });
  }
  for (; next_kept_ < kept_.size() && kept_[next_kept_].key == next_object_; ++next_kept_) {
    WriteEdge(kInternal, kKeptByKey, NodeOf(kept_[next_kept_].value));
  }
  if (next_outside_ < outside_.size() && outside_[next_outside_].block == next_object_) {
    WriteEdge(kInternal, kMemory, FirstObjectNode() + numbers_->n_objects() + next_outside_++);
  }
  ++next_object_;
}

// --- Strings.

void SnapshotWriter::WriteStrings(HeapCore& heap) {
  text_.Add("\"trace_function_infos\":[],\n\"trace_tree\":[],\n\"samples\":[],\n");
  text_.Add("\"locations\":[],\n\"strings\":[\"\"");
  const auto add = [this](const char* string) {
    text_.Add(",\n");
    text_.AddQuoted(string);
  };
  for (size_t i = 1; i < std::size(kStrings); ++i) add(kStrings[i]);
  for (const RootGroup& group : groups_) {
    char name[64];
    group.PrintName(name);
    add(name);
  }
  for (GlobalNode* node = heap.globals.next; node != &heap.globals; node = node->next) {
    if (PointsToObject(node->object) && node->name != nullptr) add(node->name);
  }
  uint64_t next = first_type_string_;
  for (const TypeRow& row : types_.rows()) {
    if (row.name_string == next) add(row.type->name), ++next;
    if (row.type->reference_names == nullptr) continue;
    const uint64_t count = CountReferences(*row.type);
    for (uint64_t i = 0; i < count; ++i) add(row.type->reference_names[i]);
    next += count;
  }
  text_.Add("]}\n");
}

}  // namespace allomon::gc::internal
