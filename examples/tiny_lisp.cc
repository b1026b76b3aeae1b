// A small Lisp on the managed heap, to copy from.  Values, lists and a hash table are managed
// objects, two threads run the same program, and the profile names the functions of the Lisp
// program, not those of the interpreter: by a walker of its frames where blocks are sampled, and by
// marked calls where every byte is counted.
//
//   tiny_lisp              a sample, summed by a tracker
//   tiny_lisp --profile    every byte, in mlmon.out for mlprof
//
// "Rooting" in runtime/README.md explains the rules.  With ALLOMON_HEAP=stress=1,verify a run
// checks that this program keeps them.
#include <allomon/interpreter.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
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

// Plain data.  The meaning of a word depends on the tag.  Null is the empty list and false.
enum class Tag : uint8_t { kNumber, kSymbol, kPair, kPrimitive, kClosure };
struct Value {
  Tag tag;
  int line;                // of a pair that was read: its line in the text
  long number;             // symbol, primitive, closure: its number
  gc::Field<Value> first;  // closure: the parameters
  gc::Field<Value> rest;   // closure: the body, and then the environment
};
using Handle = gc::Handle<Value>;
using Local = gc::Local<Value>;

Local Number(long number) { return gc::make<Value>(Tag::kNumber, 0, number, nullptr, nullptr); }
Local Pair(Handle first, Handle rest) { return gc::make<Value>(Tag::kPair, 0, 0L, first, rest); }

[[noreturn]] void Stop(const char* what) {
  fprintf(stderr, "tiny_lisp: %s\n", what);
  exit(1);
}

// A hash table from numbers to values; chains are lists of (key . value) pairs.
struct Table {
  size_t count;
  gc::Field<gc::Array<Value>> buckets;
};

Local Find(gc::Handle<Table> table, long key) {
  Local chain = table->buckets->at(static_cast<size_t>(key) % table->buckets->length());
  for (; chain; chain = chain->rest) {
    if (chain->first->first->number == key) return chain->first;
  }
  return nullptr;
}

void Grow(gc::Handle<Table> table) {
  const gc::Local<gc::Array<Value>> old = table->buckets;
  const gc::Local<gc::Array<Value>> grown = gc::make_array<Value>(old->length() * 2);
  for (size_t i = 0; i < old->length(); ++i) {
    for (Local chain = old->at(i), next; chain; chain = next) {
      next = chain->rest;
      // Nothing is allocated from here to the end of the block, so the reference stays valid.
      gc::Field<Value>& bucket =
          grown->at(static_cast<size_t>(chain->first->first->number) % grown->length());
      chain->rest = bucket;
      bucket = chain;
    }
  }
  table->buckets = grown;
}

void Put(gc::Handle<Table> table, Handle key, Handle value) {
  if (const Local entry = Find(table, key->number)) {
    entry->rest = value;
    return;
  }
  if (++table->count > table->buckets->length()) Grow(table);
  // The pair is made before the bucket is looked up, since making it may move the array.
  const Local entry = Pair(key, value);
  const size_t i = static_cast<size_t>(key->number) % table->buckets->length();
  table->buckets->at(i) = Pair(entry, table->buckets->at(i));
}

// A place in the text that makes functions.  It stays where it is for as long as the program runs.
struct LispFunction {
  std::string name;
  int line;
  allomon::ManagedFunction marked;  // for exact profiles
};

// Functions that run, on the native stacks of their threads.
struct LispFrame {
  const LispFunction* function;
  int line;  // that runs
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

// What the tracker asks when it samples (allomon/interpreter.h).
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

class Lisp {
 public:
  // `marks_calls`: each call is marked, which exact profiles need; else the walker is asked.
  explicit Lisp(bool marks_calls) : marks_calls_(marks_calls) {
    for (const char* name : kPrimitiveNames) {
      const long index = static_cast<long>(Intern(name));
      globals_[static_cast<size_t>(index)] =
          gc::make<Value>(Tag::kPrimitive, 0, index, nullptr, nullptr);
    }
    Intern("nil");
    for (const char* name : {"if", "define", "lambda", "begin"}) Intern(name);
    const gc::Local<Table> table = gc::make<Table>();
    table->buckets = gc::make_array<Value>(8);
    table_ = table;
  }

  void Load(std::string_view text) {
    text_ = text;
    line_ = 1;
    for (SkipSpace(); !text_.empty(); SkipSpace()) Define(Read());
  }

  // Called on any attached thread, when all code is loaded.
  Local Call(std::string_view name, Handle argument) {
    const Local function = globals_[Intern(name)].get();
    return Apply(function, Pair(argument, nullptr));
  }

 private:
  // The names are in the order of Primitive().  The special forms follow.
  static constexpr const char* kPrimitiveNames[] = {"+",     "-",    "*",     "=",    "cons",
                                                    "first", "rest", "null?", "put!", "get"};
  enum Form : long { kNil = 10, kIf, kDefine, kLambda, kBegin };

  size_t Intern(std::string_view name) {
    const auto [at, is_new] = symbols_.try_emplace(std::string(name), symbols_.size());
    if (is_new) globals_.emplace_back();
    return at->second;
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
    if (*end == '\0') return Number(number);
    return gc::make<Value>(Tag::kSymbol, 0, static_cast<long>(Intern(word)), nullptr, nullptr);
  }
  Local ReadRest() {
    SkipSpace();
    const int line = line_;
    if (!text_.empty() && text_[0] == ')') return text_.remove_prefix(1), nullptr;
    const Local first = Read();
    const Local rest = ReadRest();
    return gc::make<Value>(Tag::kPair, line, 0L, first, rest);
  }

  // (define (name parameters...) body)
  void Define(Handle code) {
    const Local head = code->rest->first;
    const size_t symbol = static_cast<size_t>(head->first->number);
    const Local body = code->rest->rest->first;
    globals_[symbol] = Closure(NameOf(symbol), code->line, head->rest, body, nullptr);
  }
  std::string NameOf(size_t symbol) const {
    for (const auto& [name, index] : symbols_) {
      if (index == symbol) return name;
    }
    return "?";
  }

  // Each place in the text that makes functions is registered once.
  Local Closure(const std::string& name, int line, Handle parameters, Handle body, Handle scope) {
    long index = 0;
    {
      std::lock_guard<std::mutex> hold(functions_mutex_);
      const auto [at, is_new] = function_at_line_.try_emplace({name, line}, functions_.size());
      if (is_new) functions_.push_back({name, line, Marked(name, line)});
      index = static_cast<long>(at->second);
    }
    const Local code = Pair(body, scope);
    return gc::make<Value>(Tag::kClosure, line, index, parameters, code);
  }

  allomon::ManagedFunction Marked(const std::string& name, int line) const {
    if (!marks_calls_) return {};
    return allomon::RegisterManagedFunction(name, "program.lisp", line);
  }

  // From here on: running.  A scope is a list of (symbol . value) pairs.
  Local Lookup(Handle symbol, Handle scope) {
    for (Local s = scope; s; s = s->rest) {
      if (s->first->first->number == symbol->number) return s->first->rest;
    }
    return globals_[static_cast<size_t>(symbol->number)].get();
  }

  Local Eval(Handle code, Handle scope) {
    if (!code || code->tag == Tag::kNumber) return code;
    if (code->tag == Tag::kSymbol) return Lookup(code, scope);
    if (lisp_frame != nullptr) lisp_frame->line = code->line;
    if (code->first->tag == Tag::kSymbol) {
      switch (code->first->number) {
        case kIf: {
          const Local condition = Eval(code->rest->first, scope);
          const Local branches = code->rest->rest;
          return Eval(condition ? branches->first : branches->rest->first, scope);
        }
        case kLambda:
          return Closure("lambda", code->line, code->rest->first, code->rest->rest->first, scope);
        case kBegin: {
          Local last;
          for (Local c = code->rest; c; c = c->rest) last = Eval(c->first, scope);
          return last;
        }
        default:
          break;
      }
    }
    const Local function = Eval(code->first, scope);
    const Local arguments = EvalAll(code->rest, scope);
    return Apply(function, arguments);
  }

  Local EvalAll(Handle codes, Handle scope) {
    if (!codes) return nullptr;
    const Local first = Eval(codes->first, scope);
    const Local rest = EvalAll(codes->rest, scope);
    return Pair(first, rest);
  }

  Local Apply(Handle function, Handle arguments) {
    if (!function) Stop("this is no function");
    if (function->tag == Tag::kPrimitive) return Primitive(function->number, arguments);
    if (function->tag != Tag::kClosure) Stop("this is no function");
    // From here to the end, samples have this function on their stack.
    const LispFunction& running = FunctionAt(function->number);
    const LispCall call(running);
    const allomon::ManagedCall marked(running.marked);
    Local scope = function->rest->rest;
    Local parameter = function->first;
    for (Local a = arguments; a; a = a->rest, parameter = parameter->rest) {
      if (!parameter) Stop("too many arguments");
      const Local binding = Pair(parameter->first, a->first);
      scope = Pair(binding, scope);
    }
    return Eval(function->rest->first, scope);
  }
  const LispFunction& FunctionAt(long index) {
    std::lock_guard<std::mutex> hold(functions_mutex_);
    return functions_[static_cast<size_t>(index)];
  }

  Local Primitive(long which, Handle arguments) {
    const Local a = arguments->first;
    Local b;
    if (arguments->rest) b = arguments->rest->first;
    switch (which) {
      case 0:
        return Number(a->number + b->number);
      case 1:
        return Number(a->number - b->number);
      case 2:
        return Number(a->number * b->number);
      case 3:
        return a->number == b->number ? a : Local();
      case 4:
        return Pair(a, b);
      case 5:
        return a->first;
      case 6:
        return a->rest;
      case 7:
        return a ? Local() : Number(1);
      default:
        return WithTable(which, a, b);
    }
  }

  // A thread that waits for a lock must let others collect meanwhile.
  Local WithTable(long which, Handle key, Handle value) {
    std::unique_lock<std::mutex> lock(table_mutex_, std::defer_lock);
    {
      const gc::NativeRegion native;
      lock.lock();
    }
    if (which == 8) return Put(table_.get(), key, value), value;
    const Local entry = Find(table_.get(), key->number);
    return entry ? Local(entry->rest) : Local();
  }

  std::string_view text_;
  int line_ = 1;
  std::map<std::string, size_t> symbols_;
  std::deque<gc::Global<Value>> globals_;  // by symbol; null for a symbol without a value
  std::mutex functions_mutex_;
  std::map<std::pair<std::string, int>, size_t> function_at_line_;
  std::deque<LispFunction> functions_;  // their addresses are their identities
  const bool marks_calls_;
  std::mutex table_mutex_;
  gc::Global<Table> table_;
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
    data->bytes[name.function] += estimate.bytes.value;  // all lines of it
    return std::nullopt;
  }
  Data* data;
};

// Runs the program on two threads.
void RunTwice(gc::Heap& heap, Lisp& lisp) {
  long results[2] = {};
  std::thread other([&] {
    const gc::Mutator inner(heap);
    results[1] = lisp.Call("main", Number(100))->number;
  });
  results[0] = lisp.Call("main", Number(0))->number;
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
  if (!allomon::Tracker::start(1e-2, LispProfile(&data)).ok()) Stop("no tracker");
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

int main(int argc, char** argv) {
  const bool profiles = argc == 2 && std::string_view(argv[1]) == "--profile";
  if (argc > 1 && !profiles) Stop("known is no option but --profile");
  auto heap = gc::Heap::Create();
  if (!heap.ok()) return fprintf(stderr, "%s\n", heap.status().ToString().c_str()), 1;
  const gc::Mutator mutator(**heap);
  Lisp lisp(profiles);
  if (!profiles) RegisterLisp();
  lisp.Load(kProgram.substr(1));
  profiles ? Profile(**heap, lisp) : Sample(**heap, lisp);
}
