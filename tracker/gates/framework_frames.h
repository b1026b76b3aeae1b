// Recognises call stacks of the test framework's own work.
//
// A failing EXPECT inside a counted scope builds messages, and GoogleMock allocates for each
// expectation.  These allocations are not the program's, so scopes leave them out.  The innermost
// frame outside of libraries decides.  It is the framework's if it belongs to GoogleTest or
// GoogleMock: code, also inlined code, from a file such as gtest/gtest-message.h; or, if the file
// is not known, as in Debian's libgtest.a, a function of namespace testing.  Otherwise it is the
// program's.  So a mock's action, a matcher or a printer of the program's own counts.  Callers do
// not matter: a test's work is not the framework's because the framework runs the test.
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

// Decides by the innermost `frames` of the stack; at most its size.
bool IsFrameworksOwn(const Callstack& callstack, size_t frames);

// Returns the frames to show of the innermost `frames` of a stack, innermost first.  Of library
// code only the function that the program called is shown, without its position.  Names are
// shortened by ShortName().  In a stack without lines (a program compiled without -g1), library
// code is recognised by names such as "std::vector::push_back".
std::vector<SourceFrame> ReadableFrames(const Callstack& callstack, size_t frames);
// The same for frames that were found already, innermost first.
std::vector<SourceFrame> Readable(const std::vector<SourceFrame>& frames);
// Whether no frame is known to be of the program.
bool HasNoLines(const std::vector<SourceFrame>& frames);

// The name in a demangled signature, without type of return, parameters and template arguments:
// "std::map::operator[]".  For a lambda, the name of the function around it.
std::string ShortName(std::string_view signature);

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_GATES_FRAMEWORK_FRAMES_H_
