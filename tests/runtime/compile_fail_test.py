#!/usr/bin/env python3
"""Uses that the managed heap refuses at compile time are refused by g++ and clang++, with the
message that says what to do.

The headers of the runtime take a compiler some seconds, a case a tenth of that: each compiler reads
them once, into a precompiled header, and the cases are compiled side by side.
"""

import concurrent.futures
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
COMPILERS = [name for name in ("g++", "clang++") if shutil.which(name)]

PROLOGUE = """
#include <string>
#include "runtime/custom.h"
#include "runtime/heap.h"
#include "runtime/marshal.h"
#include "runtime/weak.h"
namespace gc = allomon::gc;
struct Cell { long head; gc::Field<Cell> tail; };
struct Based : Cell { long more; };
"""

GOOD = """
gc::Local<Cell> f(gc::Handle<Cell> c) { return gc::make<Cell>(1, c->tail); }
gc::Local<gc::Value> f(bool b, gc::Local<Cell> c, gc::Local<gc::Value> v) { return b ? c : v; }
size_t Size(std::string_view text) { return text.size(); }
size_t f(gc::Handle<gc::Bytes> b, gc::Root<gc::Bytes>& r) { return Size(b) + Size(r); }
int64_t f(gc::Handle<gc::Value> v) { return v.as_int_or(3); }
gc::Local<gc::WeakRef<Cell>> g(gc::Handle<Cell> c) { return gc::make_weak<Cell>(c); }
struct Arrays { char text[3]; gc::Field<Cell> cells[2]; long last[2][2]; gc::Field<Cell> cell; };
static_assert(gc::internal::PointerMap(gc::internal::kReferences<Arrays>) == 0b10000110);
static_assert(gc::internal::kMarshalMembers<Arrays>.n_references == 3);
struct One { gc::Field<Cell> cells[1]; };
static_assert(gc::internal::PointerMap(gc::internal::kReferences<One>) == 0b1);
struct Inner { int a; gc::Field<Cell> cell; };
struct Nested { Inner inner[2]; gc::Untraced<One*> one; Inner last; };
static_assert(gc::internal::PointerMap(gc::internal::kReferences<Nested>) == 0b1001010);
auto g() { return gc::make<Nested>(); }
"""

# g++ shows the line of the constructor with its comment, clang++ the struct.
IS_NO_VARIABLE = "it is no variable|implicitly-deleted default constructor|calling a private"

# (code, the compiler's message)
BAD = [
    ("struct T { Cell* raw; }; auto f() { return gc::make<T>(); }", "must not hold a raw pointer"),
    ("struct T { std::string s; }; auto f() { return gc::make<T>(); }", "must not own anything"),
    ("struct T { gc::Local<Cell> l; }; auto f() { return gc::make<T>(); }", "must not"),
    ("struct T { gc::Field<Cell> f = gc::make<Cell>(1, nullptr); };"
     "auto f() { return gc::make<T>(); }", "without throwing"),
    ("auto f() { return gc::make<Based>(); }", "into base classes: specialise ReferencesOf<T>"),
    ("struct Empty {}; struct T : Empty { gc::Field<Cell> c; };"
     "auto f() { return gc::make<T>(); }", "into base classes: specialise ReferencesOf<T>"),
    ("struct T { long a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q; };"
     "auto f() { return gc::make<T>(); }", "sees 16 members.* specialise ReferencesOf<T>"),
    ("struct T { char text[17]; gc::Field<Cell> c; }; auto f() { return gc::make<T>(); }",
     "sees 16 members.* specialise ReferencesOf<T>"),
    ("auto f(double d) { return gc::make<Cell>(d, nullptr); }", "would be narrowed"),
    ("struct T { size_t n; }; auto f(int n) { return gc::make<T>(n); }", "would be narrowed"),
    ("auto f() { return gc::make<Cell>(1, nullptr, 2); }", "too many arguments"),
    ("struct T { gc::Trailing<Cell> a; long b; }; auto f() { return gc::make_trailing<T>(1, 2L); }",
     "a Trailing is the last member"),
    ("struct T { gc::Trailing<Cell> a; }; auto f() { return gc::make<T>(); }", "make_trailing"),
    ("auto f(gc::Handle<gc::Value> v) { return v ? 1 : 2; }", r"is_null\(\), is_truthy\(\)"),
    ("auto f() { return gc::Value::Int(2.5); }", "no matching function"),
    ("auto f() { return gc::Value::Bool(1); }", "no matching function"),
    ("gc::Numbers<bool>* p; auto f() { return p->length(); }", "bits are Bytes"),
    ("struct T { using Extends = Cell; Cell cell; }; auto f() { return gc::make<T>(1, nullptr); }",
     "kIsBase = true"),
    ("struct B { static constexpr bool kIsBase = true; long n; };"
     "struct T { using Extends = B; long m; B b; }; auto f() { return gc::make<T>(1L, B{2}); }",
     "is that of the first member"),
    ("struct T { gc::Untraced<int*> p; }; void f(gc::MarshalTypes& t) { t.Add<T>(\"t\"); }",
     "only numbers, enums and references can be marshalled"),
    ("struct T { gc::Trailing<Cell> a; }; void f(gc::MarshalTypes& t) { t.Add<T>(\"t\"); }",
     "a type with a Trailing cannot be marshalled"),
    ("struct T { int a : 3; int b : 5; long c; long d[4]; };"
     "auto f() { return gc::make<T>(); }", "ReferencesOf|cannot|decomposes"),
    ("class T { public: T(int); gc::Field<Cell> f; }; auto f() { return gc::make<T>(1); }",
     "must be an aggregate"),
    ("struct T { char big[9000]; }; template <> struct gc::ReferencesOf<T> {"
     "static constexpr size_t kOffsetsBytes[] = {0}; }; auto f() { return gc::make<T>(); }",
     "at most 8 KiB"),
    ("struct T { static constexpr const char* kReferenceNames[] = {\"a\", \"b\"};"
     "gc::Field<Cell> a; }; auto f() { return gc::make<T>(nullptr); }",
     "a name for each reference"),
    ("Cell& f(gc::Handle<Cell> c) { return *c; }", "deleted"),
    ("Cell* f(gc::Handle<Cell> c) { return c; }", "cannot convert|no viable conversion"),
    ("void f() { Cell c; }", IS_NO_VARIABLE),
    ("Cell c;", IS_NO_VARIABLE),
    ("void f() { static thread_local Cell c[2]; }", IS_NO_VARIABLE),
    ("void f() { Cell c{}; }", IS_NO_VARIABLE),
    ("void f() { Cell c{1}; }", IS_NO_VARIABLE),
    ("auto* f() { return new Cell; }", IS_NO_VARIABLE),
    ("auto* f() { return new Cell(); }", IS_NO_VARIABLE),
    ("auto f() { return std::make_unique<Cell>(); }", IS_NO_VARIABLE),
    ("struct T { long n; Cell c; }; void f() { T t; }", IS_NO_VARIABLE),
    ("struct T { gc::Trailing<Cell> a; }; void f() { T t; }", IS_NO_VARIABLE),
    ("void f() { gc::WeakMap<Cell, Cell> m; }", IS_NO_VARIABLE),
    ("void f(gc::Handle<Cell> c) { auto x = c->tail; }", "write Local<T> x"),
    ("gc::Local<gc::Value> f(bool b, gc::Handle<Cell> c) { return b ? c : gc::Value::Null(); }",
     "write Local<Value>.object."),
    ("struct T { gc::Field<Cell> c; };"
     "template <> struct gc::ReferencesOf<T> : gc::NoReferences {};"
     "auto f() { return gc::make<T>(nullptr); }", "there is a Field in this one"),
    ("auto* f() { return new gc::Local<Cell>; }", "deleted"),
    ("auto* f() { return new gc::Local<Cell>[3]; }", "deleted"),
    ("void f(gc::Handle<Cell> c) { gc::Field<Cell> copy(c->tail); }", "deleted"),
    ("struct Other { long x; }; void f(gc::Handle<Cell> c, gc::Handle<Other> o) { c->tail = o; }",
     "no match|no viable|ambiguous"),
    ("struct T { int* raw; }; void f(gc::MarshalTypes& t) { t.Add<T>(\"t\"); }",
     "only numbers, enums and references can be marshalled"),
    ("void f(gc::MarshalTypes& t) { t.Add<gc::WeakRef<Cell>>(\"t\"); }",
     "weak references and ephemerons cannot be marshalled"),
    ("void f(gc::MarshalTypes& t) { t.Add<gc::WeakMap<Cell, Cell>>(\"t\"); }",
     "only structs, arrays and Bytes can be marshalled"),
    ("void f(gc::MarshalTypes& t) { t.Add<gc::CustomBlock>(\"t\"); }",
     "only structs, arrays and Bytes can be marshalled"),
    ("struct T { long a[3]; gc::Field<Cell> c; }; template <> struct gc::ReferencesOf<T> {"
     "static constexpr size_t kOffsetsBytes[] = {24}; };"
     "void f(gc::MarshalTypes& t) { t.Add<T>(\"t\"); }", "say what they refer to"),
    ("struct T { gc::Field<Cell> c[2]; }; template <> struct gc::ReferencesOf<T> {"
     "static constexpr size_t kOffsetsBytes[] = {8, 0}; using Targets = std::tuple<Cell>; };"
     "void f(gc::MarshalTypes& t) { t.Add<T>(\"t\"); }", "must ascend|constant expression"),
]


STORE = """
#include "runtime/internal/collect/barrier.h"
using namespace allomon::gc::internal;
void Store(Slot* slot, Object* old, Object* value) { Remember(slot, old, *slot = value); }
"""


def run(compiler, *arguments, code=""):
    return subprocess.run([compiler, "-std=c++17", "-I", ROOT, *arguments], input=code,
                          capture_output=True, text=True, check=False)


# Debian's clang alone has no sanitizers: another package has them, whose headers Abseil includes.
def can_sanitize(compiler):
    return run(compiler, "-fsanitize=address", "-fsyntax-only", "-x", "c++", "-",
               code="#include <sanitizer/asan_interface.h>").returncode == 0


class CompileFail(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.pool = concurrent.futures.ThreadPoolExecutor(os.cpu_count())
        cls.addClassCleanup(cls.pool.shutdown)
        with open(os.path.join(cls.folder, "source.h"), "w", encoding="utf-8") as file:
            file.write(PROLOGUE)
        for done in cls.pool.map(cls.precompile, COMPILERS):
            if done.returncode != 0:
                raise AssertionError(done.stderr)

    # Without the precompiled form there is no such header, so no case compiles.
    @classmethod
    def prologue(cls, compiler):
        return os.path.join(cls.folder, compiler + ".h")

    @classmethod
    def precompile(cls, compiler):
        return run(compiler, "-x", "c++-header", os.path.join(cls.folder, "source.h"),
                   "-o", cls.prologue(compiler) + ".gch")

    def compile(self, case):
        compiler, code = case
        return run(compiler, "-fsyntax-only", "-include", self.prologue(compiler),
                   "-x", "c++", "-", code=code)

    def test_good_compiles(self):
        for compiler in COMPILERS:
            result = self.compile((compiler, GOOD))
            self.assertEqual(result.returncode, 0, result.stderr)

    def test_bad_is_refused(self):
        cases = [(compiler, code) for compiler in COMPILERS for code, _ in BAD]
        messages = [message for _ in COMPILERS for _, message in BAD]
        results = self.pool.map(self.compile, cases)
        for (compiler, code), message, result in zip(cases, messages, results):
            with self.subTest(compiler=compiler, code=code):
                self.assertNotEqual(result.returncode, 0, "compiles")
                self.assertRegex(result.stderr, message)

    @unittest.skipIf(platform.machine() != "x86_64", "one range serves all configurations")
    # checks inv.young.range
    def test_code_for_another_young_range_does_not_link(self):
        compilers = [compiler for compiler in COMPILERS if can_sanitize(compiler)]
        self.assertTrue(compilers, f"none of {COMPILERS} has headers of the address sanitizer")
        for compiler in compilers:
            texts = [run(compiler, *options, "-S", "-o", "-", "-x", "c++", "-", code=STORE).stdout
                     for options in ([], ["-fsanitize=address"])]
            plain, sanitized = [set(re.findall(r"allomon_gc_window_\w+", text)) for text in texts]
            with self.subTest(compiler=compiler):
                self.assertEqual((len(plain), len(sanitized)), (1, 1))
                self.assertNotEqual(plain, sanitized)


if __name__ == "__main__":
    sys.exit(unittest.main())
