// Offsets of the fields that a walk reads in CPython, by version.
#ifndef ALLOMON_TRACKER_CPYTHON_LAYOUT_H_
#define ALLOMON_TRACKER_CPYTHON_LAYOUT_H_

#include <cstddef>
#include <cstdint>

namespace allomon::cpython {

// Offsets in bytes.
struct Layout {
  // Fields of a thread state.
  uint16_t current_frame;  // the running frame; before 3.13 the native loop's (a _PyCFrame)
  uint16_t thread_id;
  // Fields of the native loop, before 3.13.
  bool has_loops;
  uint16_t loop_frame;
  uint16_t loop_caller;
  // Fields of a frame.
  uint16_t code;
  uint16_t caller;
  uint16_t instruction;  // the current one: a pointer
  uint16_t owner;
  uint16_t is_entry;  // before 3.12: whether the native loop began with it; else 0
  // Fields of a code object.
  uint16_t file;
  uint16_t name;
  uint16_t lines;
  uint16_t first_line;
  uint16_t first_traceable;  // the first instruction that Python itself shows
  uint16_t instructions;
  // Sizes of a str's header: of an ASCII one, and of any other.
  uint16_t ascii_bytes;
  uint16_t compact_bytes;
  uint8_t kind_shift;  // of the bits of its state
};

// All fields of a frame that are read lie in this many bytes.
inline constexpr uint64_t kFrameBytes = 80;

// Common to all versions.
inline constexpr uint16_t kObjectType = 8;
inline constexpr uint16_t kObjectSize = 16;
inline constexpr uint16_t kStrLength = 16;
inline constexpr uint16_t kStrState = 32;
inline constexpr uint16_t kBytesData = 32;
inline constexpr uint16_t kTypeBasicSize = 32;
inline constexpr uint16_t kTypeItemSize = 40;
inline constexpr uint16_t kTypeDealloc = 48;

// Facts about the interpreter of a process.
struct Interpreter {
  uint32_t version;     // Py_Version: 0x030b02f0 is 3.11.2
  const char* runtime;  // _PyRuntime
  const char* code_type;
  const char* str_type;
  const char* bytes_type;
};

// Fills in *layout, checks it against the interpreter's types, and returns null.  Otherwise returns
// the reason: a static text to follow "Python's frames are not shown: ".
const char* FindLayout(const Interpreter& interpreter, Layout* layout);

}  // namespace allomon::cpython

#endif  // ALLOMON_TRACKER_CPYTHON_LAYOUT_H_
