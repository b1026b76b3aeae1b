// A broken invariant stops a build with checks by a line that names it, and harms no other build.
#include <gtest/gtest.h>

#include <string>

#include "tests/callstack/frames.h"
#include "tracker/base/check.h"
#include "tracker/callstack/capture.h"
#include "tracker/callstack/managed_functions.h"
#include "tracker/callstack/replay_thread.h"
#include "tracker/symbols/elf_file.h"

namespace allomon {
namespace {

constexpr size_t kRoom = 256;

__attribute__((noinline)) void CaptureHere(void* count) {
  uintptr_t frames[kRoom];
  bool truncated;
  *static_cast<size_t*>(count) =
      CaptureCallstack(ALLOMON_CALLER_FRAME(), frames, kRoom, &truncated);
}

size_t CaptureAtDepthTen() {
  size_t count = 0;
  testing::CallAtDepth(10, CaptureHere, &count);
  return count;
}

// The line that a broken invariant writes: its name, the condition, the place, the operands.
std::string LineOf(const std::string& invariant, const std::string& file) {
  return "allomon: " + invariant + " does not hold: .* at [./]*tracker/" + file + ":[0-9]+: 0x";
}

// Two captures, so that the thread has a block, and then a capture with another thread's block.
void CaptureWithAnothersBlock() {
  CaptureAtDepthTen();
  CaptureAtDepthTen();
  internal::replay_thread.block->owner = nullptr;
  CaptureAtDepthTen();
}

// Two open calls of which the inner one claims to lie further out on the stack.
void CaptureWithCallsInTheWrongOrder() {
  const ManagedFunction function = RegisterManagedFunction("f", "f.ml", 1);
  const ManagedCall outer(function);
  const ManagedCall inner(function);
  internal::managed_stack.top[-1].frame = internal::managed_stack.top[-2].frame + 8;
  EXPECT_GT(CaptureAtDepthTen(), 10u);
}

void AskForASectionThatIsNotThere() {
  const auto file = internal::ElfFile::Open("/proc/self/exe");
  ASSERT_NE(file, nullptr);
  (void)file->Section(file->section_count());
}

TEST(BrokenInvariant, StopsABuildWithChecksByALineThatNamesIt) {
  if constexpr (internal::kDebugChecks) {
    EXPECT_DEATH(CaptureWithCallsInTheWrongOrder(),
                 LineOf("inv.managed.order", "callstack/managed_functions.cc"));
    EXPECT_DEATH(AskForASectionThatIsNotThere(),
                 LineOf("inv.symbols.bounded", "symbols/elf_file.cc"));
#if defined(__x86_64__)
    EXPECT_DEATH(CaptureWithAnothersBlock(), LineOf("inv.replay.own", "callstack/replay_thread.h"));
#endif
  } else {
    CaptureWithCallsInTheWrongOrder();
  }
}

}  // namespace
}  // namespace allomon
