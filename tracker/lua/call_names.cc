#include "tracker/lua/describe.h"

namespace allomon::lua {
namespace {

// Instructions that load a value from a named place, or that affect the search.
enum Opcode : uint32_t {
  kMove = 0,
  kLoadNil = 8,
  kGetUpvalue = 9,
  kSetUpvalue = 10,
  kGetGlobal = 11,  // of a table that is an upvalue
  kGetTable = 12,
  kGetField = 14,
  kSetGlobal = 15,
  kSetField = 18,
  kGetMethod = 20,
  kMetamethod = 46,  // and the next two: an operator was tried before them
  kClose = 54,
  kJump = 56,
  kLastTest = 66,
  kTestSet = 67,
  kCall = 68,
  kTailCall = 69,
  kReturn1 = 72,
  kForLoop = 73,
  kForPrepare = 74,
  kForEachCall = 76,
  kForEachLoop = 77,
  kSetList = 78,
  kExtra = 82,
};

struct Instruction {
  uint32_t word;
  uint32_t opcode() const { return word & 127; }
  uint32_t a() const { return word >> 7 & 255; }
  bool k() const { return (word >> 15 & 1) != 0; }
  uint32_t b() const { return word >> 16 & 255; }
  uint32_t c() const { return word >> 24; }
  int32_t jump() const { return static_cast<int32_t>(word >> 7) - ((1 << 24) - 1); }
};

bool SetsA(uint32_t opcode) {
  if (opcode == kSetUpvalue || opcode >= kExtra) return false;
  if (opcode >= kSetGlobal && opcode <= kSetField) return false;
  if (opcode >= kMetamethod && opcode < kMetamethod + 3) return false;
  if (opcode >= kClose && opcode <= kLastTest) return false;
  if (opcode > kTailCall && opcode <= kReturn1) return false;
  if (opcode > kForPrepare && opcode < kForEachLoop) return false;
  return opcode != kSetList;
}

// The search reads at most this many instructions, more than real code has.
constexpr int32_t kMostInstructions = 1 << 16;
constexpr int kMostMoves = 20;
constexpr int32_t kNowhere = -1;

class Code {
 public:
  Code(uintptr_t prototype, ObjectReader* reader) : prototype_(prototype), reader_(*reader) {}

  bool Read() { return reader_.ReadPrototype(prototype_, &read_); }
  bool At(int32_t index, Instruction* instruction) {
    return index >= 0 && index < read_.code_count &&
           reader_.Load(read_.code + static_cast<uintptr_t>(index) * kInstructionBytes,
                        &instruction->word);
  }

  // Finds the local variable that a register holds at an instruction.
  bool LocalName(uint32_t reg, int32_t index, Text* name) {
    for (uint32_t i = 0; i < Count(kLocalCount); ++i) {
      const uintptr_t local = Array(kLocals) + i * uintptr_t{16};
      int32_t begin;
      int32_t end;
      if (!reader_.Load(local + 8, &begin) || !reader_.Load(local + 12, &end)) return false;
      if (begin > index) return false;
      if (index < end && reg-- == 0) return TextAt(local, name);
    }
    return false;
  }
  bool UpvalueName(uint32_t number, Text* name) {
    return number < Count(kUpvalueCount) && TextAt(Array(kUpvalues) + number * kValueBytes, name);
  }
  bool ConstantName(uint32_t number, Text* name) {
    return number < Count(kConstantCount) && TextAt(Array(kConstants) + number * kValueBytes, name);
  }

  // Returns the last instruction before `index` that sets the register; kNowhere if that depends on
  // a jump.
  int32_t SetterOf(uint32_t reg, int32_t index) {
    Instruction at;
    if (index > kMostInstructions || !At(index, &at)) return kNowhere;
    if (at.opcode() >= kMetamethod && at.opcode() < kMetamethod + 3) --index;
    int32_t setter = kNowhere;
    int32_t landing = 0;  // a jump may have skipped instructions before this
    for (int32_t i = 0; i < index && At(i, &at); ++i) {
      if (at.opcode() == kJump) {
        const int64_t target = int64_t{i} + 1 + at.jump();
        if (target <= index && target > landing) landing = static_cast<int32_t>(target);
      } else if (Sets(at, reg)) {
        setter = i < landing ? kNowhere : i;
      }
    }
    return setter;
  }

 private:
  static bool Sets(const Instruction& at, uint32_t reg) {
    if (at.opcode() == kLoadNil) return at.a() <= reg && reg <= at.a() + at.b();
    if (at.opcode() == kForEachCall) return reg >= at.a() + 2;
    if (at.opcode() == kCall || at.opcode() == kTailCall) return reg >= at.a();
    return SetsA(at.opcode()) && reg == at.a();
  }
  uint32_t Count(uintptr_t field) {
    int32_t count;
    return reader_.Load(prototype_ + field, &count) && count > 0 ? static_cast<uint32_t>(count) : 0;
  }
  uintptr_t Array(uintptr_t field) {
    uintptr_t array;
    return reader_.Load(prototype_ + field, &array) ? array : 0;
  }
  bool TextAt(uintptr_t place, Text* name) {
    uintptr_t string;
    return reader_.Load(place, &string) && reader_.ReadText(string, kMostNameBytes, name) &&
           name->bytes > 0;
  }

  const uintptr_t prototype_;
  ObjectReader& reader_;
  Prototype read_ = {};
};

// Finds the name of the place from which a register got its value.
bool FindValueName(Code* code, int32_t index, uint32_t reg, Text* name) {
  for (int i = 0; i < kMostMoves; ++i) {
    if (code->LocalName(reg, index, name)) return true;
    Instruction at;
    index = code->SetterOf(reg, index);
    if (index == kNowhere || !code->At(index, &at)) return false;
    switch (at.opcode()) {
      case kMove:
        if (at.b() >= at.a()) return false;
        reg = at.b();
        continue;
      case kGetUpvalue:
        return code->UpvalueName(at.b(), name);
      case kGetGlobal:
      case kGetField:
        return code->ConstantName(at.c(), name);
      case kGetMethod:
        return at.k() && code->ConstantName(at.c(), name);
      default:
        return false;
    }
  }
  return false;
}

}  // namespace

bool FindCalledName(uintptr_t prototype, int32_t index, ObjectReader* reader, Text* name) {
  Code code(prototype, reader);
  Instruction at;
  if (!code.Read() || !code.At(index, &at)) return false;
  if (at.opcode() != kCall && at.opcode() != kTailCall) return false;
  return FindValueName(&code, index, at.a(), name);
}

}  // namespace allomon::lua
