#include "tests/interpreter/toy_interpreter.h"

#include "allomon/interpreter.h"
#include "gtest/gtest.h"

namespace allomon::testing {

thread_local const ToyFrame* toy_frame = nullptr;
const ToyFrame kBrokenFrame = {};

namespace {

int Begin(void*, allomon_interpreter_walk* walk) {
  walk->place[0] = reinterpret_cast<uintptr_t>(toy_frame);
  return toy_frame == nullptr ? ALLOMON_WALK_END : ALLOMON_WALK_FRAME;
}

int Next(void*, allomon_interpreter_walk* walk, allomon_interpreter_frame* frame) {
  const auto* const next = reinterpret_cast<const ToyFrame*>(walk->place[0]);
  if (next == nullptr) return ALLOMON_WALK_END;
  if (next == &kBrokenFrame) return ALLOMON_WALK_LOST;
  frame->code = reinterpret_cast<uintptr_t>(next->code);
  frame->position = next->line;
  frame->native_frame = reinterpret_cast<uintptr_t>(next->loop);
  walk->place[0] = reinterpret_cast<uintptr_t>(next->caller);
  return ALLOMON_WALK_FRAME;
}

int Describe(void*, const allomon_interpreter_frame* frame,
             allomon_interpreter_function* function) {
  const auto* const code = reinterpret_cast<const ToyCode*>(frame->code);
  if (code->is_hidden) return ALLOMON_WALK_END;
  function->name = code->name.data();
  function->name_bytes = code->name.size();
  function->file = code->file.data();
  function->file_bytes = code->file.size();
  function->first_line = code->first_line;
  function->line = frame->position;
  return ALLOMON_WALK_FRAME;
}

}  // namespace

void RunToyLoop(const ToyCode& code, uint32_t line, const std::function<void()>& body) {
  volatile int loop = 0;
  const ToyFrame frame = {&code, line, const_cast<int*>(&loop), toy_frame};
  toy_frame = &frame;
  body();
  toy_frame = frame.caller;
  loop = loop + 1;
}

void RunInToyLoop(const ToyCode& code, uint32_t line, const std::function<void()>& body) {
  const ToyFrame frame = {&code, line, toy_frame->loop, toy_frame};
  toy_frame = &frame;
  body();
  toy_frame = frame.caller;
}

void RegisterToyInterpreter() {
  static const allomon_status status = [] {
    allomon_interpreter toy = ALLOMON_INTERPRETER_DEFAULTS;
    toy.begin = Begin;
    toy.next = Next;
    toy.describe = Describe;
    return allomon_interpreter_register(&toy);
  }();
  ASSERT_EQ(status, ALLOMON_OK);
}

}  // namespace allomon::testing
