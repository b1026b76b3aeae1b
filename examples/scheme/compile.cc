// Compiles forms: expands hygienic macros to a tree, finds the variables of closures, writes code.
#include <algorithm>
#include <deque>
#include <utility>

#include "examples/scheme/instructions.h"
#include "examples/scheme/scheme.h"

namespace scheme {

// A pattern language of syntax-rules, in the scope in which it was defined.
struct Macro {
  Scope* scope;
  size_t rules;  // constants of the machine
  size_t literals;
  uint64_t ellipsis;  // identifier
};

namespace {

struct Function;

struct Variable {
  std::string name;
  Function* owner = nullptr;
  bool assigned = false;  // by set!
  bool boxed = false;
  bool ready = true;  // its value is there before closures can capture it
  int group = 0;      // of lambdas that are defined next to each other
  int slot = 0;
  // A loop: calls jump there.
  int start = -1;
};

struct Bound {
  uint64_t id;
  Variable* variable;
  Macro* macro;
};
}  // namespace

struct Scope {
  Scope* parent;
  std::vector<Bound> names;
};

namespace {

// The meaning of an identifier: one of these.
struct Meaning {
  Variable* variable = nullptr;
  Macro* macro = nullptr;
  Name* name = nullptr;
  bool operator==(const Meaning& other) const {
    return variable == other.variable && macro == other.macro && name == other.name;
  }
};

struct Node {
  enum Kind {
    kConstant,
    kInteger,
    kLocal,
    kGlobal,
    kSetLocal,
    kSetGlobal,
    kDefine,
    kIf,
    kOr,
    kSequence,
    kLambda,
    kCall,
    kLet,        // values of the variables, and then the body
    kRecursive,  // items in turn, each of a variable or null; the last is the body
    kLoop        // kLet; a call of `variable` begins its body anew
  };
  Kind kind;
  int line;
  int64_t number = 0;  // an integer, or the number of a constant
  Variable* variable = nullptr;
  Name* name = nullptr;
  Function* function = nullptr;
  std::vector<Variable*> variables;
  std::vector<Node*> kids;
};

struct Function {
  std::string name;
  int line = 0;
  std::vector<Variable*> params;
  bool rest = false;
  Node* body = nullptr;
  Function* parent = nullptr;
  std::vector<Variable*> free;
  int group = 0;
};

enum Form {
  kNoForm,
  kQuote,
  kQuasiquote,
  kLambdaForm,
  kDefineForm,
  kSet,
  kIfForm,
  kBegin,
  kLetForm,
  kLetStar,
  kLetrec,
  kDo,
  kCond,
  kCase,
  kAnd,
  kOrForm,
  kWhen,
  kUnless,
  kDefineSyntax,
  kLetSyntax,
  kDefineRecord,
  kImport
};
constexpr std::pair<const char*, Form> kForms[] = {{"quote", kQuote},
                                                   {"quasiquote", kQuasiquote},
                                                   {"lambda", kLambdaForm},
                                                   {"define", kDefineForm},
                                                   {"set!", kSet},
                                                   {"if", kIfForm},
                                                   {"begin", kBegin},
                                                   {"let", kLetForm},
                                                   {"let*", kLetStar},
                                                   {"letrec", kLetrec},
                                                   {"letrec*", kLetrec},
                                                   {"do", kDo},
                                                   {"cond", kCond},
                                                   {"case", kCase},
                                                   {"and", kAnd},
                                                   {"or", kOrForm},
                                                   {"when", kWhen},
                                                   {"unless", kUnless},
                                                   {"define-syntax", kDefineSyntax},
                                                   {"let-syntax", kLetSyntax},
                                                   {"letrec-syntax", kLetSyntax},
                                                   {"define-record-type", kDefineRecord},
                                                   {"import", kImport}};

// Identifiers of aliases; those of symbols are their numbers.
uint64_t next_alias = uint64_t{1} << 32;
// Macros of the top level live as long as the process.
std::deque<Macro> all_macros;

bool IsIdentifier(Handle v) { return v.is<Symbol>() || v.is<Alias>(); }
uint64_t IdOf(Handle v) {
  return v.is<Symbol>() ? v.peek<Symbol>()->name->number : v.peek<Alias>()->id;
}
Name* NameOf(Handle identifier) {
  Local v = identifier;
  while (v.is<Alias>()) v = v.peek<Alias>()->name;
  return v.peek<Symbol>()->name;
}

// The match of a pattern variable: a value, or another match for each repetition.
struct Match {
  uint64_t id = 0;
  size_t value = 0;  // on the stack of matched values
  std::vector<std::vector<Match>> each;
  bool repeats = false;
};
using Matches = std::vector<Match>;

// --- Forms to trees.
class Expander {
 public:
  Expander(Machine& machine, const std::string* file) : machine_(machine), file_(file) {}

  Function* Toplevel(Handle form) {
    Function* const function = &functions_.emplace_back();
    function->name = "(program)";
    function->line = LineOf(form);
    line_ = function->line;
    function->body = ExpandToplevel(form);
    return function;
  }

 private:
  [[noreturn]] void Bad(const std::string& what, Handle form) {
    std::string text;
    Write(text, Strip(form), false);
    if (text.size() > 100) text = text.substr(0, 97) + "...";
    throw Fatal(std::to_string(line_) + ": " + what + ": " + text);
  }
  int LineOf(Handle form) const {
    if (!form.is<Pair>()) return line_;
    const auto at = machine_.lines.find(gc::identity_hash(form));
    return at == machine_.lines.end() ? line_ : at->second;
  }
  Node* New(Node::Kind kind, std::vector<Node*> kids = {}) {
    Node* const node = &nodes_.emplace_back();
    node->kind = kind;
    node->line = line_;
    node->kids = std::move(kids);
    return node;
  }
  Node* Constant(Handle value) {
    if (value.is_int() && value.to_int() == static_cast<int32_t>(value.to_int())) {
      Node* const node = New(Node::kInteger);
      return node->number = value.to_int(), node;
    }
    Node* const node = New(Node::kConstant);
    return node->number = static_cast<int64_t>(machine_.AddConstant(value)), node;
  }
  Node* Reference(Variable* variable) {
    Node* const node = New(Node::kLocal);
    return node->variable = variable, node;
  }
  Node* Global(const char* name) {
    Node* const node = New(Node::kGlobal);
    return node->name = machine_.Intern(name), node;
  }
  Variable* Bind(Scope* scope, Handle identifier) {
    if (!IsIdentifier(identifier)) Bad("here must be a name", identifier);
    Variable* const variable = &variables_.emplace_back();
    variable->name = NameOf(identifier)->text;
    scope->names.push_back({IdOf(identifier), variable, nullptr});
    return variable;
  }
  Variable* Temporary() { return &variables_.emplace_back(); }
  Scope* NewScope(Scope* parent) { return &scopes_.emplace_back(Scope{parent, {}}); }

  static const Bound* FindIn(const Scope* scope, uint64_t id) {
    for (; scope != nullptr; scope = scope->parent) {
      for (auto at = scope->names.rbegin(); at != scope->names.rend(); ++at) {
        if (at->id == id) return &*at;
      }
    }
    return nullptr;
  }
  static Meaning MeaningOf(Handle identifier, const Scope* scope) {
    Local v = identifier;
    for (;;) {
      if (const Bound* const bound = FindIn(scope, IdOf(v))) return {bound->variable, bound->macro};
      if (v.is<Symbol>()) break;
      scope = v.peek<Alias>()->scope;
      v = v.peek<Alias>()->name;
    }
    Name* const name = v.peek<Symbol>()->name;
    return {nullptr, name->macro, name};
  }
  // Whether it is an identifier with the meaning of the global name.
  bool Is(Handle v, const char* name, const Scope* scope) {
    return IsIdentifier(v) &&
           MeaningOf(v, scope) == Meaning{nullptr, nullptr, machine_.Intern(name)};
  }
  Form FormOf(Handle v, const Scope* scope) {
    if (!IsIdentifier(v)) return kNoForm;
    const Meaning meaning = MeaningOf(v, scope);
    return meaning.name == nullptr ? kNoForm : static_cast<Form>(meaning.name->form);
  }
  Macro* MacroOf(Handle form, const Scope* scope) {
    const bool is_use = form.is<Pair>() && IsIdentifier(Car(form));
    return is_use ? MeaningOf(Car(form), scope).macro : nullptr;
  }

  Local Strip(Handle v) {
    CheckNativeStack();
    if (v.is<Alias>()) return machine_.SymbolOf(NameOf(v));
    if (v.is<Pair>()) {
      const Local car = Strip(Car(v));
      const Local cdr = Strip(Cdr(v));
      return car == Car(v) && cdr == Cdr(v) ? Local(v) : Cons(car, cdr);
    }
    if (v.is<Vector>()) {
      const gc::Local<Vector> vector = v.cast<Vector>();
      for (size_t i = 0; i < vector->length(); ++i) vector->at(i) = Strip(vector->at(i));
    }
    return v;
  }

  // The parts of a form.  The head is the first.
  std::vector<Local> Parts(Handle form, size_t least, size_t most = SIZE_MAX) {
    std::vector<Local> parts;
    Local l = form;
    for (; l.is<Pair>(); l = Cdr(l)) parts.push_back(Car(l));
    if (!l.is_null() || parts.size() < least || parts.size() > most) Bad("bad syntax", form);
    return parts;
  }
  Local Tail(Handle list, size_t n) {
    Local l = list;
    while (n-- > 0) l = l.is<Pair>() ? Cdr(l) : Local();
    return l;
  }

  // --- Expressions.
  Node* Expand(Handle x, Scope* scope, const std::string& name = "") {
    CheckNativeStack();
    if (IsIdentifier(x)) return ExpandIdentifier(x, scope);
    if (x.is_null()) Bad("an empty list is no expression; a quote is missing", x);
    if (!x.is<Pair>()) return Constant(x);
    const int line = std::exchange(line_, LineOf(x));
    Node* const node = ExpandForm(x, scope, name);
    line_ = line;
    return node;
  }
  Node* ExpandIdentifier(Handle x, Scope* scope) {
    const Meaning meaning = MeaningOf(x, scope);
    if (meaning.variable != nullptr) return Reference(meaning.variable);
    if (meaning.macro != nullptr || meaning.name->form != kNoForm) Bad("this is no variable", x);
    Node* const node = New(Node::kGlobal);
    return node->name = meaning.name, node;
  }
  Node* ExpandForm(Handle x, Scope* scope, const std::string& name) {
    if (const Macro* const macro = MacroOf(x, scope)) {
      return Expand(Apply(*macro, x, scope), scope, name);
    }
    switch (FormOf(Car(x), scope)) {
      case kNoForm:
        return ExpandCall(x, scope);
      case kQuote:
        return Constant(Strip(Parts(x, 2, 2)[1]));
      case kQuasiquote:
        return Quasi(Parts(x, 2, 2)[1], scope, 1);
      case kLambdaForm:
        return Lambda(Parts(x, 3)[1], Tail(x, 2), scope, name.empty() ? "lambda" : name);
      case kSet:
        return Set(Parts(x, 3, 3), scope);
      case kIfForm: {
        const auto parts = Parts(x, 3, 4);
        Node* const test = Expand(parts[1], scope);
        Node* const yes = Expand(parts[2], scope);
        return New(Node::kIf, {test, yes, parts.size() == 4 ? Expand(parts[3], scope) : Nothing()});
      }
      case kBegin:
        return Parts(x, 1).size() == 1 ? Nothing() : Sequence(Cdr(x), scope);
      case kLetForm:
        return IsIdentifier(Parts(x, 3)[1]) ? NamedLet(x, scope) : Let(x, scope);
      case kLetStar: {
        const auto parts = Parts(x, 3);
        return LetStar(parts[1], Tail(x, 2), scope);
      }
      case kLetrec:
        return Letrec(x, scope);
      case kDo:
        return Do(x, scope);
      case kCond:
        return Cond(Cdr(x), scope);
      case kCase:
        return Case(x, scope);
      case kAnd:
        return And(Cdr(x), scope);
      case kOrForm:
        return Or(Cdr(x), scope);
      case kWhen:
      case kUnless: {
        const bool when = FormOf(Car(x), scope) == kWhen;
        Node* const test = Expand(Parts(x, 3)[1], scope);
        Node* const body = Sequence(Tail(x, 2), scope);
        return when ? New(Node::kIf, {test, body, Nothing()})
                    : New(Node::kIf, {test, Nothing(), body});
      }
      case kLetSyntax: {
        Scope* const inner = NewScope(scope);
        for (const Local& binding : Parts(Parts(x, 3)[1], 0))
          DefineSyntax(Parts(binding, 2, 2), inner, 0);
        return Body(Tail(x, 2), inner);
      }
      case kDefineForm:
      case kDefineSyntax:
      case kDefineRecord:
        Bad("a definition is no expression", x);
      case kImport:
        return Nothing();
    }
    return nullptr;
  }
  Node* Nothing() { return Constant(kUnspecified); }

  Node* ExpandCall(Handle x, Scope* scope) {
    std::vector<Node*> kids;
    for (const Local& part : Parts(x, 1)) kids.push_back(Expand(part, scope));
    Node* const callee = kids[0];
    if (callee->kind != Node::kLambda || callee->function->rest ||
        callee->function->params.size() != kids.size() - 1) {
      return New(Node::kCall, kids);
    }
    kids.erase(kids.begin());
    return LetNode(callee->function->params, std::move(kids), callee->function->body);
  }
  Node* LetNode(std::vector<Variable*> variables, std::vector<Node*> values, Node* body) {
    values.push_back(body);
    Node* const node = New(Node::kLet, std::move(values));
    return node->variables = std::move(variables), node;
  }
  Node* Set(const std::vector<Local>& parts, Scope* scope) {
    if (!IsIdentifier(parts[1])) Bad("set! changes a variable, not this", parts[1]);
    const Meaning meaning = MeaningOf(parts[1], scope);
    if (meaning.macro != nullptr) Bad("this is no variable", parts[1]);
    Node* const node = New(meaning.variable != nullptr ? Node::kSetLocal : Node::kSetGlobal,
                           {Expand(parts[2], scope)});
    if (meaning.variable != nullptr) meaning.variable->assigned = true;
    if (meaning.name != nullptr) machine_.Define(meaning.name);
    node->variable = meaning.variable;
    node->name = meaning.name;
    return node;
  }
  Node* Sequence(Handle forms, Scope* scope) {
    std::vector<Node*> kids;
    for (const Local& part : Parts(forms, 1)) kids.push_back(Expand(part, scope));
    return kids.size() == 1 ? kids[0] : New(Node::kSequence, kids);
  }
  Node* Lambda(Handle params, Handle body, Scope* scope, const std::string& name) {
    Function* const function = &functions_.emplace_back();
    Scope* const inner = NewScope(scope);
    Local p = params;
    for (; p.is<Pair>(); p = Cdr(p)) function->params.push_back(Bind(inner, Car(p)));
    function->rest = !p.is_null();
    if (function->rest) function->params.push_back(Bind(inner, p));
    function->name = name;
    function->line = line_;
    Node* const node = New(Node::kLambda);
    node->function = function;
    function->body = Body(body, inner);
    return node;
  }
  Node* And(Handle forms, Scope* scope) {
    if (forms.is_null()) return Constant(Value::Bool(true));
    Node* const first = Expand(Car(forms), scope);
    if (Cdr(forms).is_null()) return first;
    Node* const rest = And(Cdr(forms), scope);
    return New(Node::kIf, {first, rest, Constant(kFalse)});
  }
  Node* Or(Handle forms, Scope* scope) {
    if (forms.is_null()) return Constant(kFalse);
    Node* const first = Expand(Car(forms), scope);
    return Cdr(forms).is_null() ? first : New(Node::kOr, {first, Or(Cdr(forms), scope)});
  }
  Node* Cond(Handle clauses, Scope* scope) {
    if (clauses.is_null()) return Nothing();
    const Local clause = Car(clauses);
    const std::vector<Local> parts = Parts(clause, 1);
    if (Is(parts[0], "else", scope)) return Sequence(Cdr(clause), scope);
    Node* const test = Expand(parts[0], scope);
    if (parts.size() == 1) return New(Node::kOr, {test, Cond(Cdr(clauses), scope)});
    if (parts.size() == 3 && Is(parts[1], "=>", scope)) {
      Variable* const value = Temporary();
      Node* const call = New(Node::kCall, {Expand(parts[2], scope), Reference(value)});
      return LetNode({value}, {test},
                     New(Node::kIf, {Reference(value), call, Cond(Cdr(clauses), scope)}));
    }
    Node* const body = Sequence(Cdr(clause), scope);
    return New(Node::kIf, {test, body, Cond(Cdr(clauses), scope)});
  }
  Node* Case(Handle x, Scope* scope) {
    const auto parts = Parts(x, 2);
    Variable* const key = Temporary();
    Node* result = Nothing();
    for (size_t i = parts.size(); i-- > 2;) {
      const auto clause = Parts(parts[i], 2);
      const bool calls = Is(clause[1], "=>", scope);
      Node* const body = calls ? New(Node::kCall, {Expand(clause[2], scope), Reference(key)})
                               : Sequence(Cdr(parts[i]), scope);
      if (Is(clause[0], "else", scope)) {
        result = body;
        continue;
      }
      Node* test = Constant(kFalse);
      const auto data = Parts(clause[0], 0);
      for (size_t k = data.size(); k-- > 0;) {
        Node* const same =
            New(Node::kCall, {Global("eqv?"), Reference(key), Constant(Strip(data[k]))});
        test = k + 1 == data.size() ? same : New(Node::kOr, {same, test});
      }
      result = New(Node::kIf, {test, body, result});
    }
    return LetNode({key}, {Expand(parts[1], scope)}, result);
  }
  Node* Quasi(Handle x, Scope* scope, int depth) {
    if (x.is<Vector>()) {
      Local list;
      const gc::Local<Vector> vector = x.cast<Vector>();
      for (size_t i = vector->length(); i-- > 0;) list = Cons(vector->at(i), list);
      return New(Node::kCall, {Global("list->vector"), Quasi(list, scope, depth)});
    }
    if (!x.is<Pair>()) return Constant(Strip(x));
    const bool unquotes = Is(Car(x), "unquote", scope);
    if (unquotes && depth == 1) return Expand(Parts(x, 2, 2)[1], scope);
    if (unquotes || FormOf(Car(x), scope) == kQuasiquote) {
      Node* const inner = Quasi(Cdr(x), scope, depth + (unquotes ? -1 : 1));
      return New(Node::kCall, {Global("cons"), Constant(Strip(Car(x))), inner});
    }
    const Local item = Car(x);
    if (depth == 1 && item.is<Pair>() && Is(Car(item), "unquote-splicing", scope)) {
      Node* const list = Expand(Parts(item, 2, 2)[1], scope);
      if (Cdr(x).is_null()) return list;
      return New(Node::kCall, {Global("append"), list, Quasi(Cdr(x), scope, depth)});
    }
    Node* const first = Quasi(item, scope, depth);
    Node* const rest = Quasi(Cdr(x), scope, depth);
    if (first->kind == Node::kConstant && rest->kind == Node::kConstant) return Constant(Strip(x));
    return New(Node::kCall, {Global("cons"), first, rest});
  }

  // --- Bindings.
  Node* Let(Handle x, Scope* scope) {
    Scope* const inner = NewScope(scope);
    std::vector<Variable*> variables;
    std::vector<Node*> values;
    for (const Local& binding : Parts(Parts(x, 3)[1], 0)) {
      const auto pair = Parts(binding, 2, 2);
      values.push_back(Expand(pair[1], scope, IsIdentifier(pair[0]) ? NameOf(pair[0])->text : ""));
      variables.push_back(Bind(inner, pair[0]));
    }
    return LetNode(std::move(variables), std::move(values), Body(Tail(x, 2), inner));
  }
  Node* LetStar(Handle bindings, Handle body, Scope* scope) {
    if (bindings.is_null()) return Body(body, scope);
    const auto pair = Parts(Car(bindings), 2, 2);
    Node* const value = Expand(pair[1], scope);
    Scope* const inner = NewScope(scope);
    Variable* const variable = Bind(inner, pair[0]);
    return LetNode({variable}, {value}, LetStar(Cdr(bindings), body, inner));
  }
  Node* Letrec(Handle x, Scope* scope) {
    Scope* const inner = NewScope(scope);
    Node* const node = New(Node::kRecursive);
    const auto bindings = Parts(Parts(x, 3)[1], 0);
    for (const Local& binding : bindings)
      node->variables.push_back(Bind(inner, Parts(binding, 2, 2)[0]));
    for (size_t i = 0; i < bindings.size(); ++i) {
      node->kids.push_back(Expand(Car(Cdr(bindings[i])), inner, node->variables[i]->name));
    }
    node->kids.push_back(Body(Tail(x, 2), inner));
    return node;
  }
  Node* NamedLet(Handle x, Scope* scope) {
    const auto parts = Parts(x, 4);
    Scope* const outer = NewScope(scope);
    Variable* const loop = Bind(outer, parts[1]);
    Scope* const inner = NewScope(outer);
    std::vector<Variable*> variables;
    std::vector<Node*> values;
    for (const Local& binding : Parts(parts[2], 0)) {
      const auto pair = Parts(binding, 2, 2);
      values.push_back(Expand(pair[1], scope));
      variables.push_back(Bind(inner, pair[0]));
    }
    return Loop(loop, std::move(variables), std::move(values), Body(Tail(x, 3), inner));
  }
  Node* Do(Handle x, Scope* scope) {
    const auto parts = Parts(x, 3);
    Scope* const inner = NewScope(scope);
    Variable* const loop = Temporary();
    loop->name = "do";
    std::vector<Variable*> variables;
    std::vector<Node*> values;
    const auto bindings = Parts(parts[1], 0);
    for (const Local& binding : bindings) {
      const auto items = Parts(binding, 2, 3);
      values.push_back(Expand(items[1], scope));
      variables.push_back(Bind(inner, items[0]));
    }
    std::vector<Node*> next = {Reference(loop)};
    for (size_t i = 0; i < bindings.size(); ++i) {
      const auto items = Parts(bindings[i], 2, 3);
      next.push_back(items.size() == 3 ? Expand(items[2], inner) : Reference(variables[i]));
    }
    Node* const test = Expand(Parts(parts[2], 1)[0], inner);
    Node* const result = Cdr(parts[2]).is_null() ? Nothing() : Sequence(Cdr(parts[2]), inner);
    std::vector<Node*> steps;
    for (size_t i = 3; i < parts.size(); ++i) steps.push_back(Expand(parts[i], inner));
    steps.push_back(New(Node::kCall, next));
    Node* const step = New(Node::kSequence, steps);
    return Loop(loop, std::move(variables), std::move(values),
                New(Node::kIf, {test, result, step}));
  }
  Node* Loop(Variable* loop, std::vector<Variable*> variables, std::vector<Node*> values,
             Node* body) {
    if (!loop->assigned && OnlyJumps(body, loop, variables.size(), true)) {
      Node* const node = LetNode(std::move(variables), std::move(values), body);
      node->kind = Node::kLoop;
      return node->variable = loop, node;
    }
    Function* const function = &functions_.emplace_back();
    function->name = loop->name;
    function->line = line_;
    function->params = std::move(variables);
    function->body = body;
    Node* const lambda = New(Node::kLambda);
    lambda->function = function;
    values.insert(values.begin(), Reference(loop));
    // The values see no loop, since other scopes have bound their names.
    Node* const node = New(Node::kRecursive, {lambda, New(Node::kCall, values)});
    return node->variables = {loop}, node;
  }
  // Whether all uses of the loop are calls in its tail positions, which a jump can do.
  bool OnlyJumps(const Node* node, const Variable* loop, size_t n, bool tail) {
    if (node->kind == Node::kLocal || node->kind == Node::kSetLocal) {
      if (node->variable == loop) return false;
    }
    if (node->kind == Node::kLambda) return OnlyJumps(node->function->body, loop, 0, false);
    for (size_t i = 0; i < node->kids.size(); ++i) {
      const bool last = i + 1 == node->kids.size();
      const bool is_tail = node->kind == Node::kIf
                               ? i > 0
                               : last && node->kind != Node::kCall &&
                                     node->kind != Node::kSetLocal &&
                                     node->kind != Node::kSetGlobal && node->kind != Node::kDefine;
      const bool calls = node->kind == Node::kCall && i == 0 &&
                         node->kids[0]->kind == Node::kLocal && node->kids[0]->variable == loop;
      if (calls ? !tail || node->kids.size() - 1 != n
                : !OnlyJumps(node->kids[i], loop, n, tail && is_tail)) {
        return false;
      }
    }
    return true;
  }

  // A body.  Its definitions are variables of its own.
  Node* Body(Handle forms, Scope* outer) {
    Scope* const scope = NewScope(outer);
    Node* const node = New(Node::kRecursive);
    std::vector<Local> todo = Parts(forms, 1);
    std::reverse(todo.begin(), todo.end());
    std::vector<Local> values;  // of node->variables, in order
    bool defines = false;
    while (!todo.empty()) {
      const Local form = todo.back();
      todo.pop_back();
      const int line = std::exchange(line_, LineOf(form));
      if (const Macro* const macro = MacroOf(form, scope)) {
        todo.push_back(Apply(*macro, form, scope));
      } else {
        const Form head = form.is<Pair>() ? FormOf(Car(form), scope) : kNoForm;
        if (head == kBegin) {
          const auto parts = Parts(form, 1);
          todo.insert(todo.end(), parts.rbegin(), parts.rend() - 1);
        } else if (head == kDefineSyntax) {
          DefineSyntax(Parts(form, 3, 3), scope, 1);
        } else if (head == kDefineForm) {
          defines = true;
          const Local target = Parts(form, 2)[1];
          Local name = target;
          while (name.is<Pair>()) name = Car(name);
          node->variables.push_back(Bind(scope, name));
          values.push_back(form);
        } else if (head == kDefineRecord) {
          defines = true;
          for (Local l = Record(form); !l.is_null(); l = Cdr(l)) {
            node->variables.push_back(Bind(scope, Car(Car(l))));
            values.push_back(Cdr(Car(l)));
          }
        } else if (head != kImport) {
          node->variables.push_back(nullptr);
          values.push_back(form);
        }
      }
      line_ = line;
    }
    for (size_t i = 0; i < values.size(); ++i) {
      const Variable* const variable = node->variables[i];
      node->kids.push_back(variable == nullptr               ? Expand(values[i], scope)
                           : values[i].is<RecordProcedure>() ? Constant(values[i])
                                                             : DefinedValue(values[i], scope));
    }
    if (node->kids.empty() || node->variables.back() != nullptr) {
      node->kids.push_back(Nothing());
    } else {
      node->variables.pop_back();
    }
    if (!defines) {
      node->kind = Node::kSequence;
      node->variables.clear();
    }
    return node->kids.size() == 1 ? node->kids[0] : node;
  }
  // The value of (define name value) and (define (name . params) body ...).
  Node* DefinedValue(Handle form, Scope* scope) {
    const int line = std::exchange(line_, LineOf(form));
    const auto parts = Parts(form, 2);
    Local target = parts[1];
    Local body = Tail(form, 2);
    // (define ((f a) b) ...) is a function that returns one.
    while (target.is<Pair>() && Car(target).is<Pair>()) {
      body = Cons(Cons(machine_.SymbolOf(machine_.Intern("lambda")), Cons(Cdr(target), body)),
                  nullptr);
      target = Car(target);
    }
    Node* node = nullptr;
    if (target.is<Pair>()) {
      if (body.is_null()) Bad("bad syntax", form);
      node = Lambda(Cdr(target), body, scope, NameOf(Car(target))->text);
    } else if (parts.size() > 3) {
      Bad("bad syntax", form);
    } else {
      node = parts.size() == 2 ? Nothing() : Expand(parts[2], scope, NameOf(target)->text);
    }
    return line_ = line, node;
  }

  Node* ExpandToplevel(Handle form) {
    Local x = form;
    while (const Macro* const macro = MacroOf(x, nullptr)) x = Apply(*macro, x, nullptr);
    const Form head = x.is<Pair>() ? FormOf(Car(x), nullptr) : kNoForm;
    if (head == kBegin) {
      Node* const node = New(Node::kSequence, {Nothing()});
      for (const Local& part : Parts(Cdr(x), 0)) node->kids.push_back(ExpandToplevel(part));
      return node;
    }
    if (head == kDefineSyntax) return DefineSyntax(Parts(x, 3, 3), nullptr, 1), Nothing();
    if (head == kDefineRecord) {
      Node* const node = New(Node::kSequence, {Nothing()});
      for (Local l = Record(x); !l.is_null(); l = Cdr(l)) {
        node->kids.push_back(DefineGlobal(Car(Car(l)), Constant(Cdr(Car(l)))));
      }
      return node;
    }
    if (head != kDefineForm) return Expand(x, nullptr);
    Local name = Parts(x, 2)[1];
    while (name.is<Pair>()) name = Car(name);
    if (!IsIdentifier(name)) Bad("here must be a name", x);
    Name* const global = NameOf(name);
    machine_.Define(global);
    global->form = kNoForm;
    global->macro = nullptr;
    return DefineGlobal(name, DefinedValue(x, nullptr));
  }
  Node* DefineGlobal(Handle name, Node* value) {
    Node* const node = New(Node::kDefine, {value});
    node->name = NameOf(name);
    return machine_.Define(node->name), node;
  }

  // (define-record-type type (constructor field ...) predicate (field accessor [modifier]) ...):
  // a list of (name . procedure).
  Local Record(Handle form) {
    const auto parts = Parts(form, 3);
    const Local type = parts[1].is<Pair>() ? Car(parts[1]) : parts[1];
    std::vector<Local> fields;
    for (size_t i = 4; i < parts.size(); ++i) {
      fields.push_back(parts[i].is<Pair>() ? Car(parts[i]) : parts[i]);
    }
    const auto index = [&](Handle field) -> uint64_t {
      for (size_t i = 0; i < fields.size(); ++i) {
        if (IdOf(fields[i]) == IdOf(field)) return i;
      }
      Bad("the record has no such field", field);
    };
    // Types of the same name are different ones.
    std::string name = NameOf(type)->text;
    while (!shape_names().insert(name).second) name += '\'';
    const gc::Shape* const shape =
        &gc::Shape::Define(name, std::vector(fields.size(), gc::Shape::kValue));
    Local all;
    const auto add = [&](Handle id, RecordProcedure::Kind kind, uint64_t i, Handle list) {
      const Local text = machine_.SymbolOf(NameOf(id));
      const Local procedure = gc::make<RecordProcedure>(shape, kind, i, list, text);
      all = Cons(Cons(id, procedure), all);
    };
    if (parts[2].is<Pair>()) {
      Local indexes;
      const auto arguments = Parts(Cdr(parts[2]), 0);
      for (size_t i = arguments.size(); i-- > 0;) {
        indexes = Cons(Value::Int(index(arguments[i])), indexes);
      }
      add(Car(parts[2]), RecordProcedure::kMake, arguments.size(), indexes);
    }
    if (parts.size() > 3 && IsIdentifier(parts[3])) add(parts[3], RecordProcedure::kIs, 0, nullptr);
    for (size_t i = 4; i < parts.size(); ++i) {
      const auto names = Parts(parts[i], 1, 3);
      if (names.size() > 1) add(names[1], RecordProcedure::kGet, i - 4, nullptr);
      if (names.size() > 2) add(names[2], RecordProcedure::kSet, i - 4, nullptr);
    }
    return all;
  }
  static std::unordered_set<std::string>& shape_names() {
    static std::unordered_set<std::string> names;
    return names;
  }

  // --- Macros.
  void DefineSyntax(const std::vector<Local>& parts, Scope* scope, size_t first) {
    const Local name = parts[first];
    const Local rules = parts[first + 1];
    if (!IsIdentifier(name)) Bad("here must be a name", name);
    if (!rules.is<Pair>() || !IsIdentifier(Car(rules)) ||
        NameOf(Car(rules))->text != "syntax-rules") {
      Bad("a macro is defined by syntax-rules", rules);
    }
    const auto items = Parts(rules, 2);
    const bool names_ellipsis = IsIdentifier(items[1]);
    const uint64_t ellipsis = names_ellipsis ? IdOf(items[1]) : machine_.Intern("...")->number;
    const Local literals = names_ellipsis ? Parts(rules, 3)[2] : items[1];
    Macro* const macro = &all_macros.emplace_back();
    *macro = {scope, machine_.AddConstant(Tail(rules, names_ellipsis ? 3 : 2)),
              machine_.AddConstant(literals), ellipsis};
    if (scope != nullptr) {
      scope->names.push_back({IdOf(name), nullptr, macro});
    } else {
      Name* const global = NameOf(name);
      machine_.Define(global);
      global->macro = macro;
      global->form = kNoForm;
    }
  }
  bool IsEllipsis(Handle v, const Macro& macro) {
    if (!IsIdentifier(v)) return false;
    // A macro that defines macros inserts aliases of the dots.
    return IdOf(v) == macro.ellipsis || (v.is<Alias>() && NameOf(v)->number == macro.ellipsis);
  }
  bool IsLiteral(Handle v, const Macro& macro) {
    for (Local l = machine_.ConstantAt(macro.literals); l.is<Pair>(); l = Cdr(l)) {
      if (IdOf(Car(l)) == IdOf(v)) return true;
    }
    return false;
  }

  Local Apply(const Macro& macro, Handle form, Scope* scope) {
    static constexpr int kMostUses = 100000;  // in one form of the top level
    if (++macro_uses_ > kMostUses) Bad("the expansion of a macro does not end", Car(form));
    for (Local l = machine_.ConstantAt(macro.rules); l.is<Pair>(); l = Cdr(l)) {
      matched_.Resize(0);
      Matches matches;
      const auto rule = Parts(Car(l), 2, 2);
      if (!rule[0].is<Pair>()) Bad("a rule is for a list", rule[0]);
      if (!MatchList(Cdr(rule[0]), Cdr(form), macro, scope, matches)) continue;
      std::vector<std::pair<uint64_t, size_t>> aliases;
      const Local result = Instantiate(rule[1], macro, matches, aliases, false);
      if (result.is<Pair>()) machine_.lines.emplace(gc::identity_hash(result), line_);
      return result;
    }
    Bad("no rule of the macro is for this", form);
  }
  bool MatchList(Handle pattern, Handle form, const Macro& macro, Scope* scope, Matches& matches) {
    CheckNativeStack();
    if (IsIdentifier(pattern)) {
      if (IsLiteral(pattern, macro)) {
        return IsIdentifier(form) && MeaningOf(form, scope) == MeaningOf(pattern, macro.scope);
      }
      if (NameOf(pattern)->text == "_") return true;
      matched_.Push(form);
      matches.push_back({IdOf(pattern), matched_.size() - 1, {}, false});
      return true;
    }
    if (pattern.is<Vector>()) {
      return form.is<Vector>() && MatchList(ToList(pattern), ToList(form), macro, scope, matches);
    }
    if (!pattern.is<Pair>()) return machine_.Equal(pattern, form);
    if (!Cdr(pattern).is<Pair>() || !IsEllipsis(Car(Cdr(pattern)), macro)) {
      return form.is<Pair>() && MatchList(Car(pattern), Car(form), macro, scope, matches) &&
             MatchList(Cdr(pattern), Cdr(form), macro, scope, matches);
    }
    const Local after = Cdr(Cdr(pattern));
    size_t available = 0;
    for (Local l = form; l.is<Pair>(); l = Cdr(l)) ++available;
    size_t wanted = 0;
    for (Local l = after; l.is<Pair>(); l = Cdr(l)) ++wanted;
    if (available < wanted) return false;
    std::vector<Matches> each;
    Local l = form;
    for (; available > wanted; --available, l = Cdr(l)) {
      if (!MatchList(Car(pattern), Car(l), macro, scope, each.emplace_back())) return false;
    }
    Repeat(Car(pattern), macro, each, matches);
    return MatchList(after, l, macro, scope, matches);
  }
  // Adds the variables of a repeated pattern.
  void Repeat(Handle pattern, const Macro& macro, const std::vector<Matches>& each,
              Matches& matches) {
    if (pattern.is<Vector>()) return Repeat(ToList(pattern), macro, each, matches);
    if (pattern.is<Pair>()) {
      Repeat(Car(pattern), macro, each, matches);
      return Repeat(Cdr(pattern), macro, each, matches);
    }
    if (!IsIdentifier(pattern) || IsLiteral(pattern, macro) || IsEllipsis(pattern, macro)) return;
    const uint64_t id = IdOf(pattern);
    Match match{id, 0, {}, true};
    for (const Matches& one : each) {
      const auto at =
          std::find_if(one.begin(), one.end(), [id](const Match& m) { return m.id == id; });
      match.each.push_back(at == one.end() ? Matches() : Matches{*at});
    }
    matches.push_back(std::move(match));
  }
  static Local ToList(Handle vector) {
    Local list;
    const gc::Local<Vector> items = vector.cast<Vector>();
    for (size_t i = items->length(); i-- > 0;) list = Cons(items->at(i), list);
    return list;
  }

  using Aliases = std::vector<std::pair<uint64_t, size_t>>;
  Local Instantiate(Handle t, const Macro& macro, const Matches& matches, Aliases& aliases,
                    bool escaped) {
    CheckNativeStack();
    if (IsIdentifier(t)) {
      const uint64_t id = IdOf(t);
      for (const Match& match : matches) {
        if (match.id != id) continue;
        if (match.repeats) Bad("... is missing behind this", t);
        return matched_[match.value];
      }
      for (const auto& [known, at] : aliases) {
        if (known == id) return matched_[at];
      }
      matched_.Push(gc::make<Alias>(t, macro.scope, next_alias++));
      aliases.emplace_back(id, matched_.size() - 1);
      return matched_.Peek();
    }
    if (t.is<Vector>()) {
      const Local list = Instantiate(ToList(t), macro, matches, aliases, escaped);
      const std::vector<Local> items = Parts(list, 0);
      const gc::Local<Vector> vector = gc::make_array<Value>(items.size());
      for (size_t i = 0; i < items.size(); ++i) vector->at(i) = items[i];
      return vector;
    }
    if (!t.is<Pair>()) return t;
    if (!escaped && IsEllipsis(Car(t), macro) && Cdr(t).is<Pair>()) {
      return Instantiate(Car(Cdr(t)), macro, matches, aliases, true);
    }
    Local rest = Cdr(t);
    size_t dots = 0;
    for (; !escaped && rest.is<Pair>() && IsEllipsis(Car(rest), macro); rest = Cdr(rest)) ++dots;
    if (dots == 0) {
      const Local first = Instantiate(Car(t), macro, matches, aliases, escaped);
      return Cons(first, Instantiate(rest, macro, matches, aliases, escaped));
    }
    std::vector<Local> items;
    Instances(Car(t), macro, matches, aliases, dots, items);
    Local list = Instantiate(rest, macro, matches, aliases, escaped);
    for (size_t i = items.size(); i-- > 0;) list = Cons(items[i], list);
    return list;
  }
  void Instances(Handle t, const Macro& macro, const Matches& matches, Aliases& aliases,
                 size_t dots, std::vector<Local>& items) {
    if (dots == 0) return items.push_back(Instantiate(t, macro, matches, aliases, false));
    size_t n = 0;
    bool repeats = false;
    for (const Match& match : matches) {
      if (!match.repeats || !Mentions(t, match.id)) continue;
      n = repeats ? std::min(n, match.each.size()) : match.each.size();
      repeats = true;
    }
    if (!repeats) Bad("nothing is repeated here", t);
    for (size_t i = 0; i < n; ++i) {
      Matches one;
      for (const Match& match : matches) {
        if (!match.repeats || !Mentions(t, match.id)) {
          one.push_back(match);
        } else {
          one.insert(one.end(), match.each[i].begin(), match.each[i].end());
        }
      }
      Instances(t, macro, one, aliases, dots - 1, items);
    }
  }
  static bool Mentions(Handle t, uint64_t id) {
    if (IsIdentifier(t)) return IdOf(t) == id;
    if (t.is<Vector>()) return Mentions(ToList(t), id);
    return t.is<Pair>() && (Mentions(Car(t), id) || Mentions(Cdr(t), id));
  }

  Machine& machine_;
  const std::string* const file_;
  int line_ = 0;
  int macro_uses_ = 0;
  gc::ValueStack<Value> matched_;
  std::deque<Node> nodes_;
  std::deque<Function> functions_;
  std::deque<Variable> variables_;
  std::deque<Scope> scopes_;
};

// --- The variables of closures.
class Resolver {
 public:
  void Resolve(Node* node, Function* function) {
    CheckNativeStack();
    if (node->kind == Node::kLocal || node->kind == Node::kSetLocal)
      Capture(function, node->variable);
    if (node->kind == Node::kLambda) {
      Function* const inner = node->function;
      inner->parent = function;
      for (Variable* const param : inner->params) Own(param, inner);
      return Resolve(inner->body, inner);
    }
    if (node->kind == Node::kRecursive) return ResolveRecursive(node, function);
    for (size_t i = 0; i < node->kids.size(); ++i) {
      if (i + 1 == node->kids.size()) {
        for (Variable* const variable : node->variables) Own(variable, function);
        if (node->kind == Node::kLoop) node->variable->owner = function;
      }
      Resolve(node->kids[i], function);
    }
  }

 private:
  static void Own(Variable* variable, Function* function) {
    variable->owner = function;
    variable->boxed = variable->assigned;
  }
  // Lambdas that are defined next to each other may refer to each other: their closures are
  // patched when all are made.  What another closure captures before it is ready is in a box.
  void ResolveRecursive(Node* node, Function* function) {
    int group = 0;
    for (size_t i = 0; i < node->variables.size(); ++i) {
      Variable* const variable = node->variables[i];
      const bool is_lambda = node->kids[i]->kind == Node::kLambda && variable != nullptr;
      if (!is_lambda || group == 0) group = ++groups_;
      if (is_lambda) node->kids[i]->function->group = group;
      if (variable != nullptr) {
        Own(variable, function);
        variable->ready = false;
        variable->group = is_lambda ? group : 0;
      }
      if (!is_lambda) group = 0;
    }
    for (size_t i = 0; i < node->kids.size(); ++i) {
      Resolve(node->kids[i], function);
      if (i == node->variables.size()) break;
      const Variable* const variable = node->variables[i];
      const Variable* const next =
          i + 1 < node->variables.size() ? node->variables[i + 1] : nullptr;
      if (variable != nullptr && variable->group != 0 && next != nullptr &&
          next->group == variable->group)
        continue;
      for (size_t k = 0; k <= i; ++k) {
        if (node->variables[k] != nullptr) node->variables[k]->ready = true;
      }
    }
  }
  void Capture(Function* function, Variable* variable) {
    if (variable->owner == function) return;
    auto& free = function->free;
    if (std::find(free.begin(), free.end(), variable) != free.end()) return;
    Capture(function->parent, variable);
    free.push_back(variable);
    const bool is_patched = function->group != 0 && function->group == variable->group;
    if (function->parent == variable->owner && !variable->ready && !is_patched)
      variable->boxed = true;
  }

  int groups_ = 0;
};

// --- Code.
class Generator {
 public:
  Generator(Machine& machine, const std::string* file, Function* function)
      : machine_(machine), file_(file), function_(function) {}

  const Code* Generate() {
    static std::deque<Code> all_codes;  // closures may refer to them for ever
    code_ = &all_codes.emplace_back();
    code_->name = function_->name;
    code_->file = file_;
    code_->line = line_ = function_->line;
    code_->params = static_cast<int32_t>(function_->params.size());
    code_->rest = function_->rest;
    for (Variable* const param : function_->params) {
      param->slot = depth_++;
      if (param->boxed) Emit(kBoxSlot, param->slot);
    }
    Gen(function_->body, true);
    // The machine itself pushes a few values more.
    code_->most_depth = most_depth_ + 8;
    return code_;
  }

 private:
  // --- Instructions.
  size_t Emit(int op, int64_t a = 0, int64_t b = 0) {
    code_->ins.push_back(
        {static_cast<uint16_t>(op), 0, 0, static_cast<int32_t>(a), static_cast<int32_t>(b)});
    code_->lines.push_back(line_);
    return code_->ins.size() - 1;
  }
  size_t Here() { return barrier_ = code_->ins.size(); }
  void Target(size_t from, size_t to) {
    code_->ins[from].jump = static_cast<int32_t>(to) - static_cast<int32_t>(from);
  }
  void TargetHere(const std::vector<size_t>& jumps) {
    for (const size_t jump : jumps) Target(jump, Here());
  }
  // The last instruction, unless a jump leads to the next one.
  Ins* Last() { return code_->ins.size() > barrier_ ? &code_->ins.back() : nullptr; }
  void Grow(int n) { most_depth_ = std::max(most_depth_, depth_ += n); }
  void EmitPush() {
    Ins* const last = Last();
    if (last != nullptr && last->op <= kLoadGlobal && last->op % 2 == 0) {
      ++last->op;
    } else if (last != nullptr && Computes(last->op) && last->flag == 0) {
      last->flag = 1;
    } else {
      Emit(kPush);
    }
    Grow(1);
  }
  void GenPush(Node* node) {
    Gen(node, false);
    EmitPush();
  }
  void Drop(size_t n, bool tail) {
    if (n != 0 && !tail) Emit(kDrop, static_cast<int64_t>(n));
    depth_ -= static_cast<int>(n);
  }

  // Leaves the variable, or its box.
  void GenPlace(const Variable* variable) {
    if (variable->owner == function_) return Emit(kLoadLocal, variable->slot), void();
    Emit(kLoadFree, IndexOf(function_, variable));
  }
  static int64_t IndexOf(const Function* function, const Variable* variable) {
    return std::find(function->free.begin(), function->free.end(), variable) -
           function->free.begin();
  }
  bool IsSlot(const Node* node) const {
    return node->kind == Node::kLocal && !node->variable->boxed &&
           node->variable->owner == function_;
  }

  // Leaves the value in the accumulator.  With `tail`, returns it.
  void Gen(Node* node, bool tail) {
    CheckNativeStack();
    const int line = std::exchange(line_, node->line);
    if (GenPart(node, tail) && tail) Emit(kReturn);
    line_ = line;
  }
  // Returns false if the code has returned or jumped, with `tail`.
  bool GenPart(Node* node, bool tail) {
    switch (node->kind) {
      case Node::kConstant:
        return Emit(kLoadConstant, node->number), true;
      case Node::kInteger:
        return Emit(kLoadInteger, node->number), true;
      case Node::kLocal:
        GenPlace(node->variable);
        if (node->variable->boxed) Emit(kUnbox);
        return true;
      case Node::kGlobal:
        return Emit(kLoadGlobal, static_cast<int64_t>(node->name->cell),
                    static_cast<int64_t>(node->name->number)),
               true;
      case Node::kSetLocal:
        GenPlace(node->variable);
        EmitPush();
        Gen(node->kids[0], false);
        --depth_;
        return Emit(kSetBox), true;
      case Node::kSetGlobal:
      case Node::kDefine:
        Gen(node->kids[0], false);
        Emit(node->kind == Node::kDefine ? kDefineGlobal : kSetGlobal,
             static_cast<int64_t>(node->name->cell), static_cast<int64_t>(node->name->number));
        return true;
      case Node::kIf: {
        std::vector<size_t> to_else;
        GenTest(node->kids[0], false, to_else);
        Gen(node->kids[1], tail);
        const size_t to_end = tail ? 0 : Emit(kJump);
        TargetHere(to_else);
        Gen(node->kids[2], tail);
        if (!tail) Target(to_end, Here());
        return !tail;
      }
      case Node::kOr: {
        Gen(node->kids[0], false);
        const size_t to_end = Emit(kJumpIf);
        code_->ins[to_end].flag = 1;
        Gen(node->kids[1], tail);
        return Target(to_end, Here()), true;
      }
      case Node::kSequence:
        for (Node* const kid : node->kids) Gen(kid, tail && kid == node->kids.back());
        return !tail;
      case Node::kLambda:
        return GenClosure(node->function), true;
      case Node::kCall:
        return GenCall(node, tail);
      case Node::kLet:
      case Node::kLoop:
        return GenLet(node, tail);
      case Node::kRecursive:
        return GenRecursive(node, tail);
    }
    return true;
  }
  bool GenLet(Node* node, bool tail) {
    const size_t n = node->variables.size();
    for (size_t i = 0; i < n; ++i) GenBoxed(node->kids[i], node->variables[i]);
    for (size_t i = 0; i < n; ++i) node->variables[i]->slot = depth_ - static_cast<int>(n - i);
    if (node->kind == Node::kLoop) {
      node->variable->slot = depth_ - static_cast<int>(n);
      node->variable->start = static_cast<int>(Here());
      loop_variables_.push_back(&node->variables);
      node->variable->group = static_cast<int>(loop_variables_.size());
    }
    Gen(node->kids[n], tail);
    return Drop(n, tail), !tail;
  }
  void GenBoxed(Node* value, const Variable* variable) {
    Gen(value, false);
    if (variable->boxed) Emit(kBoxAcc);
    EmitPush();
  }
  bool GenRecursive(Node* node, bool tail) {
    size_t n = 0;
    for (Variable* const variable : node->variables) {
      if (variable == nullptr) continue;
      Emit(kLoadConstant, static_cast<int64_t>(machine_.AddConstant(kUndefined)));
      if (variable->boxed) Emit(kBoxAcc);
      EmitPush();
      variable->slot = depth_ - 1;
      ++n;
    }
    for (size_t i = 0; i < node->variables.size(); ++i) {
      Variable* const variable = node->variables[i];
      if (variable != nullptr && variable->boxed) {
        Emit(kPushLocal, variable->slot);
        Grow(1);
        Gen(node->kids[i], false);
        Emit(kSetBox);
        --depth_;
      } else {
        Gen(node->kids[i], false);
        if (variable != nullptr) Emit(kSetSlot, variable->slot);
      }
      const bool ends =
          i + 1 == node->variables.size() || node->variables[i + 1] == nullptr ||
          node->variables[i + 1]->group != (variable == nullptr ? 0 : variable->group);
      if (variable != nullptr && variable->group != 0 && ends) GenPatches(node, i);
    }
    Gen(node->kids.back(), tail);
    return Drop(n, tail), !tail;
  }
  // The closures up to `last` have captured those of their group that were not there yet.
  void GenPatches(const Node* node, size_t last) {
    const auto& all = node->variables;
    for (size_t i = last + 1; i-- > 0;) {
      if (all[i] == nullptr || all[i]->group != all[last]->group) break;
      const auto& free = node->kids[i]->function->free;
      for (size_t k = i; k <= last; ++k) {
        const auto at = std::find(free.begin(), free.end(), all[k]);
        if (at == free.end() || all[k]->boxed) continue;
        const size_t patch = Emit(kPatch, all[i]->slot, at - free.begin());
        code_->ins[patch].flag = static_cast<uint16_t>(all[k]->slot);
      }
    }
  }
  void GenClosure(Function* inner) {
    for (const Variable* const variable : inner->free) {
      GenPlace(variable);
      EmitPush();
    }
    const auto n = static_cast<int>(inner->free.size());
    code_->inner.push_back(Generator(machine_, file_, inner).Generate());
    Emit(kMakeClosure, static_cast<int64_t>(code_->inner.size() - 1), n);
    depth_ -= n;
  }

  // Jumps if the truth of the node is `sense`, else goes on.
  void GenTest(Node* node, bool sense, std::vector<size_t>& jumps) {
    const auto is_false = [this](const Node* kid) {
      return kid->kind == Node::kConstant &&
             machine_.ConstantAt(static_cast<size_t>(kid->number)) == kFalse;
    };
    const bool is_and = node->kind == Node::kIf && is_false(node->kids[2]);
    if (is_and || node->kind == Node::kOr) {
      // `or` is decided by truth, `and` by falsehood.
      const bool decides = !is_and;
      std::vector<size_t> decided;
      GenTest(node->kids[0], decides, decides == sense ? jumps : decided);
      GenTest(node->kids[1], sense, jumps);
      return TargetHere(decided);
    }
    if (const PrimitiveInfo* const info = PrimitiveOf(node)) {
      if (std::string_view(info->name) == "not") return GenTest(node->kids[1], !sense, jumps);
    }
    Gen(node, false);
    Ins* last = Last();
    if (last == nullptr || !IsTest(last->op) || last->jump != 0) {
      Emit(kJumpIf);
      last = &code_->ins.back();
    }
    last->flag = sense ? 1 : 0;
    jumps.push_back(code_->ins.size() - 1);
    // A jump of 0 would mean a test without a jump.
    last->jump = 1;
    Here();
  }

  // --- Calls.
  // The primitive that the call runs, if it may do so directly.
  const PrimitiveInfo* PrimitiveOf(const Node* call) const {
    if (call->kind != Node::kCall || call->kids[0]->kind != Node::kGlobal) return nullptr;
    const PrimitiveInfo* const info = call->kids[0]->name->primitive;
    const size_t n = call->kids.size() - 1;
    return info != nullptr && info->run != nullptr && n >= info->least && n <= info->most ? info
                                                                                          : nullptr;
  }
  bool GenCall(Node* node, bool tail) {
    Node* const callee = node->kids[0];
    const auto n = static_cast<int>(node->kids.size() - 1);
    if (const PrimitiveInfo* const info = PrimitiveOf(node)) {
      callee->name->relied_on = true;
      if (!GenInline(node, info->name)) {
        for (int i = 1; i <= n; ++i) GenPush(node->kids[i]);
        Emit(kPrimitive, machine_.PrimitiveNumber(info), n);
        depth_ -= n;
      }
      return true;
    }
    if (callee->kind == Node::kLocal && callee->variable->start >= 0) {
      const auto& variables = *loop_variables_[callee->variable->group - 1];
      for (int i = 1; i <= n; ++i) GenBoxed(node->kids[i], variables[i - 1]);
      Target(Emit(kLoop, callee->variable->slot, n), callee->variable->start);
      depth_ -= n;
      return false;
    }
    const size_t frame = tail ? 0 : Emit(kFrame);
    if (!tail) Grow(2);
    for (Node* const kid : node->kids) GenPush(kid);
    Emit(tail ? kTailCall : kCall, n);
    depth_ -= n + 1;
    if (tail) return false;
    depth_ -= 2;
    return Target(frame, Here()), true;
  }

  bool GenInline(Node* node, std::string_view name) {
    const auto find = [name](const auto& table) {
      const auto at = std::find_if(std::begin(table), std::end(table),
                                   [name](const auto& row) { return row.first == name; });
      return at == std::end(table) ? -1 : static_cast<int>(at->second);
    };
    static constexpr std::pair<std::string_view, Op> kUnary[] = {
        {"car", kCar},      {"cdr", kCdr}, {"cadr", kCadr},   {"null?", kIsNull},
        {"pair?", kIsPair}, {"not", kNot}, {"zero?", kIsZero}};
    static constexpr std::pair<std::string_view, Op> kBinaries[] = {{"+", kPlus},
                                                                    {"-", kMinus},
                                                                    {"*", kTimes},
                                                                    {"=", kIsEqual},
                                                                    {"<", kIsLess},
                                                                    {">", kIsGreater},
                                                                    {"<=", kIsLessEqual},
                                                                    {">=", kIsGreaterEqual},
                                                                    {"eq?", kIsEq},
                                                                    {"eqv?", kIsEqv},
                                                                    {"cons", kCons},
                                                                    {"vector-ref", kVectorRef},
                                                                    {"quotient", kQuotient},
                                                                    {"remainder", kRemainder}};
    const auto& kids = node->kids;
    if (kids.size() == 2) {
      const int op = find(kUnary);
      if (op < 0) return false;
      if (IsSlot(kids[1])) return Emit(op + 1, kids[1]->variable->slot), true;
      Gen(kids[1], false);
      return Emit(op), true;
    }
    if (kids.size() == 4 && name == "vector-set!") {
      GenPush(kids[1]);
      GenPush(kids[2]);
      Gen(kids[3], false);
      depth_ -= 2;
      return Emit(kVectorSet), true;
    }
    const int op = find(kBinaries);
    if (op < 0 || kids.size() < 3 || (kids.size() > 3 && op != kPlus && op != kTimes)) return false;
    GenBinary(op, kids[1], kids[2]);
    for (size_t i = 3; i < kids.size(); ++i) GenBinary(op, nullptr, kids[i]);
    return true;
  }
  // Null: the accumulator.
  void GenBinary(int op, Node* x, Node* y) {
    const auto is_slot = [this](const Node* node) { return node != nullptr && IsSlot(node); };
    const auto is_integer = [](const Node* node) {
      return node != nullptr && node->kind == Node::kInteger;
    };
    const auto operand = [&](const Node* node) {
      return is_slot(node) ? node->variable->slot : is_integer(node) ? node->number : 0;
    };
    const int64_t a = operand(x);
    const int64_t b = operand(y);
    Mode mode = kPA;
    if (is_slot(x) && (is_slot(y) || is_integer(y))) {
      mode = is_slot(y) ? kLL : kLI;
    } else if (is_slot(y) || is_integer(y)) {
      if (x != nullptr) Gen(x, false);
      mode = is_slot(y) ? kAL : kAI;
    } else if (is_slot(x) || is_integer(x)) {
      Gen(y, false);
      mode = is_slot(x) ? kLA : kIA;
    } else {
      if (x != nullptr) Gen(x, false);
      EmitPush();
      Gen(y, false);
      --depth_;
    }
    Emit(op + mode, a, b);
  }

  Machine& machine_;
  const std::string* const file_;
  Function* const function_;
  Code* code_ = nullptr;
  int line_ = 0;
  int depth_ = 0;
  int most_depth_ = 0;
  size_t barrier_ = 0;
  std::vector<const std::vector<Variable*>*> loop_variables_;
};

}  // namespace

const Code* Compile(Machine& machine, const std::string* file, Handle form) {
  Expander expander(machine, file);
  Function* const function = expander.Toplevel(form);
  Resolver().Resolve(function->body, function);
  return Generator(machine, file, function).Generate();
}

void DefineForms(Machine& machine) {
  for (const auto& [name, form] : kForms) machine.Intern(name)->form = form;
}

void NoteDefinitions(Machine& machine, Handle form) {
  if (!form.is<Pair>() || !Car(form).is<Symbol>() || !Cdr(form).is<Pair>()) return;
  if (NameOf(Car(form))->form != kDefineForm) return;
  Local name = Car(Cdr(form));
  while (name.is<Pair>()) name = Car(name);
  if (name.is<Symbol>()) machine.Define(NameOf(name));
}

}  // namespace scheme
