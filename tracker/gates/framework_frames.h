// Which call stacks are the test framework's own work.
//
// A failing EXPECT inside a counted scope builds messages; GoogleMock allocates for each
// expectation.  None of that is the program's, so scopes leave it out.  The innermost frame that is
// not of a library decides.  It is the framework's if it is of GoogleTest or GoogleMock: code,
// inlined code too, from a file such as gtest/gtest-message.h; or, where the file is not known, as
// in Debian's libgtest.a, a function of namespace testing.  Otherwise it is the program's.  So a
// mock's action, a matcher or a printer of the program's own counts.  The functions that run tests
// do not make what the tests do the framework's work.
//
// Any thread; cost as FramesOfCall().
#ifndef ALLOMON_TRACKER_GATES_FRAMEWORK_FRAMES_H_
#define ALLOMON_TRACKER_GATES_FRAMEWORK_FRAMES_H_

#include <string>
#include <string_view>
#include <vector>

#include "tracker/allocation.h"
#include "tracker/gates/source_frames.h"

namespace allomon::internal {

enum class FrameOwner { kProgram, kLibrary, kFramework, kTestRunner };
FrameOwner OwnerOf(const SourceFrame& frame);

// Judges the innermost `frames` of the stack; at most its size.
bool IsFrameworksOwn(const Callstack& callstack, size_t frames);

// The frames to show of the innermost `frames` of a stack, innermost first: of library code only
// the function that the program called, without its position.  The names are shortened by
// ShortName().  Of a stack without lines (a program that was compiled without -g1) library code is
// what has such a name: "std::vector::push_back".
std::vector<SourceFrame> ReadableFrames(const Callstack& callstack, size_t frames);
// The same of frames that were found, innermost first.
std::vector<SourceFrame> Readable(const std::vector<SourceFrame>& frames);
// Whether no frame is known to be of the program.
bool HasNoLines(const std::vector<SourceFrame>& frames);

// The name in a demangled signature, without type of return, parameters and template arguments:
// "std::map::operator[]".  For a lambda, the name of the function around it.
std::string ShortName(std::string_view signature);

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_GATES_FRAMEWORK_FRAMES_H_
