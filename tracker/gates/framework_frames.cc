#include "tracker/gates/framework_frames.h"

#include <algorithm>

#include "tracker/base/check.h"
#include "tracker/names/base_name.h"

namespace allomon::internal {
namespace {

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

// Whether the path is one such as "/usr/include/gtest/internal/gtest-port.h", but not
// "/home/me/gtest/parser_test.cc".
bool IsFrameworksFile(std::string_view path) {
  const std::string_view name = BaseName(path);
  for (std::string_view folder : {"gtest/", "gmock/"}) {
    if (!StartsWith(name, folder.substr(0, 5))) continue;
    const size_t at = path.find(folder);
    if (at == 0 || (at != std::string_view::npos && path[at - 1] == '/')) return true;
  }
  return false;
}

bool IsLibrarysFile(std::string_view path) {
  return StartsWith(path, "/usr/include/") || path.find("/include/c++/") != std::string_view::npos;
}

// Decides by the function's name, if its file is not known.
bool IsLibrarysName(std::string_view name) {
  return StartsWith(name, "std::") || StartsWith(name, "__gnu_cxx::") || name == "[unknown]";
}

bool IsTestRunner(std::string_view name) {
  for (std::string_view runner : {"testing::Test::Run", "testing::TestInfo::Run",
                                  "testing::internal::HandleExceptionsInMethodIfSupported",
                                  "testing::internal::HandleSehExceptionsInMethodIfSupported"}) {
    if (name == runner) return true;
  }
  return false;
}

// If malloc was not inlined into its entry point (--config=dbg), the allocator's own frames are on
// the stack, at most this many.
constexpr size_t kMaxAllocatorFrames = 8;

bool IsAllocationFunction(std::string_view name) {
  for (std::string_view function :
       {"operator new", "operator new[]", "malloc", "calloc", "realloc", "reallocarray",
        "aligned_alloc", "posix_memalign", "memalign", "valloc", "pvalloc"}) {
    if (name == function) return true;
  }
  return false;
}

// Returns the number of innermost frames that are the allocator's.  malloc's entry point is never
// inlined into its caller, so it is the outermost function of its frame.
size_t AllocatorFrames(const Callstack& callstack, size_t frames) {
  ALLOMON_DCHECK_LE("inv.gates.frames", frames, callstack.size());
  size_t found = 0;
  for (size_t i = 0; i < std::min(frames, kMaxAllocatorFrames); ++i) {
    if (IsAllocationFunction(ShortName(FramesOfCall(callstack[i]).back().function))) found = i + 1;
  }
  return found < frames ? found : 0;
}

// Returns the name that begins with "operator".  The text after it does not nest.
std::string_view OperatorName(std::string_view rest) {
  size_t end = std::string_view("operator").size();
  if (StartsWith(rest.substr(end), "()")) return rest.substr(0, end + 2);
  return rest.substr(0, std::min(rest.find('(', end), rest.find(" <", end)));
}

}  // namespace

std::string ShortName(std::string_view signature) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)";
  std::string name;
  int depth = 0;  // of template arguments
  for (size_t i = 0; i < signature.size(); ++i) {
    const std::string_view rest = signature.substr(i);
    if (rest[0] == '<') {
      ++depth;
    } else if (rest[0] == '>') {
      --depth;
    } else if (depth > 0) {
      continue;
    } else if (StartsWith(rest, kAnonymous)) {
      name += kAnonymous;
      i += kAnonymous.size() - 1;
    } else if (StartsWith(rest, "__cxx11::")) {
      i += std::string_view("__cxx11::").size() - 1;  // std::string, by its full name
    } else if (rest[0] == '(') {
      break;
    } else if (rest[0] == ' ') {
      name.clear();  // it was the type of return
    } else if (StartsWith(rest, "operator")) {
      name += OperatorName(rest);
      break;
    } else {
      name += rest[0];
    }
  }
  return name.empty() ? std::string(signature) : name;
}

FrameOwner OwnerOf(const SourceFrame& frame) {
  const std::string name = ShortName(frame.function);
  if (IsTestRunner(name)) return FrameOwner::kTestRunner;
  if (IsFrameworksFile(frame.file)) return FrameOwner::kFramework;
  if (frame.file.empty()) {
    return StartsWith(name, "testing::") ? FrameOwner::kFramework : FrameOwner::kLibrary;
  }
  return IsLibrarysFile(frame.file) ? FrameOwner::kLibrary : FrameOwner::kProgram;
}

bool IsFrameworksOwn(const Callstack& callstack, size_t frames) {
  for (size_t i = AllocatorFrames(callstack, frames); i < frames; ++i) {
    for (const SourceFrame& frame : FramesOfCall(callstack[i])) {
      const FrameOwner owner = OwnerOf(frame);
      if (owner != FrameOwner::kLibrary) return owner == FrameOwner::kFramework;
    }
  }
  return false;
}

namespace {

std::vector<SourceFrame> FramesOf(const Callstack& callstack, size_t frames) {
  std::vector<SourceFrame> found;
  for (size_t i = AllocatorFrames(callstack, frames); i < frames; ++i) {
    const std::vector<SourceFrame>& inlined = FramesOfCall(callstack[i]);
    found.insert(found.end(), inlined.begin(), inlined.end());
  }
  return found;
}

}  // namespace

bool HasNoLines(const std::vector<SourceFrame>& frames) {
  return std::none_of(frames.begin(), frames.end(), [](const SourceFrame& frame) {
    return OwnerOf(frame) == FrameOwner::kProgram;
  });
}

std::vector<SourceFrame> Readable(const std::vector<SourceFrame>& frames) {
  const bool has_no_lines = HasNoLines(frames);
  std::vector<SourceFrame> readable;
  bool last_is_library = false;
  for (const SourceFrame& frame : frames) {
    const std::string name = ShortName(frame.function);
    const bool is_library =
        has_no_lines ? IsLibrarysName(name) : OwnerOf(frame) == FrameOwner::kLibrary;
    if (is_library && last_is_library) readable.pop_back();
    last_is_library = is_library;
    readable.push_back({name, is_library ? "" : frame.file, frame.line});
  }
  return readable;
}

std::vector<SourceFrame> ReadableFrames(const Callstack& callstack, size_t frames) {
  return Readable(FramesOf(callstack, frames));
}

}  // namespace allomon::internal
