#!/usr/bin/env python3
"""Comments and documents speak of things that exist, and sources have one form.

Read are the comments of all sources (C++, Python, BUILD, shell) and all documents (.md).  What
they mention must be in the tree:

- a file: `foo/bar.h`, from the root, from the folder of the mention, or the end of a path;
- a section of a document: `"Title" in foo/README.md`, `foo/README.md, "Title"`,
  `section 3 of foo/README.md`, and in a document `section 3` of its own;
- a function, a type, a constant, a test: `name()`, `Class::Name`, `TwoHumps`, `kConstant`,
  `ALLOMON_MACRO`, `snake_case`.  Such a name must be a word of the tree's code; names of code that
  is not ours are listed here;
- a target: `//folder:target`;
- in a table of folders (FOLDER_TABLES), a folder: `name/`, from the root, the document's folder or
  the folder that the row is about.  The first table of tests/README.md has all folders of tests/.

Documents that are not in the repository (ABSENT) are not mentioned at all.

The form: an include guard is ALLOMON_<PATH>_H_, and no line is longer than 100 columns, except in
tables, in what a document shows literally, where clang-format is off, and for addresses of the web.
"""

import os
import re
import sys
import tempfile
import unittest

# Beside this file in the source tree, not beside the link to it that Bazel runs.
sys.dont_write_bytecode = True  # the source tree stays as it is
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "support"))
import markdown
import source_text

MOST_COLUMNS = 100
THIS_FILE = "tests/comments_test.py"  # mentions what is not there, to test that it is found

ABSENT = re.compile(r"\bDESIGN\b|(?<![\w/])reference/[\w.-]*")

# What comments may mention though it is not in the tree, and why.  Whoever adds a name has looked
# whether the comment could do without.
FOREIGN_NAMES = {
    "system calls that we make by number, or reject": (
        "arch_prctl gettid process_vm_readv rt_sigprocmask"
    ),
    "Linux's settings": "mmap_min_addr",
    "functions of glibc and libgcc that our code meets and does not call": (
        "__register_frame __tls_get_addr _dl_runtime_resolve pthread_key"
    ),
    "mimalloc's, which its backend avoids or replaces": "_mi_free_generic mi_malloc_aligned",
    "Google Benchmark's, whose calls a scope must sort out": (
        "FinishKeepRunning IterationCount StartKeepRunning MinTime"
    ),
    "projects": "AddressSanitizer GoogleMock GoogleTest LuaJIT",
    "gunicorn's setting": "preload_app",
    "systemd's settings": (
        "MemoryMax NoNewPrivileges PrivateTmp ProtectSystem SystemCallFilter TemporaryFileSystem"
    ),
    "what heap snapshots are made for and by": "DevTools JavaScript",
    "Bazel's rules": "py_binary py_test",
    "C++'s memory order": "seq_cst",
    "MLton's functions": "withData",
    "DWARF's instructions, by the standard's names": (
        "def_cfa def_cfa_offset def_cfa_register plus_uconst restore_extended restore_state"
    ),
    "OCaml's tests of Gc.Memprof, which tests of ours are named beside": (
        "alloc_counts arrays_in_major arrays_in_minor blocking_in_callback check_distrib"
        " counts_full_major discard_in_callback exception_callback exception_comballoc"
        " lists_in_minor minor_heap_edge minor_no_postpone moved_while_blocking no_nested"
        " start_stop stop_start_in_callback thread_exit_in_callback user_data_regression"
    ),
    "examples of a reader's own code": (
        "FirstName Interpreter MyTracker SecondName file_test mapping_size_bytes"
    ),
    "formulas": "rate_i",
    "ends of names, for units": "_bytes _ns _words",
    "beginnings of environment variables": "MIMALLOC_",
    "libraries": "absl_statusor",
    "nlohmann-json's parameters": "ensure_ascii",
}
FOREIGN_FILES = {
    "mimalloc": "mimalloc.h mimalloc-types.h",
    "GoogleTest": "gtest-message.h",
    "Google Benchmark": "benchmark_runner.cc json_reporter.cc",
    "OCaml": "memprof.c",
    "CPython": "obmalloc.c",
    "Linux": "posix-timers.h",
    "MLton": "profiling.c",
    "examples of a reader's own files": (
        "NAME_files.cc a.c f.cc file.cc foo.cc foo.h server.cc tree.cc"
    ),
}

FOLDER_TABLES = "ARCHITECTURE.md", "tests/README.md"

# crossing_test makes its tests of rows and columns; crossing_table_test looks whether each exists.
MADE_NAME = re.compile(
    r"(?:test_)?(?:fork|unload|keys|exit|signals|seccomp|limits|exec)"
    r"_(?:alloc|live|time|count|count_stack|guard|managed|trackers)"
)

EXTENSION = r"(?:h|cc|c|py|sh|md|bzl|lds)"
FILE = re.compile(
    r"(?<![\w./%$*<-])((?:[\w.-]+/)*[\w-]+(?:\.\w+)*\." + EXTENSION + r")(?![\w/*>-])"
)
LABEL = re.compile(r"(?<![\w@:/])//([\w/-]*)(?::([\w.-]*\w))?(?![\w.:/])")
CALL = re.compile(r"(?<![\w:~])((?:\w+::)*~?[A-Za-z_]\w*)\(\)")
QUALIFIED = re.compile(r"(?<![\w:])((?:[A-Za-z_]\w*::)+~?[A-Za-z_]\w*)")
# In backquotes or not: names of ours that no other word looks like.
OWN_NAME = re.compile(
    r"(?<![\w/@.-])(k[A-Z]\w+|ALLOMON_\w+|[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*)+)"
    r"(?![\w*-]|\.\w|\.\.\.)"
)
SNAKE_CASE = re.compile(r"(?<![\w/.:@$*<-])(_?[a-z]\w*_\w+)(?![\w/*-]|\." + EXTENSION + r"\b)")
FOLDER = re.compile(r"[`\[]((?:[\w.-]+/)+)[`\]]")
TABLE_ROW = re.compile(r"^\|([^|\n]*)\|.*$", re.MULTILINE)
DOCUMENT = r"((?:[\w.-]+/)*\w+\.md|README)"
SPACE = r"[\s]+"
SECTION_IN = re.compile(r'"([^"\n]*(?:\n[^"\n]*)?)"' + SPACE + r"(?:in|of)" + SPACE + DOCUMENT)
IN_SECTION = re.compile(DOCUMENT + r'\)?,\s+"([^"\n]*(?:\n[^"\n]*)?)"')
NUMBER_IN = re.compile(r"\bsection\s+(\d+)\s+(?:of|in)\s+" + DOCUMENT)
IN_NUMBER = re.compile(DOCUMENT + r"\)?,\s+section\s+(\d+)")
OWN_NUMBER = re.compile(r"(?<!, )(?<!,\n)\bsection (\d+)(?!\d|\.\d)(?!\s+(?:of|in)\s)")
HEADING = re.compile(
    r"^#+ +(?:(\d+)\. +)?(.*?) *$|^\*([^*\n]+?)[.:]?\*|^\*\*([^*\n]+?)[.:]?\*\*", re.MULTILINE
)
UNFORMATTED = re.compile(r"// clang-format off.*?// clang-format on", re.DOTALL)
WEB = re.compile(r"https?://")


class Tree:
    """What can be mentioned."""

    def __init__(self, root):
        self.paths = list(source_text.paths(root))
        self.folders = {path for path in self.paths if path.endswith("/")}
        self.ends = set()  # ends of paths, at /
        self.names = set()  # files without their extension
        for path in self.paths:
            parts = path.rstrip("/").split("/")
            self.ends.update("/".join(parts[i:]) for i in range(len(parts)))
            self.names.add(parts[-1].split(".")[0])
        self.sources = list(source_text.sources(root, self.paths))
        self.words = set()
        self.targets = {}  # path of a BUILD file -> words in it
        self.headings = {}  # path of a document -> titles and numbers
        for source in self.sources:
            if source.path != THIS_FILE:
                self.words.update(re.findall(r"[A-Za-z_]\w*", source.code))
            if os.path.basename(source.path) == "BUILD":
                self.targets[source.path] = set(re.findall(r"[\w.-]+", source.code))
            if source.path.endswith(".md"):
                found = self.headings.setdefault(source.path, set())
                for heading in HEADING.finditer(markdown.without_fences(source.text)):
                    for part in filter(None, heading.groups()):
                        title = " ".join(part.split()).lower()
                        found.update([title, title.split(",")[0]])

    def has_name(self, name):
        singular = name[:-1] if name.endswith("s") else name
        return (
            bool({name, singular} & self.words)
            or name in self.names
            or any(name in names.split() for names in FOREIGN_NAMES.values())
            or MADE_NAME.fullmatch(name) is not None
        )

    def has_file(self, name, mentioned_in):
        folder = os.path.dirname(mentioned_in)
        return (
            os.path.normpath(os.path.join(folder, name)) in self.ends
            or name in self.ends
            or any(os.path.basename(name) in names.split() for names in FOREIGN_FILES.values())
        )

    def documents(self, name, mentioned_in):
        """What a mention may mean: from the root, or from a folder above the mention."""
        name = name if name.endswith(".md") else name + ".md"
        folder = mentioned_in
        found = []
        while folder:
            folder = os.path.dirname(folder)
            path = os.path.normpath(os.path.join(folder, name))
            if path in self.headings:
                found.append(path)
        if not found and "/" in name:
            found = [path for path in self.headings if path.endswith("/" + name)]
        return found


def file_problems(tree, path, text):
    for match in FILE.finditer(text):
        if not match[1].startswith("bazel-") and not tree.has_file(match[1], path):
            yield match.start(), f"no file {match[1]}"


def section_problems(tree, path, text):
    found = []  # (match, title or number, document)
    for expression in SECTION_IN, NUMBER_IN:
        found += [(match, match[1], match[2]) for match in expression.finditer(text)]
    for expression in IN_SECTION, IN_NUMBER:
        found += [(match, match[2], match[1]) for match in expression.finditer(text)]
    if path.endswith(".md"):
        found += [(match, match[1], path) for match in OWN_NUMBER.finditer(text)]
    for match, title, name in found:
        documents = tree.documents(name, path)
        if not documents and not tree.has_file(name, path):
            continue  # which is a problem of its own
        title = " ".join(title.split())
        if not any(title.lower() in tree.headings[document] for document in documents):
            yield match.start(), f'no section "{title}" in {documents[0] if documents else name}'


def name_problems(tree, path, text):
    problems_at = {}
    for expression in CALL, QUALIFIED, OWN_NAME, SNAKE_CASE:
        for match in expression.finditer(text):
            parts = match[1].replace("~", "").split("::")
            if parts[0] in ("std", "absl", "testing", "benchmark"):
                continue
            for part in parts:
                if not tree.has_name(part):
                    problems_at[match.start()] = f"no code has the name {part}"
    yield from sorted(problems_at.items())


def label_problems(tree, path, text):
    for match in LABEL.finditer(text):
        package, target = match[1], match[2]
        if package.split("/")[0] + "/" not in tree.folders:
            continue  # an example's
        build = f"{package}/BUILD".lstrip("/")
        name = target or os.path.basename(package)
        if name not in tree.targets.get(build, ()) and not os.path.splitext(name)[1]:
            yield match.start(), f"no target {match.group()}"


def folder_problems(tree, path, text):
    if path not in FOLDER_TABLES:
        return
    for row in TABLE_ROW.finditer(text):
        places = ["", path[: path.rfind("/") + 1], *FOLDER.findall(row[1])]
        for match in FOLDER.finditer(row.group()):
            if not any(place + match[1] in tree.folders for place in places):
                yield row.start() + match.start(), f"no folder {match[1]}"


def missing_rows(tree):
    """Folders of tests/ that are in no row of their table, the first one."""
    for source in tree.sources:
        if source.path != "tests/README.md":
            continue
        table = re.sub(r"\n\n## .*", "", source.text, flags=re.DOTALL)
        rows = {name for row in TABLE_ROW.finditer(table) for name in FOLDER.findall(row[1])}
        for folder in sorted(tree.folders):
            module, name = folder.split("/", 1)
            if module == "tests" and name.count("/") == 1 and name not in rows:
                yield f"{source.path}:1: no row for {name}"


def form_problems(source):
    name = os.path.basename(source.path)
    if name.endswith(".h"):
        # C programs find mon.h by its folder `include`, and read it without C++'s comments.
        path = re.sub(r".*/include/", "", source.path)
        guard = "ALLOMON_" + re.sub(r"[^A-Za-z0-9]", "_", path).upper() + "_"
        found = re.search(r"^#ifndef (\w+)\n#define \1\n", source.text, re.MULTILINE)
        ends = f"#endif  // {guard}\n", f"#endif /* {guard} */\n"
        if not found or found[1] != guard or not source.text.endswith(ends):
            yield 1, f"the include guard is not {guard}"
    text = markdown.without_fences(source.text) if name.endswith(".md") else source.text
    text = UNFORMATTED.sub(lambda part: "\n" * part.group().count("\n"), text)
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > MOST_COLUMNS and not WEB.search(line):
            if not (name.endswith(".md") and line.lstrip().startswith("|")):
                yield number, f"{len(line)} columns"


def mention_problems(tree, path, text):
    for match in ABSENT.finditer(text):
        yield match.start(), f"{match.group()} is not in the repository"
    for find in file_problems, section_problems, name_problems, label_problems, folder_problems:
        yield from find(tree, path, text)


def problems(root):
    tree = Tree(root)
    for source in tree.sources:
        comments = source.comments
        if source.path == THIS_FILE:
            comments = []
        for comment in comments:
            text = comment.text
            if source.path.endswith(".md"):
                text = markdown.without_fences(text)
            for position, problem in mention_problems(tree, source.path, text):
                line = comment.line + text.count("\n", 0, position)
                yield f"{source.path}:{line}: {problem}"
        for line, problem in form_problems(source):
            yield f"{source.path}:{line}: {problem}"
    yield from missing_rows(tree)


class FakeTree(unittest.TestCase):
    BASE = {
        "README.md": "# Top\n\n## Find an error, at night\n",
        "tracker/BUILD": 'cc_library(name = "tracker")\n',
        "tracker/README.md": "## 1. The law\n\n## 2. Call stacks\n\n*Waking.* As is.\n",
        "tracker/core/pin.h": (
            "#ifndef ALLOMON_TRACKER_CORE_PIN_H_\n#define ALLOMON_TRACKER_CORE_PIN_H_\n"
            "class Pin { void LetGo(); int pins_used; };\n"
            "#endif  // ALLOMON_TRACKER_CORE_PIN_H_\n"
        ),
        "tests/core/pin_test.cc": "TEST(Pin, IsLetGo) {}\n",
    }

    def check(self, files, *expected):
        with tempfile.TemporaryDirectory() as root:
            source_text.write_tree(root, {**self.BASE, **files})
            self.assertEqual(list(problems(root)), list(expected))

    def good(self, *comments):
        for comment in comments:
            with self.subTest(comment=comment):
                self.check({"tracker/core/a.cc": f"int a;  // {comment}\n"})
                self.check({"tracker/core/A.md": f"{comment}\n"})
                self.check({"tracker/core/a.py": f'"""{comment}\n"""\n'})

    def bad(self, comment, expected):
        files = {
            "a.cc": f"\n// {comment}\n",
            "a.sh": f"b=1\n# {comment}\n",
            "A.md": f"\n{comment}\n",
            "BUILD": f"# First,\n# {comment}\n",
        }
        for name, text in files.items():
            with self.subTest(comment=comment, file=name):
                self.check({"tracker/core/" + name: text}, f"tracker/core/{name}:2: {expected}")
        with self.subTest("In code, it is no mention.", comment=comment):
            self.check({"tracker/core/a.cc": f'const char* b = R"({comment})";\n'})

    def test_files(self):
        self.good("See tracker/core/pin.h, core/pin.h and pin.h.", "As ../README.md says: pin.*.")
        self.good("pin_test has it", "core/pin_test has it", "<sys/mman.h>", "bazel-bin/a/b.h")
        self.bad("See core/gone.h.", "no file core/gone.h")
        self.bad("See allocator/pin.h.", "no file allocator/pin.h")
        self.bad("gone.cc has it", "no file gone.cc")
        self.bad("`gone_test` has it", "no code has the name gone_test")

    def test_folders_of_a_table(self):
        self.check({
            "ARCHITECTURE.md": "| [tracker/](tracker/README.md) | `core/`, `tests/core/` |\n",
            "tests/README.md": "In `gone/`:\n\n| `core/` | `tracker/` |\n",
            "tracker/README.md": "| `gone/` | |\n",
        })
        self.check(
            {"tests/README.md": "| `odd/` | |\n\n## Core\n\n| `core/` | |\n", "tests/odd/a": ""},
            "tests/README.md:1: no row for core/",
        )
        self.check(
            {"ARCHITECTURE.md": "| `tracker/` | [core/](tracker/core/) |\n| `gone/` | `core/` |\n"},
            "ARCHITECTURE.md:2: no folder gone/", "ARCHITECTURE.md:2: no folder core/",
        )

    def test_sections(self):
        self.good('See "The law" in tracker/README.md.', '"Waking" in README.md')
        self.good('tracker/README.md, "Call stacks", has it.', 'README, "The law"')
        self.good('"Find an error" in ../../README.md', '[tracker](../README.md), "The law"')
        self.good("section 2 of tracker/README.md", "tracker/README.md, section 1")
        self.good("section 7 of the standard")
        self.check({"tracker/a.cc": '// See "The\n// law" in\n// README.md.\n'})
        no_luck = 'no section "The luck" in tracker/README.md'
        self.bad('See "The luck" in tracker/README.md.', no_luck)
        self.bad('README.md, "The luck"', no_luck)
        self.bad("section 3 of tracker/README.md", 'no section "3" in tracker/README.md')
        self.bad('"The law" in DOC.md', "no file DOC.md")

    def test_own_sections(self):
        self.check({"tracker/README.md": "## 1. The law\n\nSee section 1.\n"})
        self.check(
            {"tracker/README.md": "## 1. The law\n\nSee section 2.\n"},
            'tracker/README.md:3: no section "2" in tracker/README.md',
        )

    def test_names(self):
        self.good("LetGo() and Pin::LetGo, pin.LetGo()", "Pins are LIFO", "pins_used")
        self.good("MLton and OCaml", "std::gone()", "a*_b", "IsLetGo", "Tracker", "IsLet...")
        self.bad("TakeAll() has it", "no code has the name TakeAll")
        self.bad("pin.take() has it", "no code has the name take")
        self.bad("Pin::Gone has it", "no code has the name Gone")
        self.bad("A GonePin has it", "no code has the name GonePin")
        self.bad("kGone, at most", "no code has the name kGone")
        self.bad("ALLOMON_GONE=1", "no code has the name ALLOMON_GONE")
        self.bad("all of `gone_pins`", "no code has the name gone_pins")

    def test_a_comment_is_no_code(self):
        self.check(
            {"tracker/a.cc": "// LetAllGo()\nint a;  // Here LetAllGo() is.\n"},
            "tracker/a.cc:1: no code has the name LetAllGo",
            "tracker/a.cc:2: no code has the name LetAllGo",
        )

    def test_targets(self):
        self.good("//tracker and //tracker:tracker", "//server:server", "//...")
        self.bad("//tracker:gone", "no target //tracker:gone")
        self.bad("//tracker/core", "no target //tracker/core")

    def test_absent_documents(self):
        self.bad("as DESIGN says", "DESIGN is not in the repository")
        self.bad("(reference/notes)", "reference/notes is not in the repository")

    def test_what_is_shown_literally(self):
        self.check({"A.md": "```\nGone() in gone.cc " + 100 * "x" + "\n```\n"})

    def test_width(self):
        self.check({"a.cc": "//" + 98 * "x" + "\n", "b.md": "|" + 120 * "x" + "\n"})
        self.check({"a.cc": "// clang-format off\n//" + 99 * "x" + "\n// clang-format on\n"})
        self.check({"a.cc": "// https://" + 99 * "x" + "\n"})
        for name in "a.cc", "a.h.md", "a.py", "a.sh", "tools/BUILD":
            self.check({name: 99 * "#" + "  \n"}, f"{name}:1: 101 columns")

    def test_guards(self):
        def header(name, end):
            return f"// A.\n#ifndef {name}\n#define {name}\n#endif{end}\n"

        good = "ALLOMON_TRACKER_A_B_H_"
        message = f"tracker/a_b.h:1: the include guard is not {good}"
        self.check({"tracker/a_b.h": header(good, f"  // {good}")})
        self.check({"tracker/a_b.h": header(good, "")}, message)
        self.check({"tracker/a_b.h": header("TRACKER_A_B_H_", "  // TRACKER_A_B_H_")}, message)
        self.check({"tracker/include/a_b.h": header("ALLOMON_A_B_H_", " /* ALLOMON_A_B_H_ */")})
        self.check({"tracker/a_b.h": "#pragma once\n"}, message)


class SourceTree(unittest.TestCase):
    def test_comments(self):
        found = list(problems(source_text.workspace()))
        if found:
            self.fail(f"{len(found)} problems\n" + "\n".join(found))


if __name__ == "__main__":
    sys.exit(unittest.main())
