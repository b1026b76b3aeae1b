#include "tracker/lua/describe.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "tracker/base/check.h"
#include "tracker/base/large_object.h"
#include "tracker/lua/object_reader.h"

namespace allomon::lua {
namespace {

using internal::InterpretedFrame;
using internal::kWalkFrame;
using internal::kWalkLost;
using internal::PlaceDescription;
using internal::ReadableMemory;

// Stores texts one after the other in the room that a description has.
class Room {
 public:
  explicit Room(const PlaceDescription& description)
      : at_(description.room), end_(description.room + description.room_bytes) {}
  char* at() const { return at_; }

  void Put(char c) {
    if (at_ < end_) *at_++ = c;
  }
  void Put(const char* text) {
    for (; *text != '\0'; ++text) Put(*text);
  }
  void Put(const Text& text) {
    for (size_t i = 0; i < text.bytes; ++i) {
      Put(static_cast<char>(ReadableMemory::LoadCovered<uint8_t>(text.begin + i)));
    }
  }
  void Put(uint32_t number) {
    if (number >= 10) Put(number / 10);
    Put(static_cast<char>('0' + number % 10));
  }

 private:
  char* at_;
  char* const end_;
};

// Writes a source as Lua shows it: [string "return 1"] for a program given as text.
void PutSource(const Source& source, Room* room) {
  if (source.kind == 0) room->Put("[string \"");
  room->Put(source.text);
  if (source.kind != 0 && source.text.bytes == 0) room->Put('?');
  if (source.kind == 0) room->Put(source.is_cut ? "...\"]" : "\"]");
}

// Finds the name of the function of a call from its caller's code.
bool FindName(uintptr_t state, const CallWords& words, ObjectReader* reader, Text* name) {
  CallWords caller;
  if ((words.flags & (kWasTailCalled | kBeginsLoop)) != 0 ||
      !reader->ReadCall(words.caller, &caller) || (caller.flags & kCallsNative) != 0) {
    return false;
  }
  const uintptr_t prototype = reader->PrototypeOf(state, caller);
  uintptr_t code;
  if (!reader->Is(prototype, kPrototype) || !reader->Load(prototype + kCode, &code)) return false;
  const uintptr_t past = (caller.instruction - code) / kInstructionBytes;
  return past > 0 && past <= INT32_MAX &&
         FindCalledName(prototype, static_cast<int32_t>(past) - 1, reader, name);
}

KnownName Copy(const Text& text) {
  KnownName copy = {};
  copy.bytes = static_cast<uint8_t>(text.bytes < kKnownNameBytes ? text.bytes : kKnownNameBytes);
  for (size_t i = 0; i < copy.bytes; ++i) {
    copy.text[i] = static_cast<char>(ReadableMemory::LoadCovered<uint8_t>(text.begin + i));
  }
  return copy;
}

KnownName NameOf(const InterpretedFrame& frame, const CallWords& words, ObjectReader* reader) {
  Text text = {0, 0};
  KnownName name = {};
  if (FindName(frame.own[0], words, reader, &text)) name = Copy(text);
  const KnownName* const kept = KeepName(frame.code, name);
  return kept != nullptr ? *kept : name;
}

void PutName(const KnownName& name, const Prototype& prototype, const Source& source, Room* room) {
  if (prototype.first_line == 0) return room->Put("main chunk");
  ALLOMON_DCHECK_LE("inv.lua.text", size_t{name.bytes}, kKnownNameBytes);
  for (size_t i = 0; i < name.bytes; ++i) room->Put(name.text[i]);
  if (name.bytes != 0) return;
  room->Put('<');
  PutSource(source, room);
  room->Put(':');
  room->Put(static_cast<uint32_t>(prototype.first_line));
  room->Put('>');
}

using internal::ReadableMemory;

constexpr uint64_t kOdd = 0x9e3779b97f4a7c15u;

uint64_t Mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * kOdd;
  return hash ^ hash >> 29;
}

char At(const Text& text, size_t i) {
  return static_cast<char>(ReadableMemory::LoadCovered<uint8_t>(text.begin + i));
}

// Returns the length of the first line.
size_t LineBytes(const Text& text) {
  size_t bytes = 0;
  while (bytes < text.bytes && At(text, bytes) != '\n') ++bytes;
  return bytes;
}

// Reads whole aligned words, which lie in the same page as their first byte.
uint64_t HashOf(const Text& text) {
  uint64_t hash = text.bytes;
  uintptr_t at = text.begin & ~uintptr_t{7};
  const uintptr_t end = text.begin + text.bytes;
  uint64_t keep = ~uint64_t{0} << 8 * (text.begin - at);
  for (; at < end; at += sizeof(uint64_t)) {
    if (end - at < sizeof(uint64_t)) keep &= (uint64_t{1} << 8 * (end - at)) - 1;
    hash = Mix(hash, ReadableMemory::LoadCovered<uint64_t>(at) & keep);
    keep = ~uint64_t{0};
  }
  return hash;
}

uint64_t Both(int32_t a, int32_t b) {
  return uint64_t{static_cast<uint32_t>(a)} << 32 | static_cast<uint32_t>(b);
}

}  // namespace

int DescribeFunction(void*, const InterpretedFrame* frame, PlaceDescription* description) {
  ReadableMemory memory = {};
  ObjectReader reader(&memory);
  CallWords words;
  Prototype prototype;
  Source source;
  if (!reader.ReadCall(frame->own[1], &words) ||
      !reader.ReadPrototype(reader.PrototypeOf(frame->own[0], words), &prototype) ||
      !ReadSource(prototype.source, &reader, &source)) {
    return kWalkLost;
  }
  Room room(*description);
  description->file = room.at();
  PutSource(source, &room);
  description->file_bytes = static_cast<size_t>(room.at() - description->file);
  description->name = room.at();
  PutName(NameOf(*frame, words, &reader), prototype, source, &room);
  description->name_bytes = static_cast<size_t>(room.at() - description->name);
  ALLOMON_DCHECK_LE("inv.lua.text", description->file_bytes + description->name_bytes,
                    description->room_bytes);
  // The line of definition of a main chunk is 0; it begins at line 1.
  description->first_line =
      prototype.first_line > 0 ? static_cast<uint32_t>(prototype.first_line) : 1;
  description->line = frame->position;
  return kWalkFrame;
}

namespace {

constexpr size_t kFunctions = 4096;
constexpr size_t kMostSteps = 64;
// Instructions, and constants, that tell stripped functions apart.
constexpr int32_t kMostHashed = 32;

// The name is complete once `is_written`.
struct Entry {
  std::atomic<uintptr_t> function;
  KnownName name;
  std::atomic<bool> is_written;
};

ALLOMON_LARGE_ZEROS Entry g_entries[kFunctions];

// Mixes in the beginnings of the code and of its constants: of stripped functions nothing else
// tells one from another at the same lines.
bool MixContents(const Prototype& prototype, ObjectReader* reader, uint64_t* hash) {
  const auto code_count = static_cast<size_t>(std::clamp(prototype.code_count, 0, kMostHashed));
  const Text code = {prototype.code, code_count * kInstructionBytes};
  if (!reader->memory().Covers(code.begin, code.bytes)) return false;
  *hash = Mix(*hash, HashOf(code));
  for (int32_t i = 0; i < std::min(prototype.constant_count, kMostHashed); ++i) {
    const uintptr_t constant = prototype.constants + static_cast<uintptr_t>(i) * kValueBytes;
    uintptr_t value;
    uint8_t tag;
    Text text;
    if (!reader->Load(constant, &value) || !reader->Load(constant + kValueTag, &tag)) return false;
    if ((tag & kOfCollector) == 0) {
      *hash = Mix(*hash, (tag & kTypeBits) == kNumber ? value : tag);
    } else if (reader->ReadText(value, kMostNameBytes, &text)) {
      *hash = Mix(*hash, HashOf(text));
    }
  }
  return true;
}

}  // namespace

const KnownName* KeepName(uintptr_t function, const KnownName& name) {
  for (size_t i = 0; i < kMostSteps; ++i) {
    Entry& entry = g_entries[(function + i) % kFunctions];
    uintptr_t there = entry.function.load(std::memory_order_acquire);
    if (there == 0 && entry.function.compare_exchange_strong(there, function)) {
      entry.name = name;
      entry.is_written.store(true, std::memory_order_release);
      return &entry.name;
    }
    if (there != function) continue;
    return entry.is_written.load(std::memory_order_acquire) ? &entry.name : nullptr;
  }
  return nullptr;
}

bool ReadSource(uintptr_t string, ObjectReader* reader, Source* source) {
  *source = {{0, 0}, '=', false};
  if (string == 0) return true;  // stripped
  Text& text = source->text;
  if (!reader->ReadText(string, kMostFileBytes, &text)) return false;
  const char first = text.bytes == 0 ? '\0' : At(text, 0);
  if (first == '@' || first == '=') {
    source->kind = first;
    ++text.begin;
    --text.bytes;
    return true;
  }
  const size_t line_bytes = LineBytes(text);
  source->kind = 0;
  source->is_cut = line_bytes < text.bytes || line_bytes > kMostTextBytes;
  text.bytes = line_bytes < kMostTextBytes ? line_bytes : kMostTextBytes;
  return true;
}

bool IdentityOf(const Prototype& prototype, ObjectReader* reader, uintptr_t* identity) {
  Source source;
  if (!ReadSource(prototype.source, reader, &source)) return false;
  uint64_t hash = HashOf(source.text);
  hash = Mix(hash, static_cast<uint64_t>(source.kind) << 1 | source.is_cut);
  hash = Mix(hash, Both(prototype.first_line, prototype.last_line));
  hash = Mix(hash, Both(prototype.code_count, prototype.constant_count));
  hash = Mix(hash, Both(prototype.nested_count, prototype.local_count));
  hash = Mix(hash, Both(prototype.upvalue_count, prototype.register_count << 16 |
                                                     prototype.parameter_count << 8 |
                                                     prototype.is_vararg));
  if (prototype.source == 0 && !MixContents(prototype, reader, &hash)) return false;
  *identity = static_cast<uintptr_t>(hash);
  return true;
}

}  // namespace allomon::lua
