#include "tracker/gates/framework_frames.h"

#include <algorithm>

namespace allomon::internal {
namespace {

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

// "/usr/include/gtest/internal/gtest-port.h", but not "/home/me/gtest/parser_test.cc".
bool IsFrameworksFile(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
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

bool IsTestRunner(std::string_view name) {
  for (std::string_view runner : {"testing::Test::Run", "testing::TestInfo::Run",
                                  "testing::internal::HandleExceptionsInMethodIfSupported",
                                  "testing::internal::HandleSehExceptionsInMethodIfSupported"}) {
    if (name == runner) return true;
  }
  return false;
}

}  // namespace

std::string_view QualifiedName(std::string_view signature) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)";
  size_t begin = 0;  // of the last word outside of brackets
  size_t end = std::string_view::npos;
  int depth = 0;
  for (size_t i = 0; i < signature.size(); ++i) {
    const std::string_view rest = signature.substr(i);
    if (StartsWith(rest, kAnonymous)) {
      i += kAnonymous.size() - 1;
    } else if (rest[0] == '<') {
      if (depth++ == 0) end = i;
    } else if (rest[0] == '>') {
      --depth;
    } else if (depth == 0 && rest[0] == ' ') {
      begin = i + 1;
      end = std::string_view::npos;
    } else if (depth == 0 && rest[0] == '(') {
      end = std::min(end, i);
      break;
    } else if (depth == 0 && StartsWith(rest, "operator")) {
      end = i + std::string_view("operator").size();  // what follows does not nest
      break;
    }
  }
  return signature.substr(begin, end == std::string_view::npos ? end : end - begin);
}

FrameOwner OwnerOf(const SourceFrame& frame) {
  const std::string_view name = QualifiedName(frame.function);
  if (IsTestRunner(name)) return FrameOwner::kTestRunner;
  if (IsFrameworksFile(frame.file)) return FrameOwner::kFramework;
  if (frame.file.empty()) {
    return StartsWith(name, "testing::") ? FrameOwner::kFramework : FrameOwner::kLibrary;
  }
  return IsLibrarysFile(frame.file) ? FrameOwner::kLibrary : FrameOwner::kProgram;
}

bool IsFrameworksOwn(const Callstack& callstack, size_t frames) {
  for (size_t i = 0; i < frames && i < callstack.size(); ++i) {
    for (const SourceFrame& frame : FramesOfCall(callstack[i])) {
      const FrameOwner owner = OwnerOf(frame);
      if (owner != FrameOwner::kLibrary) return owner == FrameOwner::kFramework;
    }
  }
  return false;
}

}  // namespace allomon::internal
