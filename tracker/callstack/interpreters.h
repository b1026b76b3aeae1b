// Interpreters whose frames replace the native frames of their loops in call stacks
// (allomon/interpreter.h has the rules).
//
// The structures are those of the C interface, with other names.  No lock; captures call these
// functions in signal handlers as well.
#ifndef ALLOMON_TRACKER_CALLSTACK_INTERPRETERS_H_
#define ALLOMON_TRACKER_CALLSTACK_INTERPRETERS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tracker/callstack/interpreted_code.h"

namespace allomon::internal {

// Results of an interpreter's functions.
inline constexpr int kWalkLost = -1;
inline constexpr int kWalkEnd = 0;    // describe: the place is hidden
inline constexpr int kWalkFrame = 1;  // begin: there are frames

// The position of a walk; its content is the interpreter's.
struct InterpreterWalk {
  size_t struct_size;
  uintptr_t place[16];
};

struct InterpretedFrame {
  size_t struct_size;
  uintptr_t code;
  uintptr_t native_frame;
  uint32_t position;
  uintptr_t own[2];
};

// The thread's native frames, innermost first: a pc, and the sp at that pc, which is not below the
// previous one. sps[count] is the sp of the frame after the last one, UINTPTR_MAX if there is none.
// Valid for the length of one walk.
struct NativeFrames {
  const uintptr_t* pcs;
  const uintptr_t* sps;
  size_t count;
};

struct Interpreter {
  size_t struct_size;
  void* data;
  int (*begin)(void* data, InterpreterWalk* walk);
  int (*next)(void* data, InterpreterWalk* walk, InterpretedFrame* frame);
  int (*describe)(void* data, const InterpretedFrame* frame, PlaceDescription* description);
  // Replaces `begin` for an interpreter that finds a thread's frames from the native ones, which
  // outlive the walk; else null.  Not part of the C interface.
  int (*begin_on)(void* data, const NativeFrames& native, InterpreterWalk* walk);
};

inline constexpr int kMostInterpreters = 4;

// Copies the interpreter, for as long as the process runs.  Returns false if there are too many.
bool RegisterInterpreter(const Interpreter& interpreter);

extern std::atomic<int> interpreter_count;
inline bool HasInterpreters() { return interpreter_count.load(std::memory_order_relaxed) != 0; }

// Whether any interpreter needs the native frames.
extern std::atomic<bool> interpreters_need_native_frames;
inline bool InterpretersNeedNativeFrames() {
  return interpreters_need_native_frames.load(std::memory_order_relaxed);
}

// The frames of one interpreter on the calling thread, innermost first.
class InterpretedFrames {
 public:
  // Returns false if there are no frames.  `native` is null for an interpreter that does not need
  // it.
  bool Begin(const Interpreter& interpreter, const NativeFrames* native);

  // Whether there is a frame, or an entry for lost frames.
  bool has_frame() const { return has_frame_; }
  // An address in the native frame that runs it.  Never below that of the previous frame.
  uintptr_t native_frame() const { return native_frame_; }
  // The address in call stacks; kNoFrame for a hidden place.
  uintptr_t Address() const;
  void Next();

 private:
  uintptr_t Describe() const;
  void Lose();

  const Interpreter* interpreter_;
  InterpreterWalk walk_;
  InterpretedFrame frame_;
  uintptr_t native_frame_ = 0;
  bool has_frame_ = false;
  bool is_lost_ = false;
};

// Those of all interpreters.
class AllInterpretedFrames {
 public:
  // Begins with the interpreters that need no native frames.
  AllInterpretedFrames() { Begin(nullptr); }
  // Begins with the others.
  void BeginOn(const NativeFrames& native) { Begin(&native); }
  bool empty() const { return count_ == 0; }
  // The interpreter whose frame is the innermost on the native stack; null: there are no frames
  // left.
  InterpretedFrames* Innermost();

 private:
  void Begin(const NativeFrames* native);

  InterpretedFrames frames_[kMostInterpreters];
  int count_ = 0;
};

// Whether an interpreter has frames on the calling thread, or may have some, which only the native
// frames would show.
bool HasInterpretedFrames();

// Like MergeManagedFrames(), but also merges the frames of interpreters, which replace the native
// frame that runs them.
size_t MergeInterpretedFrames(const uintptr_t* frames, const uintptr_t* sps, size_t count,
                              AllInterpretedFrames* interpreted, uintptr_t* merged,
                              size_t max_frames, bool* truncated);

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CALLSTACK_INTERPRETERS_H_
