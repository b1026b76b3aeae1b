// A Scheme on the managed heap: the values, the reader and printer, the compiler and the machine.
//
//   scheme FILE      runs a program; bad programs end with one line on stderr and status 1
//
// A program is read, expanded and compiled, form by form, to instructions (compile.cc) that a loop
// executes (machine.cc).  All values of a computation lie on a ValueStack, so call/cc and deep
// recursion move its contents into the heap.  README.md has the design.
//
// Everything here belongs to the thread that makes the Machine.
#ifndef ALLOMON_EXAMPLES_SCHEME_SCHEME_H_
#define ALLOMON_EXAMPLES_SCHEME_SCHEME_H_

#include <cstdint>
#include <cstdio>
#include <deque>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "runtime/heap.h"

namespace scheme {

namespace gc = allomon::gc;
using gc::Value;
using Local = gc::Local<Value>;
using Handle = gc::Handle<Value>;
using Field = gc::Field<Value>;
using Slot = gc::StackSlot<Value>;

class Machine;
struct Args;
struct Code;
struct Macro;
struct PrimitiveInfo;
struct Scope;

// --- Values.  Null is the empty list; booleans, fixnums and flonums are immediate; so are these
// constants, and characters below kImmediateChars.
inline constexpr gc::Immediate kUnspecified = Value::Constant(0);
inline constexpr gc::Immediate kEof = Value::Constant(1);
inline constexpr gc::Immediate kUndefined = Value::Constant(2);  // a variable before its definition
inline constexpr gc::Immediate kFalse = Value::Bool(false);
inline constexpr unsigned kFirstChar = 16;
inline constexpr unsigned kImmediateChars = 256;

// A global variable, by its name.  Lives as long as the process.
struct Name {
  std::string text;
  size_t number;           // of its symbol
  size_t cell;             // of its value
  int form = 0;            // a special form, or 0
  Macro* macro = nullptr;  // the global macro of that name
  bool library = false;    // the prelude or a primitive defines it, and not the program
  const PrimitiveInfo* primitive = nullptr;  // what calls may call directly
  bool relied_on = false;                    // compiled code calls the primitive directly
};

struct Symbol {
  static constexpr const char* kTypeName = "symbol";
  gc::Untraced<Name*> name;
};
struct Pair {
  static constexpr const char* kTypeName = "pair";
  static constexpr const char* kReferenceNames[] = {"car", "cdr"};
  Field car;
  Field cdr;
};
struct Char {
  static constexpr const char* kTypeName = "char";
  uint64_t code;
};
struct String {
  static constexpr const char* kTypeName = "string";
  gc::Trailing<char32_t> chars;
  size_t length() const { return chars.length(); }
  char32_t* data() { return reinterpret_cast<char32_t*>(this + 1); }
};
using Vector = gc::Array<Value>;
struct Box {  // a variable that set! changes: continuations share it
  static constexpr const char* kTypeName = "box";
  Field value;
};
struct Closure {
  static constexpr const char* kTypeName = "closure";
  gc::Untraced<const Code*> code;
  gc::Trailing<Value> free;
};
struct Values {
  static constexpr const char* kTypeName = "values";
  uint64_t count;
  gc::Trailing<Value> items;
};
// Words of the stack that call/cc, or deep recursion, has moved here: those below `end`.
struct Frames {
  static constexpr const char* kTypeName = "frames";
  gc::Field<Vector> words;
  size_t end;
  size_t total;  // of these and of all below
  gc::Field<Frames> next;
};
struct Continuation {
  static constexpr const char* kTypeName = "continuation";
  gc::Field<Frames> frames;
  Field winders;
  Field handlers;
};
struct Condition {
  static constexpr const char* kTypeName = "condition";
  Field message;
  Field irritants;
  Field where;  // a string, or false
};
// A symbol that a macro has inserted.  It means what `name` means in `scope`.
struct Alias {
  static constexpr const char* kTypeName = "alias";
  Field name;
  gc::Untraced<Scope*> scope;
  uint64_t id;
};
// A constructor, predicate, accessor or modifier of a record type.
struct RecordProcedure {
  static constexpr const char* kTypeName = "record procedure";
  enum Kind : uint64_t { kMake, kIs, kGet, kSet };
  gc::Untraced<const gc::Shape*> shape;
  Kind kind;
  uint64_t index;  // of the field
  Field fields;    // of a constructor: indexes of its arguments, in a list
  Field name;
};
struct Entry {
  static constexpr const char* kTypeName = "hash table entry";
  Field key;
  Field value;
  gc::Field<Entry> next;
};
struct Table {
  static constexpr const char* kTypeName = "hash table";
  uint64_t count;
  gc::Field<gc::Array<Entry>> buckets;
};
struct PortState {
  std::string text;  // still to be read, from `at` on, or to be written
  size_t at = 0;
  FILE* file = nullptr;
  bool is_input = false;
  bool is_open = true;
  int line = 1;
};
struct Port {
  static constexpr const char* kTypeName = "port";
  gc::Untraced<PortState*> state;
};

struct PrimitiveInfo {
  const char* name;
  unsigned least;
  unsigned most;                   // kAny: no bound
  Local (*run)(const Args& args);  // null: the machine runs it
  enum Control { kNone, kApply, kCallCc, kApplyValues } control = kNone;
  static constexpr unsigned kAny = 1U << 30;
};
struct Primitive {
  static constexpr const char* kTypeName = "primitive";
  gc::Untraced<const PrimitiveInfo*> info;
};
// The name of a type in messages.
template <typename T>
inline constexpr const char* kTypeText = gc::internal::TypeInfoOf<T>::kInfo.name;
template <>
inline constexpr const char* kTypeText<Vector> = "vector";
template <>
inline constexpr const char* kTypeText<gc::Bytes> = "bytevector";

// The arguments of a primitive.  They stay in their places, since primitives push nothing.
struct Args {
  Machine& machine;
  Slot* slots;
  size_t count;
  const PrimitiveInfo* info;
  Slot& operator[](size_t i) const { return slots[i]; }
  bool has(size_t i) const { return i < count; }

  // The argument as a T.  Its address is valid during the call.
  template <typename T>
  T* as(size_t i) const {
    if (__builtin_expect(!slots[i].is<T>(), 0)) Wrong(i, kTypeText<T>);
    return slots[i].peek<T>();
  }
  int64_t integer(size_t i) const;
  double real(size_t i) const;
  // An index below or at `end`.
  size_t index(size_t i, size_t end) const;
  // An index below `end`.
  size_t below(size_t i, size_t end) const {
    if (end == 0) Wrong(i, "an index, but nothing is in there");
    return index(i, end - 1);
  }
  char32_t character(size_t i) const;
  PortState& port(size_t i, bool input) const;
  [[noreturn]] void Wrong(size_t i, const char* wanted) const;
};

// --- Compiled code.
struct Ins {
  uint16_t op;
  uint16_t flag;  // the result is pushed; of a test: the truth that jumps
  int32_t jump;   // in instructions; 0: none
  int32_t a;
  int32_t b;
};
struct Code {
  std::string name;
  const std::string* file;
  int line;  // of the definition
  int32_t params;
  bool rest;               // the last parameter takes what remains
  int32_t most_depth = 0;  // of its frame
  std::vector<Ins> ins;
  std::vector<int> lines;  // of each instruction
  std::vector<const Code*> inner;
};

// --- Errors.  A Failure is raised in the program, which may handle it; `raised` has the object.
struct Failure {};
struct Exit {
  int status;
};
// Ends the program with a line.
struct Fatal : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws Fatal when little room is left on the native stack.
void CheckNativeStack();

class Machine {
 public:
  explicit Machine(std::vector<std::string> command_line);

  // Runs a program, in which each form is one of the top level.  Throws Exit and Fatal.
  void Load(const std::string& file, std::string text);

  Name* Intern(std::string_view text);
  Local SymbolOf(const Name* name) { return symbols_[name->number]; }
  Slot& Global(const Name* name) { return globals_[name->cell]; }
  // Gives the program a variable of its own in place of the library's.  The library's code keeps
  // the old one.
  void Define(Name* name);
  size_t AddConstant(Handle value) { return constants_.Push(value), constants_.size() - 1; }
  Local ConstantAt(size_t i) { return constants_[i]; }

  [[noreturn]] void Fail(const std::string& message, const Local* irritant = nullptr);
  [[noreturn]] void Raise(Handle object);
  [[noreturn]] void Wrong(const char* who, Handle value, const char* wanted);
  [[noreturn]] void WrongCount(const std::string& name, size_t n);
  static constexpr size_t kMostArguments = 30000;
  Local MakeValues(Slot* slots, size_t n);
  std::string Describe(Handle raised);

  int64_t PrimitiveNumber(const PrimitiveInfo* info);
  // Whether two values have the same contents.  No recursion.
  bool Equal(Handle a, Handle b);
  PortState* NewPort(bool input) { return ports_.emplace_back().is_input = input, &ports_.back(); }
  void Flush();

  // The walker of allomon/interpreter.h reads these.
  uintptr_t native_frame = 0;
  const Slot* frame() const { return frame_; }
  const Ins* pc() const { return pc_; }
  const Slot* bottom() const { return bottom_; }

  PortState* in;
  PortState* out;
  std::vector<std::string> command_line;
  gc::Root<Value> winders;
  gc::Root<Value> handlers;
  // The position of lists in the text that is compiled, by identity hashes.
  std::unordered_map<uint64_t, int> lines;

 private:
  Local Run(const Code* code);
  void Spill(Slot* header);
  Slot* Unspill();
  size_t TakeRest(const Code& code, size_t n);
  bool RunsAtOnce(const Slot* callee, size_t n);
  Local CallAtOnce(Slot* args, size_t n);
  Local CallRecord(Slot* args, size_t n);
  [[noreturn]] void Unbound(int32_t symbol);

  std::unordered_map<std::string_view, Name*> names_;
  std::deque<Name> all_names_;
  gc::ValueStack<Value> symbols_;
  gc::ValueStack<Value> globals_;
  gc::ValueStack<Value> constants_;
  gc::ValueStack<Value> work_;
  gc::ValueStack<Value> stack_;
  Slot* bottom_;
  const Slot* frame_ = nullptr;
  const Ins* pc_ = nullptr;
  gc::Root<Frames> frames_;
  gc::Root<Value> raised_;
  std::deque<PortState> ports_;
  std::vector<const PrimitiveInfo*> primitives_;  // that code calls directly
  bool loads_library_ = true;
};

// --- Values as texts.
// Reads the next value of a port; kEof at its end.  With `lines`, positions are noted there.
Local Read(Machine& machine, PortState& port, bool notes_lines);
// The next character, or -1.
int64_t PeekChar(PortState& port);
int64_t ReadChar(PortState& port);
// Appends the external form; `display` leaves out quotes.
void Write(std::string& out, Handle value, bool display);
std::optional<gc::Immediate> ParseNumber(std::string_view text, int radix);
void AppendUtf8(std::string& out, char32_t c);
std::string Text(const String* string);
gc::Local<String> MakeString(std::string_view utf8);

// --- Helpers.
inline bool IsTrue(Handle v) { return v != kFalse; }
inline Local MakeChar(char32_t c) {
  if (c < kImmediateChars) return Value::Constant(kFirstChar + c);
  return gc::make<Char>(uint64_t{c});
}
template <typename V>
bool IsChar(const V& v) {
  return (v.is_constant() && v.to_constant() >= kFirstChar) || v.template is<Char>();
}
template <typename V>
char32_t CharOf(const V& v) {
  if (v.is_constant()) return v.to_constant() - kFirstChar;
  return static_cast<char32_t>(v.template peek<Char>()->code);
}
inline Local Cons(Handle a, Handle b) { return gc::make<Pair>(a, b); }
inline Local Car(Handle pair) { return pair.peek<Pair>()->car; }
inline Local Cdr(Handle pair) { return pair.peek<Pair>()->cdr; }
// The same object, number or character.
inline bool Eqv(Handle a, Handle b) {
  return a == b || (a.is<Char>() && b.is<Char>() && CharOf(a) == CharOf(b));
}
// The sum, and so on, of numbers; fails for others with the name of the operation.
enum Arithmetic { kAdd, kSubtract, kMultiply, kDivide };
enum Comparison { kEquals, kLess, kGreater, kLessEqual, kGreaterEqual };
Local Compute(Machine& machine, Arithmetic op, Handle a, Handle b);
bool Compare(Machine& machine, Comparison op, Handle a, Handle b);

// Compiles one form of the top level to code without parameters.  Throws Fatal.
const Code* Compile(Machine& machine, const std::string* file, Handle form);
// Notes which special forms there are.
void DefineForms(Machine& machine);
void DefinePrimitives(Machine& machine);
// Names that the forms define are not standard any more.
void NoteDefinitions(Machine& machine, Handle form);
void RegisterWalker(const Machine* machine);
extern const char* const kPrelude;

}  // namespace scheme

#endif  // ALLOMON_EXAMPLES_SCHEME_SCHEME_H_
