// A small Lisp on the managed heap, as an example to copy from.  Values, lists and a hash table are
// managed objects, two threads run the same program, and the profile names the functions of the
// Lisp program, not those of the interpreter: a walker of its frames gives them for sampled blocks,
// and marked calls give them when every byte is counted.
//
//   tiny_lisp              a sample, summed by a tracker
//   tiny_lisp --profile    every byte, in mlmon.out for mlprof
//   tiny_lisp FILE         runs a program without either: prints the value of (main 0)
//
// "Rooting" in runtime/README.md explains the rules.  With ALLOMON_HEAP=stress=1,verify a run
// checks that this program keeps them.
#include <allomon/interpreter.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "examples/output_directory.h"
#include "runtime/heap.h"
#include "tracker/callstack/managed_functions.h"
#include "tracker/profile/profile.h"
#include "tracker/symbols/symbols.h"
#include "tracker/tracker.h"

namespace gc = allomon::gc;

constexpr std::string_view kProgram = R"(
(define (range n) (if (= n 0) nil (cons n (range (- n 1)))))
(define (map f list)
  (if (null? list) nil (cons (f (first list)) (map f (rest list)))))
(define (sum list) (if (null? list) 0 (+ (first list) (sum (rest list)))))
(define (square x) (* x x))
(define (remember n) (put! n (map square (range n))))
(define (repeat f n) (if (= n 0) 0 (begin (f n) (repeat f (- n 1)))))
(define (main from)
  (begin (repeat (lambda (n) (remember (+ from n))) 100)
         (sum (get (+ from 50)))))
)";

using gc::Value;
using Local = gc::Local<Value>;
using Handle = gc::Handle<Value>;

struct LispFunction;

// The target of a Value.  Numbers and the primitives need no object; null is the empty list.
struct Symbol {
  long number;
  gc::Field<Value> global;
};
struct Pair {
  static constexpr bool kIsBase = true;
  gc::Field<Value> first;
  gc::Field<Value> rest;
};
// A pair that was read from a text.
struct Code {
  using Extends = Pair;
  Pair pair;
  long line;
};
// Scopes are lists of these.
struct Binding {
  gc::Field<Value> symbol;
  gc::Field<Value> value;
  gc::Field<Binding> next;
};
struct Closure {
  gc::Untraced<const LispFunction*> function;
  gc::Field<Value> parameters;
  gc::Field<Value> body;
  gc::Field<Binding> scope;
};

[[noreturn]] void Stop(const char* what, const char* type = "") {
  fprintf(stderr, "tiny_lisp: %s%s\n", what, type);
  exit(1);
}

// The pointer is valid while it is on the native stack: its object does not move.
Pair* AsPair(Handle value) {
  if (!value.is<Pair>()) Stop("here must be a pair, not: ", value.type_name());
  return value.peek<Pair>();
}
int64_t AsInt(const gc::StackSlot<Value>& value) {
  if (!value.is_int()) Stop("here must be a number, not: ", value.type_name());
  return value.to_int();
}

// A hash table from numbers to values.
struct Entry {
  int64_t key;
  gc::Field<Value> value;
  gc::Field<Entry> next;
};
struct Table {
  size_t count;
  gc::Field<gc::Array<Entry>> buckets;
};

gc::Field<Entry>& BucketOf(gc::Handle<gc::Array<Entry>> buckets, int64_t key) {
  return buckets->at(static_cast<size_t>(key) % buckets->length());
}

gc::Local<Entry> Find(gc::Handle<Table> table, int64_t key) {
  gc::Local<Entry> entry = BucketOf(table->buckets, key);
  while (entry && entry->key != key) entry = entry->next;
  return entry;
}

void Grow(gc::Handle<Table> table) {
  const gc::Local<gc::Array<Entry>> old = table->buckets;
  const gc::Local<gc::Array<Entry>> grown = gc::make_array<Entry>(old->length() * 2);
  for (size_t i = 0; i < old->length(); ++i) {
    for (gc::Local<Entry> entry = old->at(i), next; entry; entry = next) {
      next = entry->next;
      // Nothing is allocated from here to the end of the block, so the reference stays valid.
      gc::Field<Entry>& bucket = BucketOf(grown, entry->key);
      entry->next = bucket;
      bucket = entry;
    }
  }
  table->buckets = grown;
}

void Put(gc::Handle<Table> table, int64_t key, Handle value) {
  if (const gc::Local<Entry> entry = Find(table, key)) {
    entry->value = value;
    return;
  }
  if (++table->count > table->buckets->length()) Grow(table);
  const gc::Local<gc::Array<Entry>> buckets = table->buckets;
  // Makes the entry before the bucket is looked up, since making it may move the array.
  const gc::Local<Entry> entry = gc::make<Entry>(key, value, nullptr);
  entry->next = BucketOf(buckets, key);
  BucketOf(buckets, key) = entry;
}

// A place in the text that makes functions.  It does not move while the program runs.
struct LispFunction {
  std::string name;
  int line;
  allomon::ManagedFunction marked;  // for exact profiles
};

// A frame of a running function, on the native stack of its thread.
struct LispFrame {
  const LispFunction* function;
  int line;  // the current line
  LispFrame* caller;
};
thread_local LispFrame* lisp_frame = nullptr;

class LispCall {
 public:
  explicit LispCall(const LispFunction& function) : frame_{&function, function.line, lisp_frame} {
    lisp_frame = &frame_;
  }
  ~LispCall() { lisp_frame = frame_.caller; }
  LispCall(const LispCall&) = delete;
  LispCall& operator=(const LispCall&) = delete;

 private:
  LispFrame frame_;
};

// Called by the tracker when it samples (allomon/interpreter.h).
int BeginWalk(void*, allomon_interpreter_walk* walk) {
  walk->place[0] = reinterpret_cast<uintptr_t>(lisp_frame);
  return lisp_frame == nullptr ? ALLOMON_WALK_END : ALLOMON_WALK_FRAME;
}
int NextFrame(void*, allomon_interpreter_walk* walk, allomon_interpreter_frame* frame) {
  const auto* const next = reinterpret_cast<const LispFrame*>(walk->place[0]);
  if (next == nullptr) return ALLOMON_WALK_END;
  frame->code = reinterpret_cast<uintptr_t>(next->function);
  frame->position = static_cast<uint32_t>(next->line);
  frame->native_frame = walk->place[0];  // it lies in the frame of Apply
  walk->place[0] = reinterpret_cast<uintptr_t>(next->caller);
  return ALLOMON_WALK_FRAME;
}
int DescribeFunction(void*, const allomon_interpreter_frame* frame,
                     allomon_interpreter_function* function) {
  static constexpr std::string_view kFile = "program.lisp";
  const auto* const code = reinterpret_cast<const LispFunction*>(frame->code);
  function->name = code->name.data();
  function->name_bytes = code->name.size();
  function->file = kFile.data();
  function->file_bytes = kFile.size();
  function->first_line = static_cast<uint32_t>(code->line);
  function->line = frame->position;
  return ALLOMON_WALK_FRAME;
}
void RegisterLisp() {
  allomon_interpreter lisp = ALLOMON_INTERPRETER_DEFAULTS;
  lisp.begin = BeginWalk;
  lisp.next = NextFrame;
  lisp.describe = DescribeFunction;
  const allomon_status status = allomon_interpreter_register(&lisp);
  if (status != ALLOMON_OK) Stop(allomon_status_text(status));
}

// The program, for any number of threads.
class Lisp {
 public:
  // `marks_calls`: each call is marked, as exact profiles require; otherwise the walker is used.
  explicit Lisp(bool marks_calls) : marks_calls_(marks_calls) {
    for (const char* name : kPrimitiveNames) {
      const size_t index = symbols_.size();
      Intern(name)->global = Value::Constant(static_cast<unsigned>(index));
    }
    for (const char* name : {"nil", "if", "define", "lambda", "begin"}) Intern(name);
    const gc::Local<Table> table = gc::make<Table>();
    table->buckets = gc::make_array<Entry>(8);
    table_ = table;
  }

  void Load(std::string_view text) {
    text_ = text;
    line_ = 1;
    for (SkipSpace(); !text_.empty(); SkipSpace()) Define(Read());
  }

  bool marks_calls() const { return marks_calls_; }
  gc::Local<Symbol> Find(std::string_view name) { return Intern(name); }

  // The names are in the order of Run::Primitive().  The special forms follow.
  static constexpr const char* kPrimitiveNames[] = {"+",     "-",    "*",     "=",    "<",  "cons",
                                                    "first", "rest", "null?", "put!", "get"};
  enum Primitive : unsigned {
    kAdd,
    kSubtract,
    kMultiply,
    kEqual,
    kLess,
    kCons,
    kFirst,
    kRest,
    kIsNull,
    kPut,
    kGet
  };
  enum Form : long { kNil = 11, kIf, kDefine, kLambda, kBegin };

  // Each place in the text that makes functions is registered once.
  gc::Local<Closure> MakeClosure(const std::string& name, long line, Handle parameters, Handle body,
                                 gc::Handle<Binding> scope) {
    return gc::make<Closure>(FunctionAt(name, static_cast<int>(line)), parameters, body, scope);
  }

  // A thread that waits for a lock must let others collect meanwhile.
  class TableLock {
   public:
    explicit TableLock(Lisp& lisp) : lock_(lisp.table_mutex_, std::defer_lock) {
      const gc::NativeRegion native;
      lock_.lock();
    }

   private:
    std::unique_lock<std::mutex> lock_;
  };
  gc::Local<Table> table() const { return table_.get(); }

 private:
  gc::Local<Symbol> Intern(std::string_view name) {
    const auto [at, is_new] = symbols_.try_emplace(std::string(name));
    if (is_new) at->second = gc::make<Symbol>(static_cast<long>(symbols_.size()) - 1, nullptr);
    return at->second.get();
  }

  // Reading.
  void SkipSpace() {
    while (!text_.empty() && (text_[0] == ' ' || text_[0] == '\n')) {
      line_ += text_[0] == '\n';
      text_.remove_prefix(1);
    }
  }
  Local Read() {
    SkipSpace();
    if (text_.empty()) Stop("a list is not closed");
    if (text_[0] == '(') return text_.remove_prefix(1), ReadRest();
    const std::string word(text_.substr(0, text_.find_first_of(" \n()")));
    text_.remove_prefix(word.size());
    char* end = nullptr;
    const long number = strtol(word.c_str(), &end, 10);
    if (*end == '\0') return Value::Number(number);
    return Intern(word);
  }
  Local ReadRest() {
    SkipSpace();
    const long line = line_;
    if (!text_.empty() && text_[0] == ')') return text_.remove_prefix(1), nullptr;
    const Local first = Read();
    const Local rest = ReadRest();
    return gc::make<Code>(first, rest, line);
  }

  // (define (name parameters...) body)
  void Define(Handle code) {
    const Local rest = AsPair(code)->rest;
    const Local head = AsPair(rest)->first;
    const gc::Local<Symbol> symbol = AsPair(head)->first.cast<Symbol>();
    const Local parameters = AsPair(head)->rest;
    const Local body = AsPair(AsPair(rest)->rest)->first;
    symbol->global =
        MakeClosure(NameOf(symbol), code.cast<Code>()->line, parameters, body, nullptr);
  }
  std::string NameOf(gc::Handle<Symbol> symbol) const {
    for (const auto& [name, global] : symbols_) {
      if (global.get() == symbol) return name;
    }
    return "?";
  }

  const LispFunction* FunctionAt(const std::string& name, int line) {
    std::lock_guard<std::mutex> hold(functions_mutex_);
    const auto [at, is_new] = function_at_line_.try_emplace({name, line}, functions_.size());
    if (is_new) functions_.push_back({name, line, Marked(name, line)});
    return &functions_[at->second];
  }
  allomon::ManagedFunction Marked(const std::string& name, int line) const {
    if (!marks_calls_) return {};
    return allomon::RegisterManagedFunction(name, "program.lisp", line);
  }

  std::string_view text_;
  long line_ = 1;
  std::map<std::string, gc::Global<Symbol>, std::less<>> symbols_;
  std::mutex functions_mutex_;
  std::map<std::pair<std::string, int>, size_t> function_at_line_;
  std::deque<LispFunction> functions_;  // their addresses are their identities
  const bool marks_calls_;
  std::mutex table_mutex_;
  gc::Global<Table> table_;
};

// A run of the program, on the thread that makes it.
class Run {
 public:
  explicit Run(Lisp& lisp) : lisp_(lisp) {}

  // Called when all code is loaded.
  Local Call(std::string_view name, Handle argument) {
    const Local function = lisp_.Find(name)->global;
    stack_.Push(argument);
    return Apply(function, stack_.size() - 1);
  }

 private:
  Local Lookup(Handle symbol, gc::Handle<Binding> scope) {
    for (const Binding* b = scope.operator->(); b != nullptr; b = b->next.operator->()) {
      if (b->symbol == symbol) return b->value;
    }
    return symbol.peek<Symbol>()->global;
  }

  Local Eval(Handle code, gc::Handle<Binding> scope) {
    if (code.is<Symbol>()) return Lookup(code, scope);
    if (!code.is<Code>()) return code;
    const gc::Local<Code> call = code.cast<Code>();
    if (lisp_frame != nullptr) lisp_frame->line = static_cast<int>(call->line);
    if (call->pair.first.is<Symbol>()) {
      switch (call->pair.first.peek<Symbol>()->number) {
        case Lisp::kIf: {
          Local rest = call->pair.rest;
          const bool is_true = Eval(AsPair(rest)->first, scope).is_truthy();
          rest = AsPair(rest)->rest;
          if (!is_true) rest = AsPair(rest)->rest;
          return Eval(AsPair(rest)->first, scope);
        }
        case Lisp::kLambda: {
          const Local parameters = AsPair(call->pair.rest)->first;
          const Local body = AsPair(AsPair(call->pair.rest)->rest)->first;
          return lisp_.MakeClosure("lambda", call->line, parameters, body, scope);
        }
        case Lisp::kBegin: {
          Local last;
          for (Local c = call->pair.rest; c.is<Pair>(); c = AsPair(c)->rest) {
            last = Eval(AsPair(c)->first, scope);
          }
          return last;
        }
        default:
          break;
      }
    }
    const Local function = Eval(call->pair.first, scope);
    const size_t base = stack_.size();
    for (Local c = call->pair.rest; c.is<Pair>(); c = c.peek<Pair>()->rest) {
      stack_.Push(Eval(c.peek<Pair>()->first, scope));
    }
    return Apply(function, base);
  }

  // The arguments are the values of the stack from `base` on.  Drops them.
  Local Apply(Handle function, size_t base) {
    if (function.is_constant()) return Primitive(function.to_constant(), base);
    if (!function.is<Closure>()) Stop("this is no function: ", function.type_name());
    if (stack_top_ - Here() > kStackBytes) Stop("the calls are nested too deep");
    // Samples have this function on their stack from here to the end.
    const gc::Local<Closure> closure = function.cast<Closure>();
    const LispCall call(*closure->function);
    const allomon::ManagedCall marked(closure->function->marked);
    gc::Local<Binding> scope = closure->scope;
    Local parameters = closure->parameters;
    for (size_t i = base; i < stack_.size(); ++i) {
      if (!parameters.is<Pair>()) Stop("too many arguments");
      scope.emplace(parameters.peek<Pair>()->first, stack_[i], scope);
      parameters = parameters.peek<Pair>()->rest;
    }
    stack_.Resize(base);
    return Eval(closure->body, scope);
  }

  // The arguments stay on the stack until the result is there: Locals are not needed.
  Local Primitive(unsigned which, size_t base) {
    const size_t n = stack_.size() - base;
    if (n < (which == Lisp::kPut || which < Lisp::kFirst ? 2 : 1)) Stop("too few arguments");
    Local result = Compute(which, stack_[base], stack_[base + n - 1]);
    stack_.Resize(base);
    return result;
  }

  using Argument = gc::StackSlot<Value>;
  Local Compute(unsigned which, const Argument& a, const Argument& b) {
    switch (which) {
      case Lisp::kAdd:
        return Value::Number(AsInt(a) + AsInt(b));
      case Lisp::kSubtract:
        return Value::Number(AsInt(a) - AsInt(b));
      case Lisp::kMultiply:
        return Value::Number(AsInt(a) * AsInt(b));
      case Lisp::kEqual:
        return Truth(AsInt(a) == AsInt(b));
      case Lisp::kLess:
        return Truth(AsInt(a) < AsInt(b));
      case Lisp::kCons:
        return gc::make<Pair>(a, b);
      case Lisp::kFirst:
        return AsPair(a)->first;
      case Lisp::kRest:
        return AsPair(a)->rest;
      case Lisp::kIsNull:
        return Truth(a.is_null());
      default:
        break;
    }
    const Lisp::TableLock lock(lisp_);
    if (which == Lisp::kPut) return Put(lisp_.table(), AsInt(a), b), b;
    const gc::Local<Entry> entry = Find(lisp_.table(), AsInt(a));
    return entry ? Local(entry->value) : Local();
  }
  static gc::Immediate Truth(bool is_true) { return is_true ? Value::Bool(true) : Value::Null(); }

  // The part of the native stack that may be used; it grows downwards.  Threads have 8 MiB by
  // default.
  static constexpr ptrdiff_t kStackBytes = 7 << 20;
  static const char* Here() { return static_cast<const char*>(__builtin_frame_address(0)); }

  Lisp& lisp_;
  gc::ValueStack<Value> stack_;
  const char* const stack_top_ = Here();
};

// Sums the allocated bytes by the innermost function of the Lisp program.
struct LispProfile {
  struct Data {
    std::mutex mutex;
    std::map<uintptr_t, double> bytes;
  };
  explicit LispProfile(Data* data) : data(data) {}
  std::optional<char> alloc_minor(const allomon::Allocation& allocation) {
    allomon::ManagedFunctionName name = {};
    for (const uintptr_t frame : allocation.callstack) {
      if (FindManagedFunction(frame, &name)) break;
    }
    allomon::HeapEstimate estimate;
    estimate.Add(allocation);
    std::lock_guard<std::mutex> hold(data->mutex);
    data->bytes[name.function] += estimate.bytes.value;  // for all of its lines
    return std::nullopt;
  }
  Data* data;
};

// Runs the program on two threads.
void RunTwice(gc::Heap& heap, Lisp& lisp) {
  long results[2] = {};
  std::thread other([&] {
    const gc::Mutator inner(heap);
    results[1] = Run(lisp).Call("main", Value::Int(100)).to_int();
  });
  results[0] = Run(lisp).Call("main", Value::Int(0)).to_int();
  {
    const gc::NativeRegion native;
    other.join();
  }
  printf("%ld %ld\n", results[0], results[1]);
}

void PrintByFunction(const std::map<uintptr_t, double>& bytes_of) {
  std::vector<std::pair<double, uintptr_t>> rows;
  for (const auto& [address, bytes] : bytes_of) rows.emplace_back(bytes, address);
  std::sort(rows.rbegin(), rows.rend());
  const auto symbols = allomon::ProcessSymbols::Load();
  for (const auto& [bytes, address] : rows) {
    const allomon::Symbol function = symbols->Resolve(address);
    fprintf(stderr, "%8.0f KB  %s (%s)\n", bytes / 1000, function.name.c_str(),
            function.position.c_str());
  }
}

void Sample(gc::Heap& heap, Lisp& lisp) {
  LispProfile::Data data;
  // A function that makes 1 KB has a dozen samples, so that none of the program's is missing.
  if (!allomon::Tracker::start(1e-1, LispProfile(&data)).ok()) Stop("no tracker");
  RunTwice(heap, lisp);
  if (!allomon::Tracker::stop().ok()) Stop("no tracker");
  PrintByFunction(data.bytes);
}

// Profiles every byte, for `mlprof mlmon.out.sources mlmon.out`.
void Profile(gc::Heap& heap, Lisp& lisp) {
  const gc::HeapStatistics before = heap.statistics();
  absl::Status status = allomon::Profile::Start();
  if (!status.ok()) Stop(status.ToString().c_str());
  RunTwice(heap, lisp);
  status = allomon::Profile::Stop();
  if (status.ok()) status = allomon::Profile::Write(examples::InOutputDirectory("mlmon.out"));
  if (!status.ok()) Stop(status.ToString().c_str());
  const gc::HeapStatistics after = heap.statistics();
  printf("mlmon.out: %s; the heap counted %lu, and %lu by its collector\n",
         allomon::Profile::Summary().c_str(), 8 * (after.allocated_words - before.allocated_words),
         8 * (after.promoted_words - before.promoted_words));
}

int RunFile(Lisp& lisp, const char* path) {
  std::ifstream file(path);
  if (!file) Stop("cannot read ", path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  lisp.Load(text);
  printf("%ld\n", Run(lisp).Call("main", Value::Int(0)).to_int());
  return 0;
}

int main(int argc, char** argv) {
  const bool profiles = argc == 2 && std::string_view(argv[1]) == "--profile";
  auto heap = gc::Heap::Create();
  if (!heap.ok()) return fprintf(stderr, "%s\n", heap.status().ToString().c_str()), 1;
  const gc::Mutator mutator(**heap);
  Lisp lisp(profiles);
  if (argc == 2 && !profiles) return RunFile(lisp, argv[1]);
  if (!profiles) RegisterLisp();
  lisp.Load(kProgram.substr(1));
  profiles ? Profile(**heap, lisp) : Sample(**heap, lisp);
}
