#include "tools/pages/object_types.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "tools/explain/recorded_blocks.h"
#include "tools/load/recording/recording_profile.h"
#include "tools/pages/process_blocks.h"

namespace allomon::pages {
namespace {

// An object begins with its count of references and its type.  Before them are two words of the
// garbage collector, if it knows the object, and before these two more for a dictionary and weak
// references.
constexpr uint64_t kHeadBytes[] = {0, 16, 32};
constexpr uint64_t kTypeOffset = 8;
constexpr uint64_t kLeastObjectBytes = 16;
constexpr uint64_t kMostHeadBytes = 48;  // with the first two words of the object

// Offsets in a type object, the same in all of these versions.
constexpr uint64_t kNameOffset = 24;
constexpr uint64_t kBaseOffset = 256;
constexpr uint64_t kBasicSizeOffset = 32;
constexpr uint64_t kItemSizeOffset = 40;  // 0: all objects are of the basic size
constexpr uint64_t kFlagsOffset = 168;
// Attributes follow the object, since 3.13.
constexpr uint64_t kTypeInlineValues = uint64_t{1} << 2;
constexpr uint64_t kTypeSubclass = uint64_t{1} << 31;  // the objects of such a type are types

// Offsets in an object.
constexpr uint64_t kLengthOffset = 16;
constexpr uint64_t kReferentOffset = 16;  // of a weak reference
constexpr uint64_t kItemsOffset = 24;     // of a list or a deque

constexpr uint64_t kLeastAddress = 4096;
constexpr uint64_t kMostAddress = uint64_t{1} << 47;
constexpr int kMostMetatypes = 8;
constexpr size_t kMostNameBytes = 256;
constexpr size_t kNamePieceBytes = 32;

bool IsAddress(uint64_t word) {
  return word >= kLeastAddress && word < kMostAddress && word % sizeof(uint64_t) == 0;
}

// The count of 3.14 has 32 bits, and flags are in the highest 16.  An address of a heap has bits
// between them.
bool IsReferenceCount(uint64_t word) {
  return static_cast<uint32_t>(word) != 0 && (word >> 32 & 0xffff) == 0;
}

class Reader {
 public:
  explicit Reader(uint32_t pid)
      : blocks_(pid), types_([this](uint64_t address, void* to, size_t size_bytes) {
          return ReadUnlessSwapped(address, to, size_bytes);
        }) {}
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  absl::Status Read() {
    const absl::Status status = blocks_.Open();
    if (!status.ok()) return status;
    sampled_ = blocks_.ListSampled();
    return blocks_.ReadHeap();
  }

  absl::StatusOr<heap::HeapProfile> Profile(const NameSources& name_sources) {
    recording::RecordingOptions options;
    options.name_sources = name_sources;
    options.find_type = [this](const recording::Process& process, uint32_t number) {
      const size_t index = blocks_.Find(process, number);
      if (index == explain::RecordedBlocks::kNone) return std::string();
      const ProcessBlocks::Place& block = sampled_[index];
      return types_.Of(block.begin,
                       std::min(process.live[number - 1].size_bytes, block.room_bytes));
    };
    return blocks_.Profile(options);
  }

 private:
  // Reading a page that is swapped would bring it into the process's memory.
  bool ReadUnlessSwapped(uint64_t address, void* to, size_t size_bytes) const {
    const uint64_t page_bytes = blocks_.process().page_bytes();
    const uint64_t last = (address + size_bytes - 1) / page_bytes;
    for (uint64_t page = address / page_bytes; page <= last; ++page) {
      const explain::Process& process = blocks_.process();
      if (process.HasContent(page) && !process.IsResident(page)) return false;
    }
    return blocks_.ReadMemory(address, to, size_bytes);
  }

  ProcessBlocks blocks_;
  PythonTypes types_;
  std::vector<ProcessBlocks::Place> sampled_;
};

}  // namespace

PythonTypes::Object PythonTypes::Find(uint64_t begin, uint64_t size_bytes, bool may_be_freed) {
  char bytes[kMostHeadBytes];
  const uint64_t read_bytes = std::min<uint64_t>(size_bytes, sizeof(bytes));
  if (read_bytes < kLeastObjectBytes || !read_(begin, bytes, read_bytes)) return {};
  for (const uint64_t head_bytes : kHeadBytes) {
    if (head_bytes + kLeastObjectBytes > read_bytes) break;
    uint64_t count = 0, type = 0;
    memcpy(&count, bytes + head_bytes, sizeof(count));
    memcpy(&type, bytes + head_bytes + kTypeOffset, sizeof(type));
    const bool is_freed = may_be_freed && count == 0;
    if (!(is_freed || IsReferenceCount(count)) || !IsAddress(type)) continue;
    std::string name = NameOf(type);
    // Types in an executable that is linked to fixed addresses lie low, and may be items of a list.
    if (!name.empty() && (!IsAddress(count) || NameOf(count).empty())) {
      return {std::move(name), type, begin + head_bytes};
    }
  }
  return {};
}

// The numbers of another block agree by chance once in 2^60.
PythonTypes::Entries PythonTypes::EntriesOf(uint64_t begin, uint64_t size_bytes) const {
  struct Head {
    uint64_t references;
    uint8_t log2_size;
    uint8_t log2_index_bytes;
    uint8_t kind;
    uint64_t usable;
    uint64_t entries;
  };
  static_assert(sizeof(Head) == 32);
  constexpr uint8_t kWithHashes = 0, kShared = 2;  // kinds
  constexpr int kMostLog2 = 32;
  Head head = {};
  if (size_bytes < sizeof(head) || !read_(begin, &head, sizeof(head))) return {};
  if (head.references == 0 || head.references > UINT32_MAX || head.log2_size > kMostLog2 ||
      head.log2_index_bytes < head.log2_size || head.log2_index_bytes > kMostLog2 + 3 ||
      head.kind > kShared) {
    return {};
  }
  const uint64_t most = (uint64_t{2} << head.log2_size) / 3;
  if (head.entries > most || head.usable > most - head.entries) return {};
  constexpr uint64_t kMostShared = 30;  // names that objects share
  const uint64_t all = head.usable + head.entries;
  if (head.kind == kShared ? all > kMostShared : all != most) return {};
  Entries entries;
  entries.are_shared = head.kind == kShared;
  entries.entry_bytes = head.kind == kWithHashes ? 24 : 16;
  entries.first = sizeof(head) + (uint64_t{1} << head.log2_index_bytes);
  if (entries.first + most * entries.entry_bytes > size_bytes) return {};
  entries.end = entries.first + head.entries * entries.entry_bytes;
  return entries;
}

PythonTypes::References PythonTypes::ReferencesOf(uint64_t begin, uint64_t size_bytes) {
  constexpr std::string_view kPlain[] = {"str", "bytes", "int", "float", "complex", "bool"};
  constexpr std::string_view kOfData[] = {"bytearray",          "array.array",
                                          "_io.BufferedReader", "_io.BufferedWriter",
                                          "_io.BufferedRandom", "_io.StringIO"};
  const auto is_in = [](const auto& names, const std::string& name) {
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
  };
  const Object object = Find(begin, size_bytes, false);
  References references = {size_bytes};
  if (object.type.empty()) {
    const uint64_t end = EntriesOf(begin, size_bytes).end;
    if (end != 0) references.used_bytes = end;
    return references;
  }
  if (is_in(kPlain, object.type)) return {};
  references.are_data = is_in(kOfData, object.type);
  uint64_t basic_bytes = 0, item_bytes = 0, flags = 0, length = 0;
  if (!ReadWord(object.type_place + kBasicSizeOffset, &basic_bytes) ||
      !ReadWord(object.type_place + kItemSizeOffset, &item_bytes) ||
      !ReadWord(object.type_place + kFlagsOffset, &flags)) {
    return references;
  }
  // Other objects with items have no count of them in this place.
  const bool has_items = object.type == "tuple" || (flags & kTypeSubclass) != 0;
  if (has_items && ReadWord(object.place + kLengthOffset, &length) && length < size_bytes) {
    basic_bytes += length * item_bytes;
  }
  if ((item_bytes == 0 && (flags & kTypeInlineValues) == 0) || has_items) {
    references.used_bytes = std::min(size_bytes, object.place - begin + basic_bytes);
  }
  if (IsWeakReference(object.type_place)) references.weak_place = object.place + kReferentOffset;
  LimitToItems(object, begin, &references);
  if (object.place - begin == kMostHeadBytes - kLeastObjectBytes) {
    LimitToValues(begin, &references);
  }
  return references;
}

// An object with attributes begins with the address of their values: in the first word (3.11), or
// less one in the second (3.12).  Before the values are words that are not set.
void PythonTypes::LimitToValues(uint64_t begin, References* references) {
  uint64_t words[2] = {};
  if (!read_(begin, words, sizeof(words))) return;
  const bool is_tagged = (words[1] & 1) != 0;
  const uint64_t values = is_tagged ? words[1] + 1 : words[0];
  if (!IsAddress(values) || (!is_tagged && !Of(values, kMostHeadBytes).empty())) return;
  references->items_place = begin + (is_tagged ? sizeof(uint64_t) : 0);
  references->items = values;
  references->items_end = UINT64_MAX;
}

// A type that Python code has made refers to the table of names that its objects share.  Returns 0
// for others.
uint64_t PythonTypes::AttributeNamesOf(uint64_t type) {
  constexpr uint64_t kLeastOffset = 400, kMostOffset = 1200;
  const auto [known, is_new] = attribute_names_.try_emplace(type);
  if (!is_new) return known->second;
  for (uint64_t offset = kLeastOffset; offset < kMostOffset; offset += sizeof(uint64_t)) {
    uint64_t table = 0;
    if (!ReadWord(type + offset, &table)) break;
    if (IsAddress(table) && EntriesOf(table, UINT64_MAX).are_shared) return known->second = table;
  }
  return 0;
}

std::string PythonTypes::AttributeAt(uint64_t begin, uint64_t size_bytes, uint64_t place) {
  constexpr uint64_t kInlineHeadBytes = 8;
  const Object object = Find(begin, size_bytes, false);
  uint64_t flags = 0, values = 0, key = 0;
  if (object.type.empty() || !ReadWord(object.type_place + kFlagsOffset, &flags)) return "";
  if ((flags & kTypeInlineValues) != 0) {
    uint64_t basic_bytes = 0;
    if (!ReadWord(object.type_place + kBasicSizeOffset, &basic_bytes)) return "";
    values = object.place + basic_bytes + kInlineHeadBytes;
  } else if (object.place - begin == kMostHeadBytes - kLeastObjectBytes) {
    References references;
    LimitToValues(begin, &references);
    values = references.items;
  }
  const uint64_t names = AttributeNamesOf(object.type_place);
  if (values == 0 || place < values || names == 0) return "";
  const Entries entries = EntriesOf(names, UINT64_MAX);
  const uint64_t number = (place - values) / sizeof(uint64_t);
  if (number >= (entries.end - entries.first) / sizeof(uint64_t)) return "";
  const uint64_t entry = entries.first + number * entries.entry_bytes;
  return entry < entries.end && ReadWord(names + entry, &key) ? TextOf(key) : "";
}

// The first items of a list are in use, and those between two indexes in the only block of a deque.
void PythonTypes::LimitToItems(const Object& object, uint64_t begin, References* references) const {
  constexpr uint64_t kItemBytes = 8, kMostDequeItems = 64;
  References items = *references;
  items.items_place = object.place + kItemsOffset;
  items.used_bytes = items.items_place - begin;
  if (object.type == "list") {
    uint64_t length = 0;
    if (!ReadWord(object.place + kLengthOffset, &length)) return;
    if (!ReadWord(items.items_place, &items.items)) return;
    items.items_end = length * kItemBytes;
  } else if (object.type == "collections.deque") {
    struct {
      uint64_t first_block, last_block, first, last;
    } deque;
    if (!read_(items.items_place, &deque, sizeof(deque)) || deque.first_block != deque.last_block ||
        deque.last < deque.first || deque.last > kMostDequeItems) {
      return;
    }
    items.items = deque.first_block;
    items.items_begin = (deque.first + 1) * kItemBytes;  // after a link
    items.items_end = (deque.last + 2) * kItemBytes;
  } else {
    return;
  }
  *references = items;
}

bool PythonTypes::IsWeakReference(uint64_t type) {
  for (int i = 0; i < kMostMetatypes && IsAddress(type); ++i) {
    const std::string name = NameOf(type);
    if (name == "weakref.ReferenceType" || name == "weakref" || name == "weakref.ProxyType" ||
        name == "weakref.CallableProxyType" || name == "weakproxy" || name == "weakcallableproxy") {
      return true;
    }
    if (!ReadWord(type + kBaseOffset, &type)) return false;
  }
  return false;
}

// Until 3.11 the characters of a compact ASCII text follow a word that is 0.
std::string PythonTypes::TextOf(uint64_t object) {
  constexpr uint64_t kTextOffsets[] = {40, 48};
  constexpr size_t kMostBytes = 64;
  uint64_t type = 0, length = 0;
  if (!IsAddress(object) || !ReadWord(object + kTypeOffset, &type) || !IsAddress(type) ||
      NameOf(type) != "str" || !ReadWord(object + kLengthOffset, &length) || length == 0 ||
      length > kMostBytes) {
    return "";
  }
  for (const uint64_t offset : kTextOffsets) {
    char text[kMostBytes + 1];
    if (!read_(object + offset, text, length + 1) || text[length] != '\0') continue;
    if (std::all_of(text, text + length, [](char c) { return ' ' <= c && c <= '~'; })) {
      return std::string(text, length);
    }
  }
  return "";
}

std::string PythonTypes::NameOf(uint64_t type) {
  const auto [place, is_new] = names_.try_emplace(type);
  if (is_new) place->second = ReadNameOf(type);
  return place->second;
}

std::string PythonTypes::ReadNameOf(uint64_t type) const {
  uint64_t metatype = 0, flags = 0;
  if (!ReadWord(type + kTypeOffset, &metatype) || !IsAddress(metatype)) return "";
  if (!ReadWord(metatype + kFlagsOffset, &flags) || (flags & kTypeSubclass) == 0) return "";
  for (int i = 0; i < kMostMetatypes; ++i) {
    uint64_t next = 0;
    if (!ReadWord(metatype + kTypeOffset, &next) || !IsAddress(next)) return "";
    if (next == metatype) {
      uint64_t name = 0;
      if (!ReadWord(metatype + kNameOffset, &name) || ReadText(name) != "type") return "";
      return ReadWord(type + kNameOffset, &name) ? ReadText(name) : "";
    }
    metatype = next;
  }
  return "";
}

// Empty if the text does not end, or has a character that is in no name.
std::string PythonTypes::ReadText(uint64_t address) const {
  std::string text;
  while (text.size() < kMostNameBytes) {
    // A piece does not pass the end of a page.
    char piece[kNamePieceBytes];
    const uint64_t at = address + text.size();
    const uint64_t piece_bytes = kNamePieceBytes - at % kNamePieceBytes;
    if (!read_(at, piece, piece_bytes)) return "";
    for (uint64_t i = 0; i < piece_bytes; ++i) {
      if (piece[i] == '\0') return text;
      if (static_cast<unsigned char>(piece[i]) <= ' ') return "";
      text += piece[i];
    }
  }
  return "";
}

absl::StatusOr<heap::HeapProfile> ReadObjectTypes(const std::string& process,
                                                  const NameSources& name_sources) {
  return ReadProcess<Reader>(process, name_sources);
}

}  // namespace allomon::pages
