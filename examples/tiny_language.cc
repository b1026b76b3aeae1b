// A small language on the managed heap, to start another one from: functions that capture, records,
// numbers.  Each form is compiled to a C++ closure that pushes a value.
//
//   tiny_language [FILE]      runs the program below, or that one; prints the numbers it gives
//
// A ValueStack holds all that a program computes with, so forms make no roots.  Numbers take no
// memory; a function has its captured values behind it (Trailing); a record is laid out as the
// program says (Shape), which inline caches compare; compiled code is C++ memory (Untraced); a loop
// is a safepoint; recursion without end is an error of the program.  ALLOMON_HEAP=stress=1,verify
// moves every object at every allocation.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/heap.h"

namespace gc = allomon::gc;
using gc::Value;

constexpr std::string_view kProgram = R"(
(record point x y)
(record cell head tail)
(def range (fn (n list) (if (= n 0) list (range (- n 1) (cell n list)))))
(def map (fn (f list) (if list (cell (f (get head list)) (map f (get tail list))))))
(def sum (fn (list) (if list (+ (get head list) (sum (get tail list))) 0)))
(def fib (fn (n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))))
(def add (fn (n) (fn (x) (+ x n))))            ; functions capture values, not variables
(sum (map (add 10) (range 1000 null)))
(fib 24)
(let p (point 0 0.5)
  (while (< (get x p) 100000) (put x p (+ (get x p) 1)))
  (* (get x p) (get y p)))
)";

// Pushes one value.  The locals of the function lie on the stack from `base` on, the function
// itself below them.
using Code = std::function<void(size_t base)>;

// A compiled function.  It is no managed object: it lives as long as the program.
struct Function {
  Function* outer;
  std::vector<std::string> locals;    // the parameters first; "" for a value without a name
  std::vector<std::string> captured;  // names of outer locals
  std::vector<Code> captures;         // each pushes one, where the function is made
  size_t n_parameters;
  Code body;
};
struct Closure {
  gc::Untraced<const Function*> function;
  gc::Trailing<Value> captured;
};
[[noreturn]] void Fail(const std::string& what) { throw std::runtime_error(what); }

// The place of the last such name.
constexpr size_t kNone = SIZE_MAX;
size_t Find(const std::vector<std::string>& names, std::string_view name) {
  const auto at = std::find(names.rbegin(), names.rend(), name);
  return static_cast<size_t>(names.rend() - at) - 1;
}

class Interpreter {
 public:
  explicit Interpreter(std::string_view text) : text_(text) { Next(); }
  void Run() {
    Begin();
    while (!word_.empty()) {
      Form()(0);
      if (stack_.Top().is_number()) puts(Text(stack_.Top()).c_str());
      stack_.Resize(0);
      function_->locals.clear();
    }
  }

 private:
  using Slot = gc::StackSlot<Value>;

  // --- Reading.
  void Next() {
    text_.remove_prefix(std::min(text_.find_first_not_of(" \n"), text_.size()));
    if (text_.substr(0, 1) == ";") {
      text_.remove_prefix(std::min(text_.find('\n'), text_.size()));
      return Next();
    }
    word_ = text_.substr(0, std::max<size_t>(text_.find_first_of(" \n()"), 1));
    text_.remove_prefix(word_.size());
  }
  std::string Take() {
    const std::string word(word_);
    if (word.empty()) Fail("the program ends within a form");
    return Next(), word;
  }
  bool Take(std::string_view word) { return word_ == word && !Take().empty(); }

  // --- Compiling.
  Code Form() {
    const size_t depth = function_->locals.size();
    Code code = Take("(") ? List() : Atom(Take());
    function_->locals.resize(depth);
    function_->locals.push_back("");  // the form's value
    return code;
  }
  Code LastForm() {
    Code code = Form();
    if (!Take(")")) Fail("expected ), found " + Take());
    return code;
  }
  // Forms up to the end of a list, of which the last one's value stays.
  Code Body() {
    Code code = Form();
    while (!Take(")")) {
      function_->locals.pop_back();
      code = [this, code, next = Form()](size_t base) { code(base), stack_.Drop(), next(base); };
    }
    return code;
  }
  template <typename V>
  Code Constant(const V& value) {
    constants_.Push(value);
    return [this, n = constants_.size() - 1](size_t) { stack_.Push(constants_[n]); };
  }
  Code Atom(const std::string& word) {
    if (word == "null") return Constant(Value::Null());
    char* end = nullptr;
    const long whole = strtol(word.c_str(), &end, 10);
    if (*end == '\0') return Constant(Value::Number(whole));
    const double number = strtod(word.c_str(), &end);
    if (*end == '\0') return Constant(Value::Double(number));
    if (const Code local = Local(function_, word)) return local;
    return [this, n = Global(word)](size_t) { stack_.Push(globals_[n]); };
  }
  size_t Global(const std::string& name) {
    const auto [at, is_new] = names_.try_emplace(name, globals_.size());
    if (is_new) globals_.Push(nullptr);
    return at->second;
  }
  // Pushes a local of the function, or one that it captures; nullptr: there is none of that name.
  Code Local(Function* function, const std::string& name) {
    if (function == nullptr) return nullptr;
    if (const size_t n = Find(function->locals, name); n != kNone) {
      return [this, n](size_t base) { stack_.Push(stack_[base + n]); };
    }
    size_t n = Find(function->captured, name);
    if (n == kNone) {
      const Code outer = Local(function->outer, name);
      if (!outer) return nullptr;
      n = function->captures.size();
      function->captures.push_back(outer);
      function->captured.push_back(name);
    }
    return
        [this, n](size_t base) { stack_.Push(stack_[base - 1].peek<Closure>()->captured.at(n)); };
  }

  Code List() {
    if (word_ == "+" || word_ == "-" || word_ == "*" || word_ == "<" || word_ == "=") {
      const char sign = Take()[0];
      const Code a = Form();
      return [this, sign, a, b = LastForm()](size_t base) { a(base), b(base), Compute(sign); };
    }
    if (Take("if")) return If();
    if (Take("while")) return While();
    if (Take("fn")) return Inner();
    if (Take("record")) return RecordType(Take());
    if (Take("let")) {
      const std::string name = Take();
      const Code value = Form();
      function_->locals.back() = name;
      return [this, value, b = Body()](size_t base) { value(base), b(base), Result(stack_.Top()); };
    }
    if (Take("def")) {
      const size_t n = Global(Take());
      return
          [this, n, value = LastForm()](size_t base) { value(base), globals_[n] = stack_.Top(); };
    }
    if (Take("get")) {
      return [this, cache = Cache{Take()}, object = LastForm()](size_t base) mutable {
        object(base), stack_.Top() = Field(stack_.Top(), cache);
      };
    }
    if (Take("put")) {
      Cache cache{Take()};
      const Code object = Form();
      return [this, cache, object, value = LastForm()](size_t base) mutable {
        object(base), value(base), Field(stack_.Top(1), cache) = stack_.Top(), Result(stack_.Top());
      };
    }
    std::vector<Code> forms = {Form()};
    while (!Take(")")) forms.push_back(Form());
    return [this, forms](size_t base) {
      for (const Code& form : forms) form(base);
      Call(stack_.size() - forms.size() + 1);
    };
  }
  std::function<bool(size_t base)> Condition() {
    const Code form = Form();
    function_->locals.pop_back();
    return [this, form](size_t base) {
      form(base);
      const bool truth = stack_.Top().is_truthy();
      return stack_.Drop(), truth;
    };
  }
  Code If() {
    const auto condition = Condition();
    const Code yes = Form();
    function_->locals.pop_back();
    const Code no = Take(")") ? Constant(Value::Null()) : LastForm();
    return [condition, yes, no](size_t base) { condition(base) ? yes(base) : no(base); };
  }
  Code While() {
    const auto condition = Condition();
    return [this, condition, body = Body()](size_t base) {
      while (condition(base)) body(base), stack_.Drop(), gc::Safepoint();
      stack_.Push(nullptr);
    };
  }
  // The name of a record is bound to a function that makes one.
  Code RecordType(const std::string& name) {
    Function* const maker = Begin();
    function_ = maker->outer;
    while (!Take(")")) maker->locals.push_back(Take());
    const size_t n = maker->n_parameters = maker->locals.size();
    const auto& shape = gc::Shape::Define(name, std::vector(n, gc::Shape::kValue));
    records_[&shape] = maker;
    maker->body = [this, &shape, n](size_t base) {
      const gc::Local<gc::Shaped> object = gc::make_shaped(shape);
      for (size_t i = 0; i < n; ++i) object->unchecked_value(i) = stack_[base + i];
      stack_.Push(object);
    };
    return [this, maker, name = Global(name)](size_t) {
      stack_.Push(gc::make_trailing<Closure>(0, maker));
      globals_[name] = stack_.Top();
    };
  }
  Function* Begin() {
    functions_.push_back({function_, {}, {}, {}, 0, {}});
    return function_ = &functions_.back();
  }
  Code Inner() {
    Function* const function = Begin();
    if (!Take("(")) Fail("fn has a list of parameters, not " + Take());
    while (!Take(")")) function->locals.push_back(Take());
    function->n_parameters = function->locals.size();
    function->body = Body();
    function_ = function->outer;
    return [this, function](size_t base) {
      const size_t n = function->captures.size();
      for (const Code& capture : function->captures) capture(base);
      const auto made = gc::make_trailing<Closure>(n, function);
      for (size_t i = 0; i < n; ++i) made->captured.at(i) = stack_.Top(n - 1 - i);
      stack_.Drop(n);
      stack_.Push(made);
    };
  }

  // --- Running.
  // Takes the place of the two uppermost values.
  template <typename V>
  void Result(const V& value) {
    stack_.Top(1) = value;
    stack_.Drop();
  }
  void Compute(char sign) {
    const Slot& a = stack_.Top(1);
    const Slot& b = stack_.Top();
    const auto compute = [sign](auto x, auto y) {
      if (sign == '<') return Value::Bool(x < y);
      return Value::Number(sign == '+' ? x + y : sign == '-' ? x - y : x * y);
    };
    if (sign == '=') return Result(Value::Bool(a == b));
    if (a.is_int() && b.is_int()) return Result(compute(a.to_int(), b.to_int()));
    if (a.is_number() && b.is_number()) return Result(compute(a.to_number(), b.to_number()));
    Fail("cannot compute with " + Text(a) + " and " + Text(b));
  }

  struct Cache {
    std::string field;
    const gc::Shape* shape = nullptr;  // of the last record
    size_t index = 0;                  // of the field in it
  };
  // Valid until the next allocation.
  gc::Field<Value>& Field(const Slot& object, Cache& cache) {
    if (cache.shape == nullptr || !object.is_shaped(*cache.shape)) {
      if (!object.is<gc::Shaped>()) Fail(Text(object) + " is no record");
      cache.shape = &object.peek<gc::Shaped>()->shape();
      cache.index = Find(records_[cache.shape]->locals, cache.field);
      if (cache.index == kNone) Fail(Text(object) + " has no field " + cache.field);
    }
    return object.peek<gc::Shaped>()->unchecked_value(cache.index);
  }

  // The arguments are the values from `base` on, the function below them.
  void Call(size_t base) {
    const Slot& callee = stack_[base - 1];
    if (!callee.is<Closure>()) Fail(Text(callee) + " is no function");
    const Function& function = *callee.peek<Closure>()->function;
    if (function.n_parameters != stack_.size() - base) Fail("a wrong number of arguments");
    function.body(base);
    stack_[base - 1] = stack_.Top();
    stack_.Resize(base);
  }
  static std::string Text(const Slot& value) {
    if (value.is_int()) return std::to_string(value.to_int());
    if (value.is_double()) return std::to_string(value.to_double());
    return value.type_name();
  }

  std::string_view text_;
  std::string_view word_;
  Function* function_ = nullptr;  // that is compiled
  std::deque<Function> functions_;
  std::map<const gc::Shape*, const Function*> records_;  // their makers have the fields' names
  std::map<std::string, size_t> names_;                  // of globals
  gc::ValueStack<Value> globals_;
  gc::ValueStack<Value> constants_;
  gc::ValueStack<Value> stack_{10000};  // values at most: C++ recurses with the program
};

int main(int argc, char** argv) {
  auto heap = gc::Heap::Create();
  if (!heap.ok()) return fprintf(stderr, "%s\n", heap.status().ToString().c_str()), 1;
  const gc::Mutator mutator(**heap);
  std::ifstream file(argc > 1 ? argv[1] : "");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  try {
    Interpreter(argc > 1 ? std::string_view(text) : kProgram).Run();
  } catch (const std::exception& error) {
    return fprintf(stderr, "tiny_language: %s\n", error.what()), 1;
  }
}
