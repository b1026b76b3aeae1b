// The loop that executes instructions; call/cc and deep recursion; the walker of its frames.
#include <allomon/interpreter.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "examples/scheme/instructions.h"
#include "examples/scheme/scheme.h"

namespace scheme {
namespace {

// More values than this on the stack go to the heap: they are promoted there once, while each
// collection visits all of the stack.
constexpr size_t kMostOnStack = size_t{1} << 16;
// Room for one frame more; the compiler knows its size.
constexpr size_t kStackValues = kMostOnStack + (size_t{1} << 16);
// All values of one continuation: 512 MiB.
constexpr size_t kMostValues = size_t{1} << 26;
// So many values come back at once.
constexpr size_t kBackAtOnce = 256;

constexpr Ins kUnderflowCode = {kUnderflow, 0, 0, 0, 0};
gc::Immediate PlaceOf(const Ins* ins) { return Value::Int(reinterpret_cast<intptr_t>(ins)); }
const Ins* InsAt(const Slot& place) { return reinterpret_cast<const Ins*>(place.to_int()); }

const char* NativeTop() {
  static const char* const top = static_cast<const char*>(__builtin_frame_address(0));
  return top;
}

const Code* CodeOf(const Slot* frame) {
  return frame[-1].is<Closure>() ? frame[-1].peek<Closure>()->code.get() : nullptr;
}
int LineOf(const Code& code, const Ins* pc) {
  const auto at = static_cast<size_t>(pc - code.ins.data());
  return at < code.lines.size() ? code.lines[at] : code.line;
}

// While the scope is open the walker may look at the frames.
class Walkable {
 public:
  Walkable(const Slot** frame, const Ins** at, const Slot* now, const Ins* pc) : frame_(frame) {
    *frame = now;
    *at = pc;
  }
  ~Walkable() { *frame_ = nullptr; }
  Walkable(const Walkable&) = delete;
  Walkable& operator=(const Walkable&) = delete;

 private:
  const Slot** const frame_;
};

// --- The walker: called by the tracker when it samples an allocation (allomon/interpreter.h).
const Machine* walked = nullptr;

int BeginWalk(void*, allomon_interpreter_walk* walk) {
  if (walked == nullptr || walked->frame() == nullptr) return ALLOMON_WALK_END;
  walk->place[0] = reinterpret_cast<uintptr_t>(walked->frame());
  walk->place[1] = reinterpret_cast<uintptr_t>(walked->pc());
  return ALLOMON_WALK_FRAME;
}
int NextFrame(void*, allomon_interpreter_walk* walk, allomon_interpreter_frame* frame) {
  const auto* const slots = reinterpret_cast<const Slot*>(walk->place[0]);
  const auto* const pc = reinterpret_cast<const Ins*>(walk->place[1]);
  const Code* const code = pc == &kUnderflowCode ? nullptr : CodeOf(slots);
  if (code == nullptr) return ALLOMON_WALK_END;
  frame->code = reinterpret_cast<uintptr_t>(code);
  frame->position = static_cast<uint32_t>(LineOf(*code, pc));
  frame->native_frame = walked->native_frame;
  walk->place[0] = reinterpret_cast<uintptr_t>(walked->bottom() + slots[-2].to_int());
  walk->place[1] = reinterpret_cast<uintptr_t>(InsAt(slots[-3]));
  return ALLOMON_WALK_FRAME;
}
int DescribeFunction(void*, const allomon_interpreter_frame* frame,
                     allomon_interpreter_function* function) {
  const auto* const code = reinterpret_cast<const Code*>(frame->code);
  function->name = code->name.data();
  function->name_bytes = code->name.size();
  function->file = code->file->data();
  function->file_bytes = code->file->size();
  function->first_line = static_cast<uint32_t>(code->line);
  function->line = frame->position;
  return ALLOMON_WALK_FRAME;
}

}  // namespace

void RegisterWalker(const Machine* machine) {
  walked = machine;
  if (machine == nullptr) return;
  allomon_interpreter scheme = ALLOMON_INTERPRETER_DEFAULTS;
  scheme.begin = BeginWalk;
  scheme.next = NextFrame;
  scheme.describe = DescribeFunction;
  const allomon_status status = allomon_interpreter_register(&scheme);
  if (status != ALLOMON_OK && status != ALLOMON_ABSENT) throw Fatal(allomon_status_text(status));
}

void CheckNativeStack() {
  // Threads have 8 MiB by default.
  static constexpr ptrdiff_t kMostBytes = 6 << 20;
  if (NativeTop() - static_cast<const char*>(__builtin_frame_address(0)) > kMostBytes) {
    throw Fatal(" a form or a value is nested too deep");
  }
}

Machine::Machine(std::vector<std::string> command) : command_line(std::move(command)) {
  NativeTop();
  // The stack has its memory once and for all, so that frames have addresses.
  stack_.Resize(kStackValues);
  bottom_ = &stack_[0];
  stack_.Resize(0);
  in = NewPort(true);
  in->file = stdin;
  out = NewPort(false);
  out->file = stdout;
  DefineForms(*this);
  DefinePrimitives(*this);
  Load("prelude.scm", kPrelude);
  loads_library_ = false;
  for (Name& name : all_names_) name.relied_on = false;
}

Name* Machine::Intern(std::string_view text) {
  const auto at = names_.find(text);
  if (at != names_.end()) return at->second;
  Name* const name = &all_names_.emplace_back();
  name->text = text;
  name->number = symbols_.size();
  name->cell = globals_.size();
  symbols_.Push(gc::make<Symbol>(name));
  globals_.Push(kUndefined);
  return names_[name->text] = name;
}

void Machine::Define(Name* name) {
  if (loads_library_) name->library = true;
  if (loads_library_ || !name->library) return;
  if (name->relied_on) {
    throw Fatal(" " + name->text + " is defined behind code that uses the standard procedure");
  }
  name->library = false;
  name->primitive = nullptr;
  globals_.Push(globals_[name->cell]);
  name->cell = globals_.size() - 1;
}

int64_t Machine::PrimitiveNumber(const PrimitiveInfo* info) {
  const auto at = std::find(primitives_.begin(), primitives_.end(), info);
  if (at != primitives_.end()) return at - primitives_.begin();
  primitives_.push_back(info);
  return static_cast<int64_t>(primitives_.size() - 1);
}

void Machine::Load(const std::string& file, std::string text) {
  static std::deque<std::string> files;  // codes refer to their names
  const std::string* const name = &files.emplace_back(file);
  PortState port;
  port.is_input = true;
  port.text = std::move(text);
  const auto in_file = [&](const auto& action) {
    try {
      return action();
    } catch (const Fatal& error) {
      throw Fatal(file + ":" + error.what());
    }
  };
  std::vector<Local> forms;
  in_file([&] {
    for (Local form = Read(*this, port, true); form != kEof; form = Read(*this, port, true)) {
      forms.push_back(form);
    }
    for (const Local& form : forms) NoteDefinitions(*this, form);
  });
  for (Local& form : forms) {
    const Code* const code = in_file([&] { return Compile(*this, name, form); });
    form = nullptr;
    Run(code);
  }
  lines.clear();
}

void Machine::Raise(Handle object) {
  raised_ = object;
  throw Failure();
}
void Machine::Fail(const std::string& message, const Local* irritant) {
  const Local irritants = irritant == nullptr ? Local() : Cons(*irritant, nullptr);
  Raise(gc::make<Condition>(Local(MakeString(message)), irritants, kFalse));
}

std::string Machine::Describe(Handle raised) {
  std::string text;
  if (!raised.is<Condition>()) {
    text = "raised, and nothing handles it: ";
    return Write(text, raised, false), text;
  }
  const gc::Local<Condition> condition = raised.cast<Condition>();
  if (condition->where.is<String>()) text = Text(condition->where.peek<String>()) + ": ";
  Write(text, condition->message, true);
  for (Local l = condition->irritants; l.is<Pair>(); l = Cdr(l)) Write(text += ' ', Car(l), false);
  return text;
}

bool Machine::Equal(Handle a, Handle b) {
  const size_t size = work_.size();
  const auto differ = [&] { return work_.Resize(size), false; };
  work_.Push(a);
  work_.Push(b);
  while (work_.size() > size) {
    const Local y = work_.Pop();
    const Local x = work_.Pop();
    if (Eqv(x, y)) continue;
    if (x.is<Pair>() && y.is<Pair>()) {
      work_.Push(Cdr(x));
      work_.Push(Cdr(y));
      work_.Push(Car(x));
      work_.Push(Car(y));
    } else if (x.is<String>() && y.is<String>()) {
      String& s = *x.peek<String>();
      String& t = *y.peek<String>();
      if (s.length() != t.length() || !std::equal(s.data(), s.data() + s.length(), t.data()))
        return differ();
    } else if (x.is<gc::Bytes>() && y.is<gc::Bytes>()) {
      if (x.peek<gc::Bytes>()->view() != y.peek<gc::Bytes>()->view()) return differ();
    } else if (x.is<Vector>() && y.is<Vector>()) {
      Vector& v = *x.peek<Vector>();
      Vector& w = *y.peek<Vector>();
      if (v.length() != w.length()) return differ();
      for (size_t i = 0; i < v.length(); ++i) {
        work_.Push(v.at(i));
        work_.Push(w.at(i));
      }
    } else {
      return differ();
    }
  }
  return true;
}

// --- Continuations.  Moves all below the arguments of the frame to the heap, the place to which it
// returns included, and the frame to the bottom of the stack.  `header` is its first slot.
void Machine::Spill(Slot* header) {
  const size_t n = static_cast<size_t>(header - bottom_) + 2;
  if (n == 2) return;  // nothing is below
  const size_t total = n + (frames_ == nullptr ? 0 : frames_->total);
  if (total > kMostValues) {
    const Code* const code = CodeOf(header + 3);  // null when call/cc is called
    throw Fatal("the recursion is too deep" + (code == nullptr ? "" : ": " + code->name));
  }
  const gc::Local<Vector> words = gc::make_array<Value>(n);
  for (size_t i = 0; i < n; ++i) words->at(i) = bottom_[i];
  frames_ = gc::make<Frames>(words, n, total, frames_);
  bottom_[0] = PlaceOf(&kUnderflowCode);
  bottom_[1] = Value::Int(0);
  const size_t rest = stack_.size() - n;
  for (size_t i = 0; i < rest; ++i) bottom_[2 + i] = bottom_[n + i];
  stack_.Resize(2 + rest);
}

// Brings the innermost frames back.  Returns the innermost one; pc_ is where it goes on.
Slot* Machine::Unspill() {
  const gc::Local<Frames> frames = frames_;
  const gc::Local<Vector> words = frames->words;
  const size_t end = frames->end;
  const auto caller_of = [&](size_t header) {
    return static_cast<size_t>(words->at(header + 1).to_int()) - 3;
  };
  const size_t innermost = caller_of(end - 2);
  size_t low = innermost;
  while (low > 0 && end - low < kBackAtOnce) low = caller_of(low);
  stack_.Resize(0);
  for (size_t i = low; i < end - 2; ++i) stack_.Push(words->at(i));
  for (size_t h = innermost; h > low; h = caller_of(h))
    bottom_[h - low + 1] = Value::Int(static_cast<int64_t>(caller_of(h) + 3 - low));
  bottom_[0] = PlaceOf(&kUnderflowCode);
  bottom_[1] = Value::Int(0);
  pc_ = reinterpret_cast<const Ins*>(words->at(end - 2).to_int());
  if (low == 0) {
    frames_ = frames->next;
  } else {
    frames_ = gc::make<Frames>(words, low + 2, frames->total - (end - low - 2), frames->next);
  }
  return bottom_ + (innermost + 3 - low);
}

// --- The loop.
Local Machine::Run(const Code* code) {
  native_frame = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  frames_ = nullptr;
  winders = nullptr;
  handlers = nullptr;
  stack_.Resize(0);
  stack_.Push(PlaceOf(&kUnderflowCode));
  stack_.Push(Value::Int(0));
  stack_.Push(gc::make_trailing<Closure>(0, code));
  Slot* fp = bottom_ + 3;
  Slot* callee_fp = fp;  // of a call that begins
  size_t n = 0;          // its arguments
  const Ins* pc = code->ins.data();
  const Ins* next = pc;
  Local acc;
  const auto top = [&]() { return bottom_ + stack_.size(); };
  const auto truncate = [&](Slot* end) {
    stack_.Drop(stack_.size() - static_cast<size_t>(end - bottom_));
  };
#define WALKABLE const Walkable walkable(&frame_, &pc_, fp, pc)
#define DONE                           \
  if (pc->flag != 0) stack_.Push(acc); \
  break
#define TEST(truth)                          \
  {                                          \
    const bool is_true = truth;              \
    if (pc->jump == 0) {                     \
      acc = Value::Bool(is_true);            \
    } else if (is_true == (pc->flag != 0)) { \
      next = pc + pc->jump;                  \
    }                                        \
    break;                                   \
  }
#define UNARY(op, action)      \
  case op: {                   \
    const Local x = acc;       \
    action;                    \
  }                            \
  case (op) + 1: {             \
    const Slot& x = fp[pc->a]; \
    action;                    \
  }
#define BINARY_CASE(op, left, right, action) \
  case op: {                                 \
    const auto& x = left;                    \
    const auto& y = right;                   \
    action;                                  \
  }
#define BINARY(op, action)                                                \
  case (op) + kPA: {                                                      \
    const Local x = stack_.Pop();                                         \
    const Local y = acc;                                                  \
    action;                                                               \
  }                                                                       \
    BINARY_CASE((op) + kAL, Local(acc), fp[pc->b], action)                \
    BINARY_CASE((op) + kAI, Local(acc), Local(Value::Int(pc->b)), action) \
    BINARY_CASE((op) + kLA, fp[pc->a], Local(acc), action)                \
    BINARY_CASE((op) + kIA, Local(Value::Int(pc->a)), Local(acc), action) \
    BINARY_CASE((op) + kLL, fp[pc->a], fp[pc->b], action)                 \
    BINARY_CASE((op) + kLI, fp[pc->a], Local(Value::Int(pc->b)), action)
#define ARITHMETIC(op, sign, builtin, which)                                                     \
  BINARY(op, {                                                                                   \
    int64_t r;                                                                                   \
    if (x.is_int() && y.is_int() && !builtin(x.to_int(), y.to_int(), &r) && Value::FitsInt(r)) { \
      acc = Value::Int(r);                                                                       \
    } else if (x.is_double() && y.is_double()) {                                                 \
      acc = Value::Double(x.to_double() sign y.to_double());                                     \
    } else {                                                                                     \
      acc = Compute(*this, which, x, y);                                                         \
    }                                                                                            \
    DONE;                                                                                        \
  })
#define COMPARISON(op, sign, which)                                             \
  BINARY(op, {                                                                  \
    if (x.is_int() && y.is_int()) TEST(x.word() sign y.word());                 \
    if (x.is_double() && y.is_double()) TEST(x.to_double() sign y.to_double()); \
    TEST(Compare(*this, which, x, y));                                          \
  })

  for (;;) {
    try {
      for (;; pc = next) {
        next = pc + 1;
        switch (pc->op) {
          case kLoadInteger:
            acc = Value::Int(pc->a);
            break;
          case kPushInteger:
            stack_.Push(Value::Int(pc->a));
            break;
          case kLoadConstant:
            acc = constants_[static_cast<size_t>(pc->a)];
            break;
          case kPushConstant:
            stack_.Push(constants_[static_cast<size_t>(pc->a)]);
            break;
          case kLoadLocal:
            acc = fp[pc->a];
            break;
          case kPushLocal:
            stack_.Push(fp[pc->a]);
            break;
          case kLoadFree:
            acc = fp[-1].peek<Closure>()->free.at(static_cast<size_t>(pc->a));
            break;
          case kPushFree:
            stack_.Push(fp[-1].peek<Closure>()->free.at(static_cast<size_t>(pc->a)));
            break;
          case kLoadGlobal:
          case kPushGlobal: {
            const Slot& value = globals_[static_cast<size_t>(pc->a)];
            if (value == kUndefined) Unbound(pc->b);
            if (pc->op == kPushGlobal) {
              stack_.Push(value);
            } else {
              acc = value;
            }
            break;
          }
          case kPush:
            stack_.Push(acc);
            break;
          case kDrop:
            stack_.Drop(static_cast<size_t>(pc->a));
            break;
          case kBoxAcc: {
            WALKABLE;
            acc = gc::make<Box>(acc);
            break;
          }
          case kBoxSlot: {
            WALKABLE;
            fp[pc->a] = gc::make<Box>(fp[pc->a]);
            break;
          }
          case kUnbox:
            acc = acc.peek<Box>()->value;
            if (acc == kUndefined) Fail("a variable is used before its definition");
            DONE;
          case kSetBox:
            stack_.Pop().peek<Box>()->value = acc;
            acc = kUnspecified;
            break;
          case kSetSlot:
            fp[pc->a] = acc;
            break;
          case kSetGlobal:
          case kDefineGlobal: {
            Slot& cell = globals_[static_cast<size_t>(pc->a)];
            if (pc->op == kSetGlobal && cell == kUndefined) Unbound(pc->b);
            cell = acc;
            acc = kUnspecified;
            break;
          }
          case kPatch: {
            const Local place = fp[pc->a];
            const Local closure = place.is<Box>() ? Local(place.peek<Box>()->value) : place;
            closure.peek<Closure>()->free.at(static_cast<size_t>(pc->b)) = fp[pc->flag];
            break;
          }
          case kMakeClosure: {
            WALKABLE;
            const auto count = static_cast<size_t>(pc->b);
            const Code* const inner = CodeOf(fp)->inner[static_cast<size_t>(pc->a)];
            const auto closure = gc::make_trailing<Closure>(count, inner);
            for (size_t i = 0; i < count; ++i) closure->free.at(i) = stack_.Top(count - 1 - i);
            stack_.Drop(count);
            acc = closure;
            break;
          }
          case kJump:
            next = pc + pc->jump;
            break;
          case kJumpIf:
            if (IsTrue(acc) == (pc->flag != 0)) next = pc + pc->jump;
            break;
          case kLoop: {
            const auto count = static_cast<size_t>(pc->b);
            Slot* const from = top() - count;
            Slot* const to = fp + pc->a;
            for (size_t i = 0; i < count; ++i) to[i] = from[i];
            truncate(to + count);
            next = pc + pc->jump;
            gc::Safepoint();
            break;
          }
          case kFrame:
            stack_.Push(PlaceOf(pc + pc->jump));
            stack_.Push(Value::Int(fp - bottom_));
            break;
          case kCall:
            n = static_cast<size_t>(pc->a);
            callee_fp = top() - n;
            goto enter;
          case kTailCall: {
            n = static_cast<size_t>(pc->a);
            Slot* const from = top() - n - 1;
            // A primitive runs while its caller is still there, for messages and profiles.
            if (!from->is<Closure>() && RunsAtOnce(from, n)) {
              WALKABLE;
              acc = CallAtOnce(from + 1, n);
              callee_fp = fp;
              goto leave;
            }
            for (size_t i = 0; i <= n; ++i) fp[static_cast<ptrdiff_t>(i) - 1] = from[i];
            truncate(fp + n);
            callee_fp = fp;
            goto enter;
          }
          case kReturn:
            callee_fp = fp;
            goto leave;
          case kPrimitive: {
            WALKABLE;
            const auto count = static_cast<size_t>(pc->b);
            const PrimitiveInfo* const info = primitives_[static_cast<size_t>(pc->a)];
            acc = info->run({*this, top() - count, count, info});
            stack_.Drop(count);
            DONE;
          }
          case kVectorSet: {
            const Slot& vector = stack_.Top(1);
            const Slot& at = stack_.Top();
            if (!vector.is<Vector>()) Wrong("vector-set!", vector, "a vector");
            Vector& items = *vector.peek<Vector>();
            if (!at.is_int() || static_cast<uint64_t>(at.to_int()) >= items.length())
              Wrong("vector-set!", at, "an index of the vector");
            items.at(static_cast<size_t>(at.to_int())) = acc;
            stack_.Drop(2);
            acc = kUnspecified;
            break;
          }
          case kUnderflow:
            if (frames_ == nullptr) return acc;
            fp = Unspill();
            next = pc_;
            break;

            UNARY(kCar, {
              if (!x.is<Pair>()) Wrong("car", x, "a pair");
              acc = x.peek<Pair>()->car;
              DONE;
            })
            UNARY(kCdr, {
              if (!x.is<Pair>()) Wrong("cdr", x, "a pair");
              acc = x.peek<Pair>()->cdr;
              DONE;
            })
            UNARY(kCadr, {
              if (!x.is<Pair>() || !x.peek<Pair>()->cdr.is<Pair>())
                Wrong("cadr", x, "a list of two");
              acc = x.peek<Pair>()->cdr.peek<Pair>()->car;
              DONE;
            })
            UNARY(kIsNull, TEST(x.is_null()))
            UNARY(kIsPair, TEST(x.is<Pair>()))
            UNARY(kNot, TEST(x == kFalse))
            UNARY(kIsZero, {
              if (x.is_int()) TEST(x.to_int() == 0);
              TEST(Compare(*this, kEquals, x, Value::Int(0)));
            })
            ARITHMETIC(kPlus, +, __builtin_add_overflow, kAdd)
            ARITHMETIC(kMinus, -, __builtin_sub_overflow, kSubtract)
            ARITHMETIC(kTimes, *, __builtin_mul_overflow, kMultiply)
            COMPARISON(kIsEqual, ==, kEquals)
            COMPARISON(kIsLess, <, kLess)
            COMPARISON(kIsGreater, >, kGreater)
            COMPARISON(kIsLessEqual, <=, kLessEqual)
            COMPARISON(kIsGreaterEqual, >=, kGreaterEqual)
            BINARY(kIsEq, TEST(x.word() == y.word()))
            BINARY(kIsEqv, TEST(x.word() == y.word() || Eqv(x, y)))
            BINARY(kCons, {
              WALKABLE;
              acc = gc::make<Pair>(x, y);
              DONE;
            })
            BINARY(kVectorRef, {
              if (!x.is<Vector>()) Wrong("vector-ref", x, "a vector");
              Vector& items = *x.peek<Vector>();
              if (!y.is_int() || static_cast<uint64_t>(y.to_int()) >= items.length())
                Wrong("vector-ref", y, "an index of the vector");
              acc = items.at(static_cast<size_t>(y.to_int()));
              DONE;
            })
            BINARY(kQuotient, {
              if (!x.is_int() || !y.is_int() || y.to_int() == 0)
                Wrong("quotient", y, "an integer other than 0");
              acc = Value::Int(x.to_int() / y.to_int());
              DONE;
            })
            BINARY(kRemainder, {
              if (!x.is_int() || !y.is_int() || y.to_int() == 0)
                Wrong("remainder", y, "an integer other than 0");
              acc = Value::Int(x.to_int() % y.to_int());
              DONE;
            })
        }
        continue;

        // The frame of the callee is complete: the place to return to, the caller's frame, the
        // callee, n arguments.
      enter : {
        const Slot& callee = callee_fp[-1];
        if (__builtin_expect(callee.is<Closure>(), 1)) {
          const Code& called = *callee.peek<Closure>()->code;
          if (n != static_cast<size_t>(called.params) || called.rest) n = TakeRest(called, n);
          if (__builtin_expect(static_cast<size_t>(callee_fp - bottom_) +
                                       static_cast<size_t>(called.most_depth) >
                                   kMostOnStack,
                               0)) {
            Spill(callee_fp - 3);
            callee_fp = bottom_ + 3;
          }
          fp = callee_fp;
          next = called.ins.data();
          continue;
        }
        if (RunsAtOnce(&callee, n)) {
          WALKABLE;
          acc = CallAtOnce(callee_fp, n);
          goto leave;
        }
        if (callee.is<Continuation>()) {
          const gc::Local<Continuation> k = callee.cast<Continuation>();
          if (k->winders == winders) {
            acc = n == 1 ? Local(*callee_fp) : MakeValues(callee_fp, n);
            frames_ = k->frames;
            handlers = k->handlers;
            if (frames_ == nullptr) return acc;
            fp = Unspill();
            next = pc_;
            continue;
          }
          // The prelude leaves and enters what dynamic-wind guards, and calls again.
          Local list;
          for (size_t i = n; i-- > 0;) list = Cons(callee_fp[i], list);
          truncate(callee_fp);
          callee_fp[-1] = Global(Intern("%continue"));
          stack_.Push(k);
          stack_.Push(list);
          n = 2;
          goto enter;
        }
        switch (callee.peek<Primitive>()->info->control) {
          case PrimitiveInfo::kNone:
            break;
          case PrimitiveInfo::kCallCc: {
            Spill(callee_fp - 3);
            callee_fp = bottom_ + 3;
            const Local k = gc::make<Continuation>(frames_, winders, handlers);
            callee_fp[-1] = *callee_fp;
            *callee_fp = k;
            goto enter;
          }
          case PrimitiveInfo::kApply:
          case PrimitiveInfo::kApplyValues: {
            const auto control = callee.peek<Primitive>()->info->control;
            // (apply f x ... list): everything moves down by a slot.
            Local last = stack_.Pop();
            for (size_t i = 0; i + 1 < n; ++i)
              callee_fp[static_cast<ptrdiff_t>(i) - 1] = callee_fp[i];
            truncate(callee_fp + n - 2);
            n -= 2;
            if (control == PrimitiveInfo::kApply) {
              for (; last.is<Pair>() && n < kMostArguments; last = Cdr(last), ++n)
                stack_.Push(Car(last));
              if (!last.is_null()) Fail("apply: the last argument is no list, or too long");
            } else if (last.is<Values>()) {
              const gc::Local<Values> values = last.cast<Values>();
              for (; n < values->count && n < kMostArguments; ++n) stack_.Push(values->items.at(n));
            } else {
              stack_.Push(last);
              n = 1;
            }
            goto enter;
          }
        }
        continue;
      }
      leave:
        next = InsAt(callee_fp[-3]);
        fp = bottom_ + callee_fp[-2].to_int();
        truncate(callee_fp - 3);
      }
    } catch (const Failure&) {
      const Local object = raised_;
      if (object.is<Condition>() && object.cast<Condition>()->where == kFalse &&
          CodeOf(fp) != nullptr) {
        const Code& code_of_error = *CodeOf(fp);
        object.cast<Condition>()->where =
            Local(MakeString(*code_of_error.file + ":" + std::to_string(LineOf(code_of_error, pc)) +
                             ": " + code_of_error.name));
      }
      if (stack_.size() + 8 > kStackValues) throw Fatal(Describe(object));
      // (raise object), which does not return.
      stack_.Push(PlaceOf(pc));
      stack_.Push(Value::Int(fp - bottom_));
      stack_.Push(Global(Intern("raise")));
      stack_.Push(object);
      static constexpr Ins kCallRaise = {kCall, 0, 0, 1, 0};
      pc = &kCallRaise;
    }
  }
}

void Machine::Unbound(int32_t symbol) {
  Fail("unbound variable: " + symbols_[static_cast<size_t>(symbol)].peek<Symbol>()->name->text);
}
void Machine::Wrong(const char* who, Handle value, const char* wanted) {
  const Local irritant = value;
  Fail(std::string(who) + ": here must be " + wanted + ", not:", &irritant);
}
void Machine::WrongCount(const std::string& name, size_t n) {
  Fail(name + ": wrong number of arguments: " + std::to_string(n));
}

// Checks the number of arguments, and makes a list of those that a rest parameter takes.
size_t Machine::TakeRest(const Code& code, size_t n) {
  const auto params = static_cast<size_t>(code.params);
  if (code.rest ? n + 1 < params : n != params) WrongCount(code.name, n);
  Local list;
  for (; n >= params; --n) {
    list = Cons(stack_.Top(), list);
    stack_.Drop();
  }
  stack_.Push(list);
  return n + 1;
}

Local Machine::MakeValues(Slot* slots, size_t n) {
  const gc::Local<Values> values = gc::make_trailing<Values>(n, n);
  for (size_t i = 0; i < n; ++i) values->items.at(i) = slots[i];
  return values;
}

// Whether the callee runs without the loop.  Fails if it is no procedure.
bool Machine::RunsAtOnce(const Slot* callee, size_t n) {
  if (callee->is<RecordProcedure>()) return true;
  if (callee->is<Continuation>()) return false;
  if (!callee->is<Primitive>()) {
    const Local wrong = *callee;
    Fail("this is no procedure:", &wrong);
  }
  const PrimitiveInfo& info = *callee->peek<Primitive>()->info;
  if (n < info.least || n > info.most) WrongCount(info.name, n);
  return info.control == PrimitiveInfo::kNone;
}
Local Machine::CallAtOnce(Slot* args, size_t n) {
  if (args[-1].is<RecordProcedure>()) return CallRecord(args, n);
  const PrimitiveInfo* const info = args[-1].peek<Primitive>()->info;
  return info->run({*this, args, n, info});
}

Local Machine::CallRecord(Slot* args, size_t n) {
  const gc::Local<RecordProcedure> procedure = args[-1].cast<RecordProcedure>();
  static constexpr size_t kCounts[] = {0, 1, 1, 2};
  const auto kind = procedure->kind;
  const std::string& name = procedure->name.peek<Symbol>()->name->text;
  if (n != (kind == RecordProcedure::kMake ? procedure->index : kCounts[kind])) WrongCount(name, n);
  if (kind == RecordProcedure::kMake) {
    const gc::Local<gc::Shaped> record = gc::make_shaped(*procedure->shape);
    Local l = procedure->fields;
    for (size_t i = 0; i < n; ++i, l = Cdr(l))
      record->unchecked_value(static_cast<size_t>(Car(l).to_int())) = args[i];
    return record;
  }
  const bool is = args[0].is_shaped(*procedure->shape);
  if (kind == RecordProcedure::kIs) return Value::Bool(is);
  if (!is) Wrong(name.c_str(), args[0], procedure->shape->name());
  Field& field = args[0].peek<gc::Shaped>()->unchecked_value(procedure->index);
  if (kind == RecordProcedure::kGet) return field;
  field = args[1];
  return kUnspecified;
}

}  // namespace scheme
