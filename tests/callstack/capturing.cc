#include "tests/callstack/capturing.h"

#include <gtest/gtest.h>
#include <unwind.h>

#include <memory>

#include "tracker/callstack/capture.h"
#include "tracker/callstack/cfi_index.h"

namespace allomon::testing {
namespace {

_Unwind_Reason_Code OnFrame(_Unwind_Context* context, void* argument) {
  static_cast<std::vector<uintptr_t>*>(argument)->push_back(_Unwind_GetIP(context));
  return _URC_NO_REASON;
}

}  // namespace

__attribute__((noinline)) Captured CaptureHere(size_t max_frames) {
  const std::unique_ptr<uintptr_t[]> buffer(new uintptr_t[max_frames + 1]);
  // A word after the end of the buffer, which a walk must not write.
  constexpr uintptr_t kCanary = 0x5ca1ab1e;
  buffer[max_frames] = kCanary;
  Captured captured;
  const size_t count =
      CaptureCallstack(ALLOMON_CALLER_FRAME(), buffer.get(), max_frames, &captured.truncated);
  EXPECT_LE(count, max_frames);
  EXPECT_EQ(buffer[max_frames], kCanary);
  captured.frames.assign(buffer.get(), buffer.get() + count);
  return captured;
}

__attribute__((noinline)) std::vector<uintptr_t> UnwindHere() {
  std::vector<uintptr_t> frames;
  _Unwind_Backtrace(OnFrame, &frames);
  frames.erase(frames.begin());                                  // this function's own
  if (!frames.empty() && frames.back() == 0) frames.pop_back();  // how libgcc says "end"
  return frames;
}

__attribute__((noinline)) void CaptureBoth(void* argument) {
  Both& both = *static_cast<Both*>(argument);
  both.ours = CaptureHere();
  both.libgcc = UnwindHere();
}

void ExpectSameStacks(const Both& both, size_t min_frames) {
  std::vector<uintptr_t> ours = both.ours.frames;
  std::vector<uintptr_t> libgcc = both.libgcc;
  EXPECT_FALSE(both.ours.truncated);
  ASSERT_GE(ours.size(), min_frames);
  ASSERT_FALSE(libgcc.empty());
  ours[0] = libgcc[0] = 0;
  EXPECT_EQ(ours, libgcc);
}

bool IsIn(uintptr_t pc, void* function) {
  internal::CfiBytes bytes;
  internal::CfiEntry entry;
  return internal::FindCfi(pc, &bytes, &entry) == internal::CfiLookup::kFound &&
         entry.pc_begin == reinterpret_cast<uintptr_t>(function);
}

}  // namespace allomon::testing
