// A minimal interpreter whose frames appear in call stacks through the C interface: a loop runs
// functions of a toy language, each of which calls the next one or allocates.
#ifndef ALLOMON_TESTS_INTERPRETER_TOY_INTERPRETER_H_
#define ALLOMON_TESTS_INTERPRETER_TOY_INTERPRETER_H_

#include <cstdint>
#include <functional>
#include <string>

namespace allomon::testing {

struct ToyCode {
  std::string name;
  std::string file;
  uint32_t first_line;
  bool is_hidden = false;
};

// A frame of the toy language.
struct ToyFrame {
  const ToyCode* code;
  uint32_t line;
  const void* loop;  // an address in the native frame that runs it
  const ToyFrame* caller;
};

// This thread's innermost frame.
extern thread_local const ToyFrame* toy_frame;

// A walk that reaches a frame with this caller ends as lost.
extern const ToyFrame kBrokenFrame;

// Called once for all tests of the process.
void RegisterToyInterpreter();

// Runs body() as `line` of `code`, in a native frame of its own.
void RunToyLoop(const ToyCode& code, uint32_t line, const std::function<void()>& body);

// Does the same in the loop that runs the caller.
void RunInToyLoop(const ToyCode& code, uint32_t line, const std::function<void()>& body);

}  // namespace allomon::testing

#endif  // ALLOMON_TESTS_INTERPRETER_TOY_INTERPRETER_H_
