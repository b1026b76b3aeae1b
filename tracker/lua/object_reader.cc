#include "tracker/lua/object_reader.h"

namespace allomon::lua {
namespace {

using internal::ReadableMemory;

template <typename T>
T Field(uintptr_t address) {
  return ReadableMemory::LoadCovered<T>(address);
}

// While a stack is being moved, its calls have offsets from its beginning instead of addresses.
uintptr_t OnStack(uintptr_t place, uintptr_t stack, uintptr_t stack_end) {
  return place < stack && place <= stack_end - stack ? stack + place : place;
}

}  // namespace

bool ObjectReader::Is(uintptr_t object, uint8_t tag) {
  uint8_t is;
  return object % sizeof(uintptr_t) == 0 && Load(object + kObjectTag, &is) && is == tag;
}

bool ObjectReader::ReadCall(uintptr_t call, CallWords* words) {
  if (call % sizeof(uintptr_t) != 0 || !memory_.Covers(call, kCallBytes)) return false;
  words->function = Field<uintptr_t>(call + kCallFunction);
  words->caller = Field<uintptr_t>(call + kCallCaller);
  words->instruction = Field<uintptr_t>(call + kCallInstruction);
  words->flags = Field<uint16_t>(call + kCallFlags);
  return true;
}

uintptr_t ObjectReader::PrototypeOf(uintptr_t state, const CallWords& words) {
  uintptr_t stack;
  uintptr_t stack_end;
  uintptr_t closure;
  uintptr_t prototype;
  uint8_t tag;
  if (!Load(state + kStateStack, &stack) || !Load(state + kStateStackEnd, &stack_end)) return 0;
  const uintptr_t value = OnStack(words.function, stack, stack_end);
  if (!Load(value + kValueTag, &tag) || tag != (kLuaClosure | kOfCollector) ||
      !Load(value, &closure) || !Is(closure, kLuaClosure) ||
      !Load(closure + kClosurePrototype, &prototype)) {
    return 0;
  }
  return prototype;
}

bool ObjectReader::ReadPrototype(uintptr_t address, Prototype* prototype) {
  if (!Is(address, kPrototype) || !memory_.Covers(address, kPrototypeBytes)) return false;
  prototype->code = Field<uintptr_t>(address + kCode);
  prototype->constants = Field<uintptr_t>(address + kConstants);
  prototype->lines = Field<uintptr_t>(address + kLines);
  prototype->line_marks = Field<uintptr_t>(address + kLineMarks);
  prototype->source = Field<uintptr_t>(address + kSource);
  prototype->code_count = Field<int32_t>(address + kCodeCount);
  prototype->constant_count = Field<int32_t>(address + kConstantCount);
  prototype->upvalue_count = Field<int32_t>(address + kUpvalueCount);
  prototype->nested_count = Field<int32_t>(address + kNestedCount);
  prototype->local_count = Field<int32_t>(address + kLocalCount);
  prototype->parameter_count = Field<uint8_t>(address + kParameterCount);
  prototype->is_vararg = Field<uint8_t>(address + kIsVararg);
  prototype->register_count = Field<uint8_t>(address + kRegisterCount);
  prototype->line_count = Field<int32_t>(address + kLineCount);
  prototype->line_mark_count = Field<int32_t>(address + kLineMarkCount);
  prototype->first_line = Field<int32_t>(address + kFirstLine);
  prototype->last_line = Field<int32_t>(address + kLastLine);
  return true;
}

bool ObjectReader::ReadText(uintptr_t string, size_t most, Text* text) {
  uint8_t tag;
  uint8_t short_length;
  uint64_t length;
  if (!Load(string + kObjectTag, &tag) || (tag != kShortString && tag != kLongString) ||
      !Load(string + kShortLength, &short_length) || !Load(string + kLongLength, &length)) {
    return false;
  }
  if (tag == kShortString) length = short_length;
  *text = {string + kStringBytes, length < most ? static_cast<size_t>(length) : most};
  return memory_.Covers(text->begin, text->bytes);
}

}  // namespace allomon::lua
