#include "tracker/callstack/capture.h"

#if !defined(__x86_64__)

#include "tracker/callstack/interpreters.h"
#include "tracker/callstack/stack_window.h"

// The counterpart of capture.cc for other architectures: follows frame pointers, which the ABIs of
// AArch64 and RISC-V guarantee.
namespace allomon {
namespace {

// The words to which a frame pointer leads.  RISC-V's points above them.
struct FrameRecord {
  uintptr_t bp;
  uintptr_t pc;
};

#if defined(__riscv)
constexpr uintptr_t kRecordOffset = sizeof(FrameRecord);
#else
constexpr uintptr_t kRecordOffset = 0;
#endif

bool LoadRecord(uintptr_t bp, internal::StackWindow* window, FrameRecord* record) {
  const uintptr_t address = bp - kRecordOffset;
  return window->Load(address, &record->bp) &&
         window->Load(address + sizeof(uintptr_t), &record->pc);
}

// `sps` has room for the sp of each frame and of the frame after the last one.
size_t Walk(FrameState start, uintptr_t* frames, uintptr_t* sps, size_t max_frames,
            bool* truncated) {
  internal::StackWindow window(start.sp);
  FrameState frame = start;
  size_t count = 0;
  *truncated = false;
  while (frame.pc != 0) {
    if (count == max_frames) {
      *truncated = true;
      break;
    }
    sps[count] = frame.sp;
    frames[count++] = frame.pc;
    sps[count] = UINTPTR_MAX;
    FrameRecord record;
    if (frame.bp == 0) break;
    if (frame.bp < frame.sp || !LoadRecord(frame.bp, &window, &record)) {
      *truncated = true;
      break;
    }
    // One above the record, so that the next record must lie higher.
    frame = FrameState{record.pc, frame.bp + 1, record.bp};
    sps[count] = frame.sp;
  }
  return count;
}

}  // namespace

size_t CaptureCallstack(FrameState start, uintptr_t* frames, size_t max_frames, bool* truncated) {
  uintptr_t* native =
      static_cast<uintptr_t*>(__builtin_alloca((2 * max_frames + 1) * sizeof(uintptr_t)));
  uintptr_t* sps = native + max_frames;
  const size_t count = Walk(start, native, sps, max_frames, truncated);
  internal::AllInterpretedFrames interpreted;
  if (internal::InterpretersNeedNativeFrames()) interpreted.BeginOn({native, sps, count});
  return internal::MergeInterpretedFrames(native, sps, count, &interpreted, frames, max_frames,
                                          truncated);
}

size_t CaptureCallstackWithSerial(const FrameState& start, uintptr_t* frames, size_t max_frames,
                                  bool* truncated, uint64_t* serial) {
  *serial = 0;
  return CaptureCallstack(start, frames, max_frames, truncated);
}

bool HasSerial(const FrameState&, uint64_t) { return false; }

size_t CaptureCallstackAfresh(FrameState start, uintptr_t* frames, size_t max_frames,
                              bool* truncated) {
  return CaptureCallstack(start, frames, max_frames, truncated);
}

size_t CaptureNativeFrames(const FrameState& start, uintptr_t* frames, uintptr_t* sps,
                           size_t max_frames) {
  bool truncated;
  return Walk(start, frames, sps, max_frames, &truncated);
}

uintptr_t FunctionStart(uintptr_t pc) { return pc; }

void ForgetUnloadedCode() {}

bool ForgetReplacedCode(const uintptr_t*, size_t) { return false; }

}  // namespace allomon

#endif  // !defined(__x86_64__)
