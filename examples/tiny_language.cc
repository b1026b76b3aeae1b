// A small language on the managed heap, as a start for another one: functions that capture,
// records, numbers.  Each form is compiled to a C++ closure that pushes a value.
//
//   tiny_language examples/tiny_language.txt      prints the numbers that the program computes
//
// A ValueStack holds all values of a computation, so forms make no roots.  Numbers take no memory;
// a function object ends with its captured values (Trailing); a record has the layout that the
// program defines (Shape), which inline caches compare; compiled code is C++ memory (Untraced); a
// loop is a safepoint; endless recursion is an error of the program.  ALLOMON_HEAP=stress=1,verify
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
#include <utility>
#include <vector>

#include "runtime/heap.h"

namespace gc = allomon::gc;
using gc::Value;
using Slot = gc::StackSlot<Value>;

// Pushes one value.  The arguments of the function lie on the stack from `base` on, the function
// itself below them.
using Code = std::function<void(size_t base)>;

// A compiled function.  It is not a managed object: it lives as long as the program.
struct Function {
  Function* outer;
  std::vector<std::string> parameters;
  std::vector<std::string> captured;  // parameters of outer functions
  std::vector<Code> captures;         // each pushes one value, where the function is made
  Code body;
};
struct Closure {
  gc::Untraced<const Function*> function;
  gc::Trailing<Value> captured;
};
[[noreturn]] void Fail(const std::string& what) { throw std::runtime_error(what); }

// Returns the index of the name, or the number of names if it is not found.
size_t Find(const std::vector<std::string>& names, std::string_view name) {
  return static_cast<size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

class Interpreter {
 public:
  explicit Interpreter(std::string_view text) : text_(text) { Next(); }
  void Run() {
    while (!word_.empty()) {
      Form()(0);
      if (stack_.Top().is_number()) puts(Text(stack_.Top()).c_str());
      stack_.Resize(0);
    }
  }

 private:
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
  Code Form() { return Take("(") ? List() : Atom(Take()); }
  Code LastForm() {
    Code code = Form();
    if (!Take(")")) Fail("expected ), found " + Take());
    return code;
  }
  // Parses forms up to the end of a list; the value of the last one stays.
  Code Body() {
    Code code = Form();
    while (!Take(")")) {
      code = [this, code, next = Form()](size_t base) { code(base), stack_.Drop(), next(base); };
    }
    return code;
  }
  Code Constant(gc::Immediate value) {
    return [this, value](size_t) { stack_.Push(value); };
  }
  Code Atom(const std::string& word) {
    if (word == "null") return Constant(Value::Null());
    char* end = nullptr;
    const long whole = strtol(word.c_str(), &end, 10);
    if (*end == '\0') return Constant(Value::Number(whole));
    const double number = strtod(word.c_str(), &end);
    if (*end == '\0') return Constant(Value::Double(number));
    if (const Code argument = Argument(function_, word)) return argument;
    return [this, n = Global(word)](size_t) { stack_.Push(globals_[n]); };
  }
  size_t Global(const std::string& name) {
    const auto [at, is_new] = names_.try_emplace(name, globals_.size());
    if (is_new) globals_.Push(nullptr);
    return at->second;
  }
  // Pushes an argument of the function, or a value that it captures; returns nullptr for an unknown
  // name.
  Code Argument(Function* function, const std::string& name) {
    if (function == nullptr) return nullptr;
    if (const size_t n = Find(function->parameters, name); n < function->parameters.size()) {
      return [this, n](size_t base) { stack_.Push(stack_[base + n]); };
    }
    const size_t n = Find(function->captured, name);
    if (n == function->captured.size()) {
      const Code outer = Argument(function->outer, name);
      if (!outer) return nullptr;
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
      return [this, sign, a, b = LastForm()](size_t base) {
        a(base), b(base), Result(Compute(sign, stack_.Top(1), stack_.Top()));
      };
    }
    if (Take("if")) return If();
    if (Take("while")) return While();
    if (Take("fn")) return Inner();
    if (Take("record")) return RecordType(Take());
    if (Take("def")) {
      const size_t global = Global(Take());
      return Define(global, LastForm());
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
  Code Define(size_t global, const Code& value) {
    return [this, global, value](size_t base) { value(base), globals_[global] = stack_.Top(); };
  }
  Code If() {
    const Code test = Form();
    const Code yes = Form();
    const Code no = Take(")") ? Constant(Value::Null()) : LastForm();
    return [this, test, yes, no](size_t base) { Holds(test, base) ? yes(base) : no(base); };
  }
  Code While() {
    const Code condition = Form();
    return [this, condition, body = Body()](size_t base) {
      while (Holds(condition, base)) body(base), stack_.Drop(), gc::Safepoint();
      stack_.Push(nullptr);
    };
  }
  // Begins a function with the parameters up to the end of a list.
  void Begin() {
    function_ = &functions_.emplace_back(Function{function_, {}, {}, {}, {}});
    while (!Take(")")) function_->parameters.push_back(Take());
  }
  // Ends the function, and makes a closure of it.
  Code End() {
    Function* const function = std::exchange(function_, function_->outer);
    return [this, function](size_t base) {
      const size_t n = function->captures.size();
      for (const Code& capture : function->captures) capture(base);
      const auto made = gc::make_trailing<Closure>(n, function);
      for (size_t i = 0; i < n; ++i) made->captured.at(i) = stack_.Top(n - 1 - i);
      stack_.Drop(n);
      stack_.Push(made);
    };
  }
  Code Inner() {
    if (!Take("(")) Fail("fn has a list of parameters, not " + Take());
    Begin();
    function_->body = Body();
    return End();
  }
  // Binds the name of a record to a function that makes one.
  Code RecordType(const std::string& name) {
    Begin();
    const size_t n = function_->parameters.size();
    const auto& shape = gc::Shape::Define(name, std::vector(n, gc::Shape::kValue));
    records_[&shape] = function_;
    function_->body = [this, &shape, n](size_t base) {
      const gc::Local<gc::Shaped> object = gc::make_shaped(shape);
      for (size_t i = 0; i < n; ++i) object->unchecked_value(i) = stack_[base + i];
      stack_.Push(object);
    };
    return Define(Global(name), End());
  }

  // --- Running.
  bool Holds(const Code& condition, size_t base) {
    condition(base);
    const bool truth = stack_.Top().is_truthy();
    return stack_.Drop(), truth;
  }
  // Replaces the two uppermost values.
  template <typename V>
  void Result(const V& value) {
    stack_.Top(1) = value;
    stack_.Drop();
  }
  static gc::Immediate Compute(char sign, const Slot& a, const Slot& b) {
    const auto compute = [sign](auto x, auto y) {
      if (sign == '<') return Value::Bool(x < y);
      return Value::Number(sign == '+' ? x + y : sign == '-' ? x - y : x * y);
    };
    if (sign == '=') return Value::Bool(a == b);
    if (a.is_int() && b.is_int()) return compute(a.to_int(), b.to_int());
    if (a.is_number() && b.is_number()) return compute(a.to_number(), b.to_number());
    Fail("cannot compute with " + Text(a) + " and " + Text(b));
  }

  struct Cache {
    std::string field;
    const gc::Shape* shape = nullptr;  // shape of the last record
    size_t index = 0;                  // index of the field in it
  };
  // The result is valid while it is on the native stack: the object that it points into does not
  // move.
  gc::Field<Value>& Field(const Slot& object, Cache& cache) {
    if (cache.shape == nullptr || !object.is_shaped(*cache.shape)) {
      if (!object.is<gc::Shaped>()) Fail(Text(object) + " is no record");
      cache.shape = &object.peek<gc::Shaped>()->shape();
      const auto& fields = records_[cache.shape]->parameters;
      cache.index = Find(fields, cache.field);
      if (cache.index == fields.size()) Fail(Text(object) + " has no field " + cache.field);
    }
    return object.peek<gc::Shaped>()->unchecked_value(cache.index);
  }

  // The arguments are the values from `base` on, the function below them.
  void Call(size_t base) {
    const Slot& callee = stack_[base - 1];
    if (!callee.is<Closure>()) Fail(Text(callee) + " is no function");
    const Function& function = *callee.peek<Closure>()->function;
    if (function.parameters.size() != stack_.size() - base) Fail("a wrong number of arguments");
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
  std::deque<Function> functions_ = {Function()};
  Function* function_ = &functions_.front();             // the function being compiled
  std::map<const gc::Shape*, const Function*> records_;  // their makers have the fields' names
  std::map<std::string, size_t> names_;                  // names of globals
  gc::ValueStack<Value> globals_;
  gc::ValueStack<Value> stack_{10000};  // values at most: C++ recurses with the program
};

int main(int argc, char** argv) {
  std::ifstream file(argc == 2 ? argv[1] : "");
  if (!file) return fputs("usage: tiny_language FILE\n", stderr), 1;
  const std::string text(std::istreambuf_iterator<char>(file), {});
  try {
    const auto heap = gc::Heap::Create().value();
    const gc::Mutator mutator(*heap);
    Interpreter(text).Run();
  } catch (const std::exception& error) {
    return fprintf(stderr, "tiny_language: %s\n", error.what()), 1;
  }
}
