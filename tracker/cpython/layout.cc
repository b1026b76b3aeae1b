#include "tracker/cpython/layout.h"

#include <cstring>

#include "tracker/base/check.h"

namespace allomon::cpython {
namespace {

// Values in the order of the fields.
constexpr Layout kPython311 = {56,  152, true, 8,  16,  32,  48, 56, 69, 68,
                               112, 128, 136,  72, 168, 184, 48, 72, 2};
constexpr Layout kPython312 = {56,  136, true, 0,  8,   0,   8,  56, 70, 0,
                               112, 128, 136,  68, 176, 192, 40, 56, 2};

constexpr char kNoVersion[] = "only versions 3.11 to 3.14 are known";
constexpr char kNoGil[] = "interpreters without a global lock (free-threaded builds) are left out";
constexpr char kOther[] = "this build has other structures than its version's release";

uint32_t MinorOf(uint32_t version) { return version >> 16 & 0xff; }

// The table at the beginning of _PyRuntime, from 3.13 on: words of 8 bytes, of which the first is a
// cookie.
class OffsetTable {
 public:
  explicit OffsetTable(const char* runtime) : runtime_(runtime) {}

  uint64_t Word(size_t index) const {
    uint64_t word;
    memcpy(&word, runtime_ + index * sizeof(word), sizeof(word));
    return word;
  }
  bool IsThere(uint32_t version) const {
    return memcmp(runtime_, "xdebugpy", 8) == 0 && Word(1) == version;
  }
  bool IsFreeThreaded() const { return Word(2) != 0; }
  // Returns false if the value is not the offset of an aligned word in a structure of `bytes`
  // bytes.
  bool Get(size_t index, uint16_t* offset, uint64_t bytes = 4096, uint64_t word_bytes = 8) const {
    *offset = static_cast<uint16_t>(Word(index));
    return Word(index) <= bytes - word_bytes && Word(index) % word_bytes == 0;
  }

 private:
  const char* const runtime_;
};

// Beginnings of the table's parts, in words.
struct TableParts {
  size_t thread;
  size_t frame;
  size_t code;
};
constexpr TableParts kParts313 = {19, 28, 34};
constexpr TableParts kParts314 = {22, 31, 39};

// Reads the table. Fields that it lacks are the same in 3.13 and 3.14 as in 3.12, or follow from
// others.
bool ReadTable(const OffsetTable& table, const TableParts& parts, Layout* layout) {
  *layout = kPython312;
  layout->has_loops = false;
  const bool all = table.Get(parts.thread + 4, &layout->current_frame) &&
                   table.Get(parts.thread + 5, &layout->thread_id) &&
                   table.Get(parts.frame + 1, &layout->caller, kFrameBytes) &&
                   table.Get(parts.frame + 2, &layout->code, kFrameBytes) &&
                   table.Get(parts.frame + 3, &layout->instruction, kFrameBytes) &&
                   table.Get(parts.frame + 5, &layout->owner, kFrameBytes, 1) &&
                   table.Get(parts.code + 1, &layout->file) &&
                   table.Get(parts.code + 3, &layout->name) &&
                   table.Get(parts.code + 4, &layout->lines) &&
                   table.Get(parts.code + 5, &layout->first_line, 4096, 4) &&
                   table.Get(parts.code + 9, &layout->instructions);
  layout->first_traceable = static_cast<uint16_t>(layout->instructions - 16);
  return all && layout->instructions >= 16;
}

int64_t SizeIn(const char* type, uint16_t offset) {
  int64_t size;
  memcpy(&size, type + offset, sizeof(size));
  return size;
}

// Checks sizes of objects, which differ in debug builds of Python and if the layout is wrong.
bool Fits(const Interpreter& interpreter, const Layout& layout) {
  return SizeIn(interpreter.code_type, kTypeBasicSize) == layout.instructions &&
         SizeIn(interpreter.code_type, kTypeItemSize) == 2 &&
         SizeIn(interpreter.str_type, kTypeBasicSize) == layout.compact_bytes + 8 &&
         SizeIn(interpreter.bytes_type, kTypeBasicSize) == kBytesData + 1;
}

const char* FindInTable(const Interpreter& interpreter, const TableParts& parts, Layout* layout) {
  const OffsetTable table(interpreter.runtime);
  if (!table.IsThere(interpreter.version)) return kOther;
  if (table.IsFreeThreaded()) return kNoGil;
  return ReadTable(table, parts, layout) ? nullptr : kOther;
}

const char* Find(const Interpreter& interpreter, Layout* layout) {
  if (interpreter.version >> 24 != 3) return kNoVersion;
  switch (MinorOf(interpreter.version)) {
    case 11:
      *layout = kPython311;
      return nullptr;
    case 12:
      *layout = kPython312;
      return nullptr;
    case 13:
      return FindInTable(interpreter, kParts313, layout);
    case 14:
      return FindInTable(interpreter, kParts314, layout);
    default:
      return kNoVersion;
  }
}

}  // namespace

namespace {

// Whether what is read of a frame lies in the bytes that are known to be readable.
[[maybe_unused]] bool IsInFrame(const Layout& layout) {
  constexpr uint64_t kWord = sizeof(uintptr_t);
  return layout.code + kWord <= kFrameBytes && layout.caller + kWord <= kFrameBytes &&
         layout.instruction + kWord <= kFrameBytes && layout.owner < kFrameBytes &&
         layout.is_entry < kFrameBytes;
}

}  // namespace

const char* FindLayout(const Interpreter& interpreter, Layout* layout) {
  const char* const why_not = Find(interpreter, layout);
  if (why_not != nullptr) return why_not;
  ALLOMON_DCHECK("inv.cpython.layout", IsInFrame(*layout));
  return Fits(interpreter, *layout) ? nullptr : kOther;
}

}  // namespace allomon::cpython
