#include "tracker/cpython/code_names.h"

#include <cstdint>

#include "tracker/base/check.h"
#include "tracker/callstack/readable_memory.h"
#include "tracker/cpython/frames.h"

namespace allomon::cpython {
namespace {

using internal::kWalkEnd;
using internal::kWalkFrame;
using internal::kWalkLost;
using internal::PlaceDescription;
using internal::ReadableMemory;

// Maximum length of one name or file, in bytes of UTF-8.
constexpr size_t kMostNameBytes = 1024;
// Code or tables above this size cannot come from a compiler, so they are taken for damage.
constexpr int64_t kMostUnits = int64_t{1} << 28;

// Bits of a str's state, after its kind.
constexpr uint32_t kCompact = 1 << 3;
constexpr uint32_t kAscii = 1 << 4;

// Stores texts one after the other in the room that a description has.
class Room {
 public:
  explicit Room(const PlaceDescription& description)
      : at_(description.room), end_(description.room + description.room_bytes) {}
  char* at() const { return at_; }
  bool Has(size_t bytes) const { return static_cast<size_t>(end_ - at_) >= bytes; }
  void Put(uint32_t byte) {
    ALLOMON_DCHECK_LT("inv.cpython.text", at_, end_);
    *at_++ = static_cast<char>(byte);
  }

  // Writes a character in UTF-8; '?' for a lone surrogate, by which Python keeps bytes that are not
  // text.
  void PutCharacter(uint32_t c) {
    if (c > 0x10ffff || c - 0xd800 < 0x800) c = '?';
    if (c < 0x80) return Put(c);
    if (c >= 0x10000) {
      Put(0xf0 | c >> 18);
      Put(0x80 | (c >> 12 & 0x3f));
    } else if (c >= 0x800) {
      Put(0xe0 | c >> 12);
    } else {
      return PutLastTwo(0xc0, c);
    }
    PutLastTwo(0x80, c);
  }

 private:
  void PutLastTwo(uint32_t head, uint32_t c) {
    Put(head | (c >> 6 & 0x3f));
    Put(0x80 | (c & 0x3f));
  }

  char* at_;
  char* const end_;
};

// The characters of a str, which can be read.
struct Characters {
  uintptr_t begin;
  int64_t count;
  uint32_t bytes_each;  // 1, 2 or 4
};

ALLOMON_READS_STACK uint32_t CharacterAt(const Characters& text, int64_t i) {
  const uintptr_t at = text.begin + static_cast<uintptr_t>(i) * text.bytes_each;
  if (text.bytes_each == 1) return *reinterpret_cast<const volatile uint8_t*>(at);
  if (text.bytes_each == 2) return *reinterpret_cast<const volatile uint16_t*>(at);
  return *reinterpret_cast<const volatile uint32_t*>(at);
}

class Reader {
 public:
  explicit Reader(const RunningPython& python) : python_(python) {}

  template <typename T>
  bool Load(uintptr_t address, T* value) {
    return memory_.Load(address, value);
  }

  bool IsOfType(uintptr_t object, uintptr_t type) {
    uintptr_t is;
    return memory_.Load(object + kObjectType, &is) && is == type;
  }

  // Finds the beginning of a str, up to the maximum length of one text.
  bool FindCharacters(uintptr_t object, Characters* text) {
    uint32_t state;
    if (!IsOfType(object, python_.str_type) || !Load(object + kStrLength, &text->count) ||
        !Load(object + kStrState, &state)) {
      return false;
    }
    state >>= python_.layout.kind_shift;
    text->bytes_each = state & 7;
    const bool has_kind = text->bytes_each == 1 || text->bytes_each == 2 || text->bytes_each == 4;
    if (!has_kind || (state & kCompact) == 0 || text->count < 0) return false;
    const bool is_ascii = (state & kAscii) != 0;
    text->begin = object + (is_ascii ? python_.layout.ascii_bytes : python_.layout.compact_bytes);
    if (text->count > int64_t{kMostNameBytes}) text->count = kMostNameBytes;
    return memory_.Covers(text->begin, static_cast<size_t>(text->count) * text->bytes_each);
  }

  bool CopyText(uintptr_t object, Room* room, const char** copy, size_t* copy_bytes) {
    Characters text;
    if (!FindCharacters(object, &text)) return false;
    *copy = room->at();
    for (int64_t i = 0; i < text.count; ++i) {
      const size_t bytes = static_cast<size_t>(room->at() - *copy);
      if (bytes + 4 > kMostNameBytes || !room->Has(4)) break;
      room->PutCharacter(CharacterAt(text, i));
    }
    *copy_bytes = static_cast<size_t>(room->at() - *copy);
    ALLOMON_DCHECK_LE("inv.cpython.text", *copy_bytes, kMostNameBytes);
    return true;
  }

  bool LineOf(uintptr_t table, int first_line, int unit, uint32_t* line) {
    int64_t bytes;
    if (!IsOfType(table, python_.bytes_type) || !Load(table + kObjectSize, &bytes)) return false;
    if (bytes < 0 || bytes > kMostUnits ||
        !memory_.Covers(table + kBytesData, static_cast<size_t>(bytes))) {
      return false;
    }
    *line = LineOfUnit(reinterpret_cast<const uint8_t*>(table + kBytesData),
                       static_cast<size_t>(bytes), first_line, unit);
    return true;
  }

 private:
  const RunningPython& python_;
  ReadableMemory memory_ = {};
};

// The fields of a code object that a description needs.
struct CodeFields {
  int64_t units;
  uintptr_t name;
  uintptr_t file;
  uintptr_t lines;
  int32_t first_line;
  int32_t first_traceable;
};

bool ReadCode(const RunningPython& python, uintptr_t code, Reader* reader, CodeFields* fields) {
  const Layout& layout = python.layout;
  return reader->IsOfType(code, python.code_type) &&
         reader->Load(code + kObjectSize, &fields->units) &&
         reader->Load(code + layout.name, &fields->name) &&
         reader->Load(code + layout.file, &fields->file) &&
         reader->Load(code + layout.lines, &fields->lines) &&
         reader->Load(code + layout.first_line, &fields->first_line) &&
         reader->Load(code + layout.first_traceable, &fields->first_traceable) &&
         fields->units >= 0 && fields->units <= kMostUnits;
}

}  // namespace

int DescribeCode(void* data, const internal::InterpretedFrame* frame,
                 PlaceDescription* description) {
  const RunningPython& python = *static_cast<const RunningPython*>(data);
  Reader reader(python);
  CodeFields code;
  if (!ReadCode(python, frame->code, &reader, &code)) return kWalkLost;
  const int unit = static_cast<int>(frame->position & ~kOfGenerator) - 1;
  if (unit >= code.units) return kWalkLost;
  // The frame is being made. Python does not show it either, and its caller is charged instead.
  const bool is_generator = (frame->position & kOfGenerator) != 0;
  if (!is_generator && unit < code.first_traceable) return kWalkEnd;
  Room room(*description);
  description->first_line = code.first_line > 0 ? static_cast<uint32_t>(code.first_line) : 0;
  const bool is_read =
      reader.CopyText(code.name, &room, &description->name, &description->name_bytes) &&
      reader.CopyText(code.file, &room, &description->file, &description->file_bytes) &&
      reader.LineOf(code.lines, code.first_line, unit, &description->line);
  return is_read ? kWalkFrame : kWalkLost;
}

}  // namespace allomon::cpython
