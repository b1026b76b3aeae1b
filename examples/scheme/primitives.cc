// The procedures that are written in C++.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "examples/scheme/scheme.h"

namespace scheme {

void Args::Wrong(size_t i, const char* wanted) const {
  machine.Wrong(info->name, slots[i], wanted);
}
int64_t Args::integer(size_t i) const {
  const Slot& v = slots[i];
  if (v.is_int()) return v.to_int();
  if (!v.is_double() || v.to_double() != std::floor(v.to_double()) ||
      std::fabs(v.to_double()) > 1e15)
    Wrong(i, "an integer");
  return static_cast<int64_t>(v.to_double());
}
double Args::real(size_t i) const {
  if (!slots[i].is_number()) Wrong(i, "a number");
  return slots[i].to_number();
}
size_t Args::index(size_t i, size_t end) const {
  if (!slots[i].is_int() || static_cast<uint64_t>(slots[i].to_int()) > end)
    Wrong(i, "an index in its range");
  return static_cast<size_t>(slots[i].to_int());
}
char32_t Args::character(size_t i) const {
  if (!IsChar(slots[i])) Wrong(i, "a character");
  return CharOf(slots[i]);
}
PortState& Args::port(size_t i, bool input) const {
  if (!has(i)) return input ? *machine.in : *machine.out;
  PortState* const state = as<Port>(i)->state;
  if (state->is_input != input || !state->is_open)
    Wrong(i, input ? "an open input port" : "an open output port");
  return *state;
}

namespace {

[[noreturn]] void NoNumber(Machine& machine, Handle a, Handle b, const char* name) {
  machine.Wrong(name, a.is_number() ? b : a, "a number");
}
Local Integer(Machine& machine, int64_t number) {
  if (!Value::FitsInt(number)) machine.Fail("an exact integer of more than 51 bits");
  return Value::Int(number);
}

}  // namespace

Local Compute(Machine& machine, Arithmetic op, Handle a, Handle b) {
  static constexpr const char* kNames[] = {"+", "-", "*", "/"};
  if (!a.is_number() || !b.is_number()) NoNumber(machine, a, b, kNames[op]);
  if (a.is_int() && b.is_int() && op != kDivide) {
    const int64_t x = a.to_int();
    const int64_t y = b.to_int();
    int64_t r = 0;
    const bool overflows = op == kAdd        ? __builtin_add_overflow(x, y, &r)
                           : op == kSubtract ? __builtin_sub_overflow(x, y, &r)
                                             : __builtin_mul_overflow(x, y, &r);
    return Integer(machine, overflows ? INT64_MAX : r);
  }
  if (op == kDivide && b.is_int()) {
    if (b.to_int() == 0) machine.Fail("/: division by zero");
    // There are no fractions: a quotient that is no integer is inexact.
    if (a.is_int() && a.to_int() % b.to_int() == 0)
      return Integer(machine, a.to_int() / b.to_int());
  }
  const double x = a.to_number();
  const double y = b.to_number();
  return Value::Double(op == kAdd        ? x + y
                       : op == kSubtract ? x - y
                       : op == kMultiply ? x * y
                                         : x / y);
}

bool Compare(Machine& machine, Comparison op, Handle a, Handle b) {
  static constexpr const char* kNames[] = {"=", "<", ">", "<=", ">="};
  if (!a.is_number() || !b.is_number()) NoNumber(machine, a, b, kNames[op]);
  const double x = a.to_number();
  const double y = b.to_number();
  switch (op) {
    case kEquals:
      return x == y;
    case kLess:
      return x < y;
    case kGreater:
      return x > y;
    case kLessEqual:
      return x <= y;
    default:
      return x >= y;
  }
}

namespace {

template <Arithmetic kOp>
Local Fold(const Args& s) {
  if (s.count == 0) return Value::Int(kOp == kMultiply ? 1 : 0);
  if (s.count == 1 && kOp == kSubtract && s[0].is_double()) return Value::Double(-s[0].to_double());
  if (s.count == 1)
    return Compute(s.machine, kOp, Value::Int(kOp == kMultiply || kOp == kDivide ? 1 : 0), s[0]);
  Local result = s[0];
  for (size_t i = 1; i < s.count; ++i) result = Compute(s.machine, kOp, result, s[i]);
  return result;
}
template <Comparison kOp>
Local Ordered(const Args& s) {
  bool holds = true;
  for (size_t i = 0; i + 1 < s.count; ++i) holds &= Compare(s.machine, kOp, s[i], s[i + 1]);
  return Value::Bool(holds);
}
template <bool kGreatest>
Local Extreme(const Args& s) {
  Local best = s[0];
  bool inexact = false;
  for (size_t i = 0; i < s.count; ++i) {
    inexact |= s[i].is_double();
    if (Compare(s.machine, kGreatest ? kGreater : kLess, s[i], best)) best = s[i];
  }
  return inexact ? Local(Value::Double(best.to_number())) : best;
}
enum Division { kTruncateQuotient, kTruncateRemainder, kFloorQuotient, kFloorRemainder };
template <Division kKind>
Local Divide(const Args& s) {
  const int64_t x = s.integer(0);
  const int64_t y = s.integer(1);
  if (y == 0) s.machine.Fail(std::string(s.info->name) + ": division by zero");
  int64_t q = x / y;
  int64_t r = x % y;
  const bool floors = kKind == kFloorQuotient || kKind == kFloorRemainder;
  if (floors && r != 0 && (r < 0) != (y < 0)) --q, r += y;
  const int64_t result = kKind == kTruncateQuotient || kKind == kFloorQuotient ? q : r;
  if (s[0].is_double() || s[1].is_double()) return Value::Double(static_cast<double>(result));
  return Integer(s.machine, result);
}
template <double (*kFunction)(double)>
Local Real(const Args& s) {
  return Value::Double(kFunction(s.real(0)));
}
template <double (*kFunction)(double)>
Local Round(const Args& s) {
  if (s[0].is_int()) return s[0];
  return Value::Double(kFunction(s.real(0)));
}
Local Exact(const Args& s) {
  if (s[0].is_int()) return s[0];
  const double x = s.real(0);
  if (x != std::floor(x) || std::fabs(x) > 1e15) s.Wrong(0, "a number with an exact integer");
  return Value::Int(static_cast<int64_t>(x));
}
Local Sqrt(const Args& s) {
  const double root = std::sqrt(s.real(0));
  if (s[0].is_int() && root == std::floor(root)) return Value::Int(static_cast<int64_t>(root));
  return Value::Double(root);
}
Local Expt(const Args& s) {
  if (!s[0].is_int() || !s[1].is_int() || s[1].to_int() < 0)
    return Value::Double(std::pow(s.real(0), s.real(1)));
  Local result = Value::Int(1);
  Local base = s[0];
  for (int64_t e = s[1].to_int(); e > 0; e /= 2) {
    if (e % 2 != 0) result = Compute(s.machine, kMultiply, result, base);
    if (e > 1) base = Compute(s.machine, kMultiply, base, base);
  }
  return result;
}
Local NumberToString(const Args& s) {
  const int64_t radix = s.has(1) ? s.integer(1) : 10;
  std::string text;
  if (radix == 10 || !s[0].is_int()) {
    s.real(0);
    return Write(text, s[0], false), MakeString(text);
  }
  for (int64_t x = std::abs(s[0].to_int()); x != 0 || text.empty(); x /= radix)
    text += "0123456789abcdefghijklmnopqrstuvwxyz"[x % radix];
  if (s[0].to_int() < 0) text += '-';
  std::reverse(text.begin(), text.end());
  return MakeString(text);
}
Local StringToNumber(const Args& s) {
  const auto number =
      ParseNumber(Text(s.as<String>(0)), s.has(1) ? static_cast<int>(s.integer(1)) : 10);
  return number ? Local(*number) : Local(kFalse);
}

// --- Lists.
Local ListOf(const Args& s, size_t from = 0) {
  Local list;
  for (size_t i = s.count; i-- > from;) list = Cons(s[i], list);
  return list;
}
size_t LengthOf(const Args& s, size_t i) {
  size_t n = 0;
  Local l = s[i];
  for (; l.is<Pair>(); l = Cdr(l)) {
    if (++n > size_t{1} << 32) s.Wrong(i, "a list that ends");
  }
  if (!l.is_null()) s.Wrong(i, "a list");
  return n;
}
Local IsList(const Args& s) {
  Local slow = s[0];
  Local fast = s[0];
  while (fast.is<Pair>() && Cdr(fast).is<Pair>()) {
    fast = Cdr(Cdr(fast));
    slow = Cdr(slow);
    if (fast == slow) return kFalse;
  }
  return Value::Bool((fast.is<Pair>() ? Cdr(fast) : fast).is_null());
}
// Of car, cadr, cddr ..., by the letters of the name.
Local Path(const Args& s) {
  Local v = s[0];
  for (size_t i = strlen(s.info->name) - 1; --i > 0;) {
    if (!v.is<Pair>()) s.Wrong(0, "pairs in this depth");
    v = s.info->name[i] == 'a' ? Car(v) : Cdr(v);
  }
  return v;
}
template <bool kSetsCar>
Local SetPart(const Args& s) {
  Pair* const pair = s.as<Pair>(0);
  (kSetsCar ? pair->car : pair->cdr) = s[1];
  return kUnspecified;
}
Local Append(const Args& s) {
  Local result = s.count == 0 ? Local() : Local(s[s.count - 1]);
  for (size_t i = s.count; i-- > 1;) {
    LengthOf(s, i - 1);
    const Local head = Cons(nullptr, nullptr);
    Local last = head;
    for (Local l = s[i - 1]; l.is<Pair>(); l = Cdr(l)) {
      const Local next = Cons(Car(l), nullptr);
      last.peek<Pair>()->cdr = next;
      last = next;
    }
    last.peek<Pair>()->cdr = result;
    result = Cdr(head);
  }
  return result;
}
Local Reverse(const Args& s) {
  LengthOf(s, 0);
  Local result;
  for (Local l = s[0]; l.is<Pair>(); l = Cdr(l)) result = Cons(Car(l), result);
  return result;
}
Local ListTail(const Args& s) {
  Local l = s[0];
  for (int64_t k = s.integer(1); k > 0; --k) {
    if (!l.is<Pair>()) s.Wrong(0, "a longer list");
    l = Cdr(l);
  }
  return l;
}
Local ListRef(const Args& s) {
  const Local tail = ListTail(s);
  if (!tail.is<Pair>()) s.Wrong(0, "a longer list");
  return Car(tail);
}
enum Same { kEq, kEqv, kEqual };
template <Same kSame>
bool IsSame(Machine& machine, Handle a, Handle b) {
  return kSame == kEq ? a == b : kSame == kEqv ? Eqv(a, b) : machine.Equal(a, b);
}
template <Same kSame>
Local Member(const Args& s) {
  Local l = s[1];
  for (; l.is<Pair>(); l = Cdr(l)) {
    if (IsSame<kSame>(s.machine, s[0], Car(l))) return l;
  }
  return kFalse;
}
template <Same kSame>
Local Assoc(const Args& s) {
  for (Local l = s[1]; l.is<Pair>(); l = Cdr(l)) {
    const Local entry = Car(l);
    if (!entry.is<Pair>()) s.Wrong(1, "a list of pairs");
    if (IsSame<kSame>(s.machine, s[0], Car(entry))) return entry;
  }
  return kFalse;
}

// --- Sequences: [start, end) are optional arguments.
struct Range {
  size_t start;
  size_t end;
  size_t size() const { return end - start; }
};
Range RangeOf(const Args& s, size_t i, size_t length) {
  const size_t end = s.has(i + 1) ? s.index(i + 1, length) : length;
  return {s.has(i) ? s.index(i, end) : 0, end};
}
gc::Local<String> NewString(const Args& s, int64_t length) {
  if (length < 0 || length > int64_t{1} << 32) s.Wrong(0, "a length");
  return gc::make_trailing<String>(static_cast<size_t>(length));
}
Local MakeStringOf(const Args& s) {
  const gc::Local<String> string = NewString(s, s.integer(0));
  std::fill_n(string->data(), string->length(), s.has(1) ? s.character(1) : U' ');
  return string;
}
Local StringOf(const Args& s) {
  const gc::Local<String> string = NewString(s, static_cast<int64_t>(s.count));
  for (size_t i = 0; i < s.count; ++i) string->data()[i] = s.character(i);
  return string;
}
Local Substring(const Args& s) {
  const Range range = RangeOf(s, 1, s.as<String>(0)->length());
  const gc::Local<String> string = NewString(s, static_cast<int64_t>(range.size()));
  std::copy_n(s.as<String>(0)->data() + range.start, range.size(), string->data());
  return string;
}
Local StringAppend(const Args& s) {
  size_t length = 0;
  for (size_t i = 0; i < s.count; ++i) length += s.as<String>(i)->length();
  const gc::Local<String> string = NewString(s, static_cast<int64_t>(length));
  char32_t* to = string->data();
  for (size_t i = 0; i < s.count; ++i)
    to = std::copy_n(s.as<String>(i)->data(), s.as<String>(i)->length(), to);
  return string;
}
char32_t Fold(char32_t c) {
  return c < 128 ? static_cast<char32_t>(tolower(static_cast<int>(c))) : c;
}
// strcmp of strings, or of characters.
template <bool kFolds>
int CompareText(const Args& s, size_t i) {
  const bool chars = s.info->name[0] == 'c';
  char32_t one[2];
  const auto text = [&](size_t k) {
    if (chars) return one[k - i] = s.character(k), std::u32string_view(&one[k - i], 1);
    return std::u32string_view(s.as<String>(k)->data(), s.as<String>(k)->length());
  };
  const std::u32string_view a = text(i);
  const std::u32string_view b = text(i + 1);
  if (!kFolds) return a.compare(b);
  for (size_t k = 0; k < std::min(a.size(), b.size()); ++k) {
    if (Fold(a[k]) != Fold(b[k])) return Fold(a[k]) < Fold(b[k]) ? -1 : 1;
  }
  return a.size() < b.size() ? -1 : a.size() > b.size();
}
template <Comparison kOp, bool kFolds = false>
Local TextOrder(const Args& s) {
  for (size_t i = 0; i + 1 < s.count; ++i) {
    if (!Compare(s.machine, kOp, Value::Int(CompareText<kFolds>(s, i)), Value::Int(0)))
      return kFalse;
  }
  return Value::Bool(true);
}
Local StringToList(const Args& s) {
  const Range range = RangeOf(s, 1, s.as<String>(0)->length());
  Local list;
  for (size_t i = range.end; i-- > range.start;)
    list = Cons(MakeChar(s.as<String>(0)->data()[i]), list);
  return list;
}
Local ListToString(const Args& s) {
  const gc::Local<String> string = NewString(s, static_cast<int64_t>(LengthOf(s, 0)));
  size_t i = 0;
  for (Local l = s[0]; l.is<Pair>(); l = Cdr(l)) {
    const Local c = Car(l);
    if (!IsChar(c)) s.Wrong(0, "a list of characters");
    string->data()[i++] = CharOf(c);
  }
  return string;
}
// The size that `length` items have, refused before the heap looks for it.
size_t Length(const Args& s, size_t i) {
  if (!s[i].is_int() || s[i].to_int() < 0 || s[i].to_int() > int64_t{1} << 32)
    s.Wrong(i, "a length");
  return static_cast<size_t>(s[i].to_int());
}
Local MakeVector(const Args& s) {
  const size_t n = Length(s, 0);
  const gc::Local<Vector> vector = gc::make_array<Value>(n);
  const Local fill = s.has(1) ? Local(s[1]) : Local(kUnspecified);
  for (size_t i = 0; i < n; ++i) vector->at(i) = fill;
  return vector;
}
Local VectorOf(const Args& s) {
  const gc::Local<Vector> vector = gc::make_array<Value>(s.count);
  for (size_t i = 0; i < s.count; ++i) vector->at(i) = s[i];
  return vector;
}
Local VectorToList(const Args& s) {
  const Range range = RangeOf(s, 1, s.as<Vector>(0)->length());
  Local list;
  for (size_t i = range.end; i-- > range.start;) list = Cons(s.as<Vector>(0)->at(i), list);
  return list;
}
Local ListToVector(const Args& s) {
  const gc::Local<Vector> vector = gc::make_array<Value>(LengthOf(s, 0));
  size_t i = 0;
  for (Local l = s[0]; l.is<Pair>(); l = Cdr(l)) vector->at(i++) = Car(l);
  return vector;
}
Local VectorCopy(const Args& s) {
  const Range range = RangeOf(s, 1, s.as<Vector>(0)->length());
  const gc::Local<Vector> vector = gc::make_array<Value>(range.size());
  for (size_t i = 0; i < range.size(); ++i) vector->at(i) = s.as<Vector>(0)->at(range.start + i);
  return vector;
}
Local VectorFill(const Args& s) {
  Vector* const vector = s.as<Vector>(0);
  const Range range = RangeOf(s, 2, vector->length());
  for (size_t i = range.start; i < range.end; ++i) vector->at(i) = s[1];
  return kUnspecified;
}
// (copy! to at from [start end]): the place in `to`, and the range of `from`.
template <typename T, typename Move>
Local CopyInto(const Args& s, const Move& move) {
  T* const to = s.as<T>(0);
  T* const from = s.as<T>(2);
  const size_t at = s.index(1, to->length());
  const Range range = RangeOf(s, 3, from->length());
  if (range.size() > to->length() - at) s.Wrong(1, "a place with room behind it");
  const bool down = to != from || at <= range.start;
  for (size_t i = 0; i < range.size(); ++i) {
    const size_t k = down ? i : range.size() - 1 - i;
    move(*to, at + k, *from, range.start + k);
  }
  return kUnspecified;
}
Local VectorCopyInto(const Args& s) {
  return CopyInto<Vector>(
      s, [](Vector& to, size_t i, Vector& from, size_t k) { to.at(i) = from.at(k); });
}
template <typename T>
Local DataCopyInto(const Args& s) {
  return CopyInto<T>(s, [](T& to, size_t i, T& from, size_t k) { to.data()[i] = from.data()[k]; });
}
Local StringFill(const Args& s) {
  String* const string = s.as<String>(0);
  const Range range = RangeOf(s, 2, string->length());
  std::fill_n(string->data() + range.start, range.size(), s.character(1));
  return kUnspecified;
}
char Byte(const Args& s, size_t i) {
  const int64_t byte = s.integer(i);
  if ((byte & ~0xff) != 0) s.Wrong(i, "a byte");
  return static_cast<char>(byte);
}
Local MakeBytes(const Args& s) {
  const gc::Local<gc::Bytes> bytes = gc::make_bytes(Length(s, 0));
  if (s.has(1)) memset(bytes->data(), Byte(s, 1), bytes->length());
  return bytes;
}
Local BytesOf(const Args& s) {
  std::string bytes;
  for (size_t i = 0; i < s.count; ++i) bytes += Byte(s, i);
  return gc::make_bytes(bytes);
}
Local BytesCopy(const Args& s) {
  const Range range = RangeOf(s, 1, s.as<gc::Bytes>(0)->length());
  return gc::make_bytes(std::string(s.as<gc::Bytes>(0)->view().substr(range.start, range.size())));
}
Local BytesAppend(const Args& s) {
  std::string all;
  for (size_t i = 0; i < s.count; ++i) all += s.as<gc::Bytes>(i)->view();
  return gc::make_bytes(all);
}
Local Utf8ToString(const Args& s) {
  const Range range = RangeOf(s, 1, s.as<gc::Bytes>(0)->length());
  return MakeString(std::string(s.as<gc::Bytes>(0)->view().substr(range.start, range.size())));
}
Local StringToUtf8(const Args& s) { return gc::make_bytes(Text(Substring(s).peek<String>())); }

// --- Hash tables (SRFI 69), by equal?.
uint64_t HashOf(Handle v, int depth = 0) {
  if (v.is<String>()) {
    const std::u32string_view text(v.peek<String>()->data(), v.peek<String>()->length());
    return std::hash<std::u32string_view>()(text);
  }
  if (v.is<gc::Bytes>()) return std::hash<std::string_view>()(v.peek<gc::Bytes>()->view());
  if (v.is<Char>()) return CharOf(v);
  if (v.is<Symbol>()) return v.peek<Symbol>()->name->number * 0x9e3779b97f4a7c15;
  if (v.is<Pair>())
    return depth > 8 ? 1 : HashOf(Car(v), depth + 1) * 31 + HashOf(Cdr(v), depth + 1);
  if (v.is<Vector>()) return v.peek<Vector>()->length() + 7;
  if (v.is_reference()) return gc::identity_hash(v);
  return v.word() * 0x9e3779b97f4a7c15 >> 20;
}
gc::Field<Entry>& BucketOf(gc::Handle<Table> table, uint64_t hash) {
  return table->buckets->at(hash % table->buckets->length());
}
gc::Local<Entry> Find(const Args& s) {
  s.as<Table>(0);
  gc::Local<Entry> entry = BucketOf(s[0].cast<Table>(), HashOf(s[1]));
  while (entry && !s.machine.Equal(entry->key, s[1])) entry = entry->next;
  return entry;
}
Local MakeTable(const Args&) {
  const gc::Local<gc::Array<Entry>> buckets = gc::make_array<Entry>(8);
  return gc::make<Table>(uint64_t{0}, buckets);
}
Local TableRef(const Args& s) {
  const gc::Local<Entry> entry = Find(s);
  return entry ? Local(entry->value) : Local(s[2]);
}
Local TableSet(const Args& s) {
  if (const gc::Local<Entry> entry = Find(s)) return entry->value = s[2], kUnspecified;
  const gc::Local<Table> table = s[0].cast<Table>();
  if (table->count++ == table->buckets->length()) {
    const gc::Local<gc::Array<Entry>> old = table->buckets;
    table->buckets = gc::make_array<Entry>(old->length() * 2);
    for (size_t i = 0; i < old->length(); ++i) {
      for (gc::Local<Entry> entry = old->at(i), next; entry; entry = next) {
        next = entry->next;
        gc::Field<Entry>& bucket = BucketOf(table, HashOf(entry->key));
        entry->next = bucket;
        bucket = entry;
      }
    }
  }
  const gc::Local<Entry> entry = gc::make<Entry>(s[1], s[2], nullptr);
  gc::Field<Entry>& bucket = BucketOf(table, HashOf(s[1]));
  entry->next = bucket;
  bucket = entry;
  return kUnspecified;
}
Local TableDelete(const Args& s) {
  const gc::Local<Entry> gone = Find(s);
  if (!gone) return kUnspecified;
  const gc::Local<Table> table = s[0].cast<Table>();
  gc::Field<Entry>* place = &BucketOf(table, HashOf(s[1]));
  while (*place != gone) place = &(*place)->next;
  *place = gone->next;
  return --table->count, kUnspecified;
}
Local TableToList(const Args& s) {
  s.as<Table>(0);
  const gc::Local<gc::Array<Entry>> buckets = s[0].cast<Table>()->buckets;
  Local list;
  for (size_t i = 0; i < buckets->length(); ++i) {
    for (gc::Local<Entry> e = buckets->at(i); e; e = e->next)
      list = Cons(Cons(e->key, e->value), list);
  }
  return list;
}

// --- Ports.
Local PortOf(PortState* state) { return gc::make<Port>(state); }
template <bool kInput>
Local OpenFile(const Args& s) {
  const std::string path = Text(s.as<String>(0));
  FILE* const file = fopen(path.c_str(), kInput ? "r" : "w");
  if (file == nullptr) s.machine.Fail(std::string(s.info->name) + ": cannot open " + path);
  PortState* const port = s.machine.NewPort(kInput);
  port->file = file;
  return PortOf(port);
}
Local OpenString(const Args& s) {
  PortState* const port = s.machine.NewPort(s.count == 1);
  if (s.count == 1) port->text = Text(s.as<String>(0));
  return PortOf(port);
}
void FlushPort(PortState& port) {
  if (port.file == nullptr || port.is_input) return;
  fwrite(port.text.data(), 1, port.text.size(), port.file);
  fflush(port.file);
  port.text.clear();
}
Local ClosePort(const Args& s) {
  PortState& port = *s.as<Port>(0)->state;
  if (!port.is_open) return kUnspecified;
  FlushPort(port);
  if (port.file != nullptr && port.file != stdin && port.file != stdout) fclose(port.file);
  port = PortState{{}, 0, nullptr, port.is_input, false, 1};
  return kUnspecified;
}
template <bool kDisplay>
Local Put(const Args& s) {
  PortState& port = s.port(1, false);
  Write(port.text, s[0], kDisplay);
  if (port.text.size() > 1 << 16) FlushPort(port);
  return kUnspecified;
}
Local Newline(const Args& s) { return s.port(0, false).text += '\n', kUnspecified; }
Local CharOrEof(int64_t c) { return c < 0 ? Local(kEof) : MakeChar(static_cast<char32_t>(c)); }
Local ReadLine(const Args& s) {
  PortState& port = s.port(0, true);
  if (PeekChar(port) < 0) return kEof;
  std::string line;
  for (int64_t c = ReadChar(port); c >= 0 && c != '\n'; c = ReadChar(port))
    AppendUtf8(line, static_cast<char32_t>(c));
  return MakeString(line);
}
Local ReadString(const Args& s) {
  PortState& port = s.port(1, true);
  if (PeekChar(port) < 0) return kEof;
  std::string text;
  for (int64_t n = s.integer(0); n > 0 && PeekChar(port) >= 0; --n)
    AppendUtf8(text, static_cast<char32_t>(ReadChar(port)));
  return MakeString(text);
}

// --- Errors and the machine.
Local Error(const Args& s) {
  const Local irritants = ListOf(s, 1);
  s.machine.Raise(gc::make<Condition>(s[0], irritants, kFalse));
}
Local Uncaught(const Args& s) {
  s.machine.Flush();
  throw Fatal(s.machine.Describe(s[0]));
}
Local ExitNow(const Args& s) {
  s.machine.Flush();
  throw Exit{!s.has(0) || s[0] == Value::Bool(true) ? 0
             : s[0].is_int()                        ? static_cast<int>(s[0].to_int())
                                                    : 1};
}
Local Jiffies(const Args&) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return Value::Int(int64_t{std::chrono::duration_cast<std::chrono::microseconds>(now).count()});
}
Local Seconds(const Args&) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return Value::Double(std::chrono::duration<double>(now).count());
}
Local CommandLine(const Args& s) {
  Local list;
  const auto& words = s.machine.command_line;
  for (size_t i = words.size(); i-- > 0;) list = Cons(Local(MakeString(words[i])), list);
  return list;
}

#define IS(name, type)                                                              \
  {                                                                                 \
    name, 1, 1, [](const Args& s) -> Local { return Value::Bool(s[0].is<type>()); } \
  }
#define LET(name, least, most, expression)                                                \
  {                                                                                       \
    name, least, most, []([[maybe_unused]] const Args& s) -> Local { return expression; } \
  }
constexpr unsigned kAny = PrimitiveInfo::kAny;
constexpr PrimitiveInfo kPrimitives[] = {
    {"apply", 2, kAny, nullptr, PrimitiveInfo::kApply},
    {"call/cc", 1, 1, nullptr, PrimitiveInfo::kCallCc},
    {"call-with-current-continuation", 1, 1, nullptr, PrimitiveInfo::kCallCc},
    {"%apply-values", 2, 2, nullptr, PrimitiveInfo::kApplyValues},
    LET("values", 0, kAny, s.count == 1 ? Local(s[0]) : s.machine.MakeValues(s.slots, s.count)),
    // Numbers.
    {"+", 0, kAny, Fold<kAdd>},
    {"-", 1, kAny, Fold<kSubtract>},
    {"*", 0, kAny, Fold<kMultiply>},
    {"/", 1, kAny, Fold<kDivide>},
    {"=", 1, kAny, Ordered<kEquals>},
    {"<", 1, kAny, Ordered<kLess>},
    {">", 1, kAny, Ordered<kGreater>},
    {"<=", 1, kAny, Ordered<kLessEqual>},
    {">=", 1, kAny, Ordered<kGreaterEqual>},
    {"max", 1, kAny, Extreme<true>},
    {"min", 1, kAny, Extreme<false>},
    {"quotient", 2, 2, Divide<kTruncateQuotient>},
    {"truncate-quotient", 2, 2, Divide<kTruncateQuotient>},
    {"remainder", 2, 2, Divide<kTruncateRemainder>},
    {"truncate-remainder", 2, 2, Divide<kTruncateRemainder>},
    {"modulo", 2, 2, Divide<kFloorRemainder>},
    {"floor-remainder", 2, 2, Divide<kFloorRemainder>},
    {"floor-quotient", 2, 2, Divide<kFloorQuotient>},
    LET("number?", 1, 1, Value::Bool(s[0].is_number())),
    LET("complex?", 1, 1, Value::Bool(s[0].is_number())),
    LET("real?", 1, 1, Value::Bool(s[0].is_number())),
    LET("rational?", 1, 1, Value::Bool(s[0].is_number() && std::isfinite(s[0].to_number()))),
    LET("integer?", 1, 1,
        Value::Bool(s[0].is_number() && std::floor(s[0].to_number()) == s[0].to_number() &&
                    std::isfinite(s[0].to_number()))),
    LET("exact?", 1, 1, (s.real(0), Value::Bool(s[0].is_int()))),
    LET("inexact?", 1, 1, (s.real(0), Value::Bool(s[0].is_double()))),
    LET("exact-integer?", 1, 1, Value::Bool(s[0].is_int())),
    LET("nan?", 1, 1, Value::Bool(std::isnan(s.real(0)))),
    LET("zero?", 1, 1, Value::Bool(s.real(0) == 0)),
    LET("positive?", 1, 1, Value::Bool(s.real(0) > 0)),
    LET("negative?", 1, 1, Value::Bool(s.real(0) < 0)),
    LET("even?", 1, 1, Value::Bool(s.integer(0) % 2 == 0)),
    LET("odd?", 1, 1, Value::Bool(s.integer(0) % 2 != 0)),
    LET("abs", 1, 1,
        s.real(0) >= 0 ? Local(s[0]) : Compute(s.machine, kSubtract, Value::Int(0), s[0])),
    {"floor", 1, 1, Round<std::floor>},
    {"ceiling", 1, 1, Round<std::ceil>},
    {"truncate", 1, 1, Round<std::trunc>},
    {"round", 1, 1, Round<std::nearbyint>},
    {"exact", 1, 1, Exact},
    {"inexact->exact", 1, 1, Exact},
    LET("inexact", 1, 1, Value::Double(s.real(0))),
    LET("exact->inexact", 1, 1, Value::Double(s.real(0))),
    {"sqrt", 1, 1, Sqrt},
    {"expt", 2, 2, Expt},
    {"exp", 1, 1, Real<std::exp>},
    {"sin", 1, 1, Real<std::sin>},
    {"cos", 1, 1, Real<std::cos>},
    {"tan", 1, 1, Real<std::tan>},
    {"asin", 1, 1, Real<std::asin>},
    {"acos", 1, 1, Real<std::acos>},
    LET("log", 1, 2, Value::Double(std::log(s.real(0)) / (s.has(1) ? std::log(s.real(1)) : 1))),
    LET("atan", 1, 2,
        Value::Double(s.has(1) ? std::atan2(s.real(0), s.real(1)) : std::atan(s.real(0)))),
    {"number->string", 1, 2, NumberToString},
    {"string->number", 1, 2, StringToNumber},
    // Equality, booleans, symbols.
    LET("eq?", 2, 2, Value::Bool(s[0].word() == s[1].word())),
    LET("eqv?", 2, 2, Value::Bool(Eqv(s[0], s[1]))),
    LET("equal?", 2, 2, Value::Bool(s.machine.Equal(s[0], s[1]))),
    LET("not", 1, 1, Value::Bool(s[0] == kFalse)),
    LET("boolean?", 1, 1, Value::Bool(s[0].is_bool())),
    IS("symbol?", Symbol),
    LET("symbol->string", 1, 1, MakeString(s.as<Symbol>(0)->name->text)),
    LET("string->symbol", 1, 1, s.machine.SymbolOf(s.machine.Intern(Text(s.as<String>(0))))),
    LET("procedure?", 1, 1,
        Value::Bool(s[0].is<Closure>() || s[0].is<Primitive>() || s[0].is<Continuation>() ||
                    s[0].is<RecordProcedure>())),
    // Lists.
    IS("pair?", Pair),
    LET("null?", 1, 1, Value::Bool(s[0].is_null())),
    {"list?", 1, 1, IsList},
    LET("cons", 2, 2, Cons(s[0], s[1])),
    {"car", 1, 1, Path},
    {"cdr", 1, 1, Path},
    {"caar", 1, 1, Path},
    {"cadr", 1, 1, Path},
    {"cdar", 1, 1, Path},
    {"cddr", 1, 1, Path},
    {"caaar", 1, 1, Path},
    {"caadr", 1, 1, Path},
    {"cadar", 1, 1, Path},
    {"caddr", 1, 1, Path},
    {"cdaar", 1, 1, Path},
    {"cdadr", 1, 1, Path},
    {"cddar", 1, 1, Path},
    {"cdddr", 1, 1, Path},
    {"caaaar", 1, 1, Path},
    {"caaadr", 1, 1, Path},
    {"caadar", 1, 1, Path},
    {"caaddr", 1, 1, Path},
    {"cadaar", 1, 1, Path},
    {"cadadr", 1, 1, Path},
    {"caddar", 1, 1, Path},
    {"cadddr", 1, 1, Path},
    {"cdaaar", 1, 1, Path},
    {"cdaadr", 1, 1, Path},
    {"cdadar", 1, 1, Path},
    {"cdaddr", 1, 1, Path},
    {"cddaar", 1, 1, Path},
    {"cddadr", 1, 1, Path},
    {"cdddar", 1, 1, Path},
    {"cddddr", 1, 1, Path},
    {"set-car!", 2, 2, SetPart<true>},
    {"set-cdr!", 2, 2, SetPart<false>},
    LET("list", 0, kAny, ListOf(s)),
    LET("length", 1, 1, Value::Int(LengthOf(s, 0))),
    {"append", 0, kAny, Append},
    {"reverse", 1, 1, Reverse},
    {"list-tail", 2, 2, ListTail},
    {"list-ref", 2, 2, ListRef},
    {"memq", 2, 2, Member<kEq>},
    {"memv", 2, 2, Member<kEqv>},
    {"%member", 2, 2, Member<kEqual>},
    {"assq", 2, 2, Assoc<kEq>},
    {"assv", 2, 2, Assoc<kEqv>},
    {"%assoc", 2, 2, Assoc<kEqual>},
    // Characters.
    LET("char?", 1, 1, Value::Bool(IsChar(s[0]))),
    LET("char->integer", 1, 1, Value::Int(int64_t{s.character(0)})),
    LET("integer->char", 1, 1, MakeChar(static_cast<char32_t>(s.index(0, 0x10ffff)))),
    LET("char-upcase", 1, 1,
        MakeChar(s.character(0) < 128
                     ? static_cast<char32_t>(toupper(static_cast<int>(s.character(0))))
                     : s.character(0))),
    LET("char-downcase", 1, 1, MakeChar(Fold(s.character(0)))),
    LET("char-alphabetic?", 1, 1,
        Value::Bool(s.character(0) < 128 && isalpha(static_cast<int>(s.character(0))) != 0)),
    LET("char-numeric?", 1, 1,
        Value::Bool(s.character(0) < 128 && isdigit(static_cast<int>(s.character(0))) != 0)),
    LET("char-whitespace?", 1, 1,
        Value::Bool(s.character(0) < 128 && isspace(static_cast<int>(s.character(0))) != 0)),
    LET("char-upper-case?", 1, 1,
        Value::Bool(s.character(0) < 128 && isupper(static_cast<int>(s.character(0))) != 0)),
    LET("char-lower-case?", 1, 1,
        Value::Bool(s.character(0) < 128 && islower(static_cast<int>(s.character(0))) != 0)),
    LET("digit-value", 1, 1,
        s.character(0) - U'0' < 10 ? Local(Value::Int(int64_t{s.character(0)} - '0'))
                                   : Local(kFalse)),
    {"char=?", 1, kAny, TextOrder<kEquals>},
    {"char<?", 1, kAny, TextOrder<kLess>},
    {"char>?", 1, kAny, TextOrder<kGreater>},
    {"char<=?", 1, kAny, TextOrder<kLessEqual>},
    {"char>=?", 1, kAny, TextOrder<kGreaterEqual>},
    {"char-ci=?", 1, kAny, TextOrder<kEquals, true>},
    // Strings.
    IS("string?", String),
    {"make-string", 1, 2, MakeStringOf},
    {"string", 0, kAny, StringOf},
    LET("string-length", 1, 1, Value::Int(s.as<String>(0)->length())),
    LET("string-ref", 2, 2,
        (MakeChar(s.as<String>(0)->chars.at(s.below(1, s.as<String>(0)->length()))))),
    LET("string-set!", 3, 3,
        (s.as<String>(0)->chars.at(s.below(1, s.as<String>(0)->length())) = s.character(2),
         kUnspecified)),
    {"substring", 3, 3, Substring},
    {"string-copy", 1, 3, Substring},
    {"string-append", 0, kAny, StringAppend},
    {"string-fill!", 2, 4, StringFill},
    {"string-copy!", 3, 5, DataCopyInto<String>},
    {"string->list", 1, 3, StringToList},
    {"list->string", 1, 1, ListToString},
    {"string=?", 1, kAny, TextOrder<kEquals>},
    {"string<?", 1, kAny, TextOrder<kLess>},
    {"string>?", 1, kAny, TextOrder<kGreater>},
    {"string<=?", 1, kAny, TextOrder<kLessEqual>},
    {"string>=?", 1, kAny, TextOrder<kGreaterEqual>},
    {"string-ci=?", 1, kAny, TextOrder<kEquals, true>},
    // Vectors and bytevectors.
    IS("vector?", Vector),
    {"make-vector", 1, 2, MakeVector},
    {"vector", 0, kAny, VectorOf},
    LET("vector-length", 1, 1, Value::Int(s.as<Vector>(0)->length())),
    LET("vector-ref", 2, 2, s.as<Vector>(0)->at(s.below(1, s.as<Vector>(0)->length()))),
    LET("vector-set!", 3, 3,
        (s.as<Vector>(0)->at(s.below(1, s.as<Vector>(0)->length())) = s[2], kUnspecified)),
    {"vector->list", 1, 3, VectorToList},
    {"list->vector", 1, 1, ListToVector},
    {"vector-copy", 1, 3, VectorCopy},
    {"vector-fill!", 2, 4, VectorFill},
    {"vector-copy!", 3, 5, VectorCopyInto},
    IS("bytevector?", gc::Bytes),
    {"make-bytevector", 1, 2, MakeBytes},
    {"bytevector", 0, kAny, BytesOf},
    LET("bytevector-length", 1, 1, Value::Int(s.as<gc::Bytes>(0)->length())),
    LET("bytevector-u8-ref", 2, 2,
        Value::Int(static_cast<unsigned char>(
            s.as<gc::Bytes>(0)->data()[s.below(1, s.as<gc::Bytes>(0)->length())]))),
    LET("bytevector-u8-set!", 3, 3,
        (s.as<gc::Bytes>(0)->data()[s.below(1, s.as<gc::Bytes>(0)->length())] = Byte(s, 2),
         kUnspecified)),
    {"bytevector-copy", 1, 3, BytesCopy},
    {"bytevector-copy!", 3, 5, DataCopyInto<gc::Bytes>},
    {"bytevector-append", 0, kAny, BytesAppend},
    {"utf8->string", 1, 3, Utf8ToString},
    {"string->utf8", 1, 3, StringToUtf8},
    // Hash tables.
    IS("hash-table?", Table),
    {"make-hash-table", 0, kAny, MakeTable},
    {"hash-table-ref/default", 3, 3, TableRef},
    {"hash-table-set!", 3, 3, TableSet},
    {"hash-table-delete!", 2, 2, TableDelete},
    {"hash-table->alist", 1, 1, TableToList},
    LET("hash-table-size", 1, 1, Value::Int(s.as<Table>(0)->count)),
    LET("hash-table-contains?", 2, 2, Value::Bool(bool(Find(s)))),
    // Ports.
    IS("port?", Port),
    {"open-input-file", 1, 1, OpenFile<true>},
    {"open-output-file", 1, 1, OpenFile<false>},
    {"open-input-string", 1, 1, OpenString},
    {"open-output-string", 0, 0, OpenString},
    LET("get-output-string", 1, 1, MakeString(s.port(0, false).text)),
    {"close-port", 1, 1, ClosePort},
    {"close-input-port", 1, 1, ClosePort},
    {"close-output-port", 1, 1, ClosePort},
    LET("current-input-port", 0, 0, PortOf(s.machine.in)),
    LET("%output-port", 0, 0, PortOf(s.machine.out)),
    LET("%set-output-port!", 1, 1, (s.machine.out = &s.port(0, false), kUnspecified)),
    LET("flush-output-port", 0, 1, (FlushPort(s.port(0, false)), kUnspecified)),
    LET("read", 0, 1, Read(s.machine, s.port(0, true), false)),
    LET("read-char", 0, 1, CharOrEof(ReadChar(s.port(0, true)))),
    LET("peek-char", 0, 1, CharOrEof(PeekChar(s.port(0, true)))),
    {"read-line", 0, 1, ReadLine},
    {"read-string", 1, 2, ReadString},
    LET("eof-object", 0, 0, kEof),
    LET("eof-object?", 1, 1, Value::Bool(s[0] == kEof)),
    {"write", 1, 2, Put<false>},
    {"write-shared", 1, 2, Put<false>},
    {"write-simple", 1, 2, Put<false>},
    {"display", 1, 2, Put<true>},
    {"write-string", 1, 2, Put<true>},
    {"write-char", 1, 2, Put<true>},
    {"newline", 0, 1, Newline},
    LET("file-exists?", 1, 1, Value::Bool(access(Text(s.as<String>(0)).c_str(), F_OK) == 0)),
    LET("delete-file", 1, 1, (unlink(Text(s.as<String>(0)).c_str()), kUnspecified)),
    // Errors and the machine.
    {"error", 1, kAny, Error},
    IS("error-object?", Condition),
    LET("error-object-message", 1, 1, s.as<Condition>(0)->message),
    LET("error-object-irritants", 1, 1, s.as<Condition>(0)->irritants),
    {"%uncaught", 1, 1, Uncaught},
    LET("%winders", 0, 0, s.machine.winders),
    LET("%set-winders!", 1, 1, (s.machine.winders = s[0], kUnspecified)),
    LET("%handlers", 0, 0, s.machine.handlers),
    LET("%set-handlers!", 1, 1, (s.machine.handlers = s[0], kUnspecified)),
    LET("%continuation-winders", 1, 1, s.as<Continuation>(0)->winders),
    {"emergency-exit", 0, 1, ExitNow},
    {"current-jiffy", 0, 0, Jiffies},
    LET("jiffies-per-second", 0, 0, Value::Int(1000000)),
    {"current-second", 0, 0, Seconds},
    {"command-line", 0, 0, CommandLine},
    LET("this-scheme-implementation-name", 0, 0, MakeString("allomon-example")),
};

}  // namespace

void Machine::Flush() {
  for (PortState& port : ports_) FlushPort(port);
}

void DefinePrimitives(Machine& machine) {
  for (const PrimitiveInfo& info : kPrimitives) {
    Name* const name = machine.Intern(info.name);
    name->library = true;
    name->primitive = &info;
    const Local primitive = gc::make<Primitive>(&info);
    machine.Global(name) = primitive;
  }
}

}  // namespace scheme
