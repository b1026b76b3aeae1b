#!/usr/bin/env python3
"""The commands that Markdown files show name what exists, and the quick benchmarks run.

Checked, of commands in code blocks and in `code` inside of text (`bazel run ...`, `allomon ...`,
scripts and programs by their path):
- a target of Bazel is one that its BUILD file makes, and a --config is one of .bazelrc;
- a subcommand of allomon exists, and lists each option in its --help; so do mlprof and prof;
- a script exists, may be executed, and knows each option: by its --help if that is argparse's,
  otherwise because its source has the option's text;
- a program in bazel-bin is one that a BUILD file makes;
- a variable ALLOMON_* that a command sets is mentioned by a source that is not a document.
Run: the --help of each such script, and what SMALLEST_RUNS lists, as small as it goes.

Not checked: values of options, names of files, what a command prints, commands of others (cmake,
apt, perl), targets of a reader's own project (//:x, //my/x), code blocks in a language, and
CHANGELOG.md.  The BUILD files are executed as Python with stand-ins for rules, so a target that
only a real Bazel could refuse passes.  Benchmarks that take more than some seconds as small as they
go (or need valgrind, OCaml, Redis) are not run here; the tests in integration/ run those that have
golden tables.
"""

import builtins
import os
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

# Beside this file in the source tree, not beside the link to it that Bazel runs.
sys.dont_write_bytecode = True  # the source tree stays as it is
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "support"))
import markdown

ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
RUNFILES = os.path.join(os.environ.get("TEST_SRCDIR", ""), os.environ.get("TEST_WORKSPACE", ""))

# Blocks in these languages are no commands.
LANGUAGES = ("bash", "console", "sh", "shell", "")
# The program by which a command is called, and the folder of its binary.
COMMANDS = {name: os.path.join("tools", name, name) for name in ("allomon", "mlprof", "prof")}
STARTS_A_COMMAND = re.compile(
    r"(?:\./)?bazelw?\b|allomon [a-z]|mlprof |(?:benchmarks|tests|tools)/"
)

# The benchmarks that end within seconds, by the smallest run of each.
SMALLEST_RUNS = [
    ["callstack_benchmark", "--benchmark_filter=Capture/", "--benchmark_min_time=0.0001"],
    [
        "compare", "--rounds=1", "--only=^start-up",
        "--columns=allomon 1e-4 / allomon off", "--json=out.json", "--svg=out.svg",
    ],
    ["heap_snapshot", "list", "1000", "out.heapsnapshot"],
    ["parts_benchmark", "--benchmark_filter=Report/.*:1000/", "--benchmark_min_time=0.0001"],
    ["profile_costs", "--rounds=1", "--n=20"],
    ["recording_stacks", "4"],
    ["runtime_benchmark", "bt", "8"],
    ["sample_benchmark", "--benchmark_filter=Recursion", "--benchmark_min_time=0.0001"],
    ["sample_memory"],
]


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def tree(ending):
    """Paths from the root of the tree's files."""
    for folder, subfolders, files in os.walk(ROOT):
        subfolders[:] = sorted(it for it in subfolders if not it.startswith((".", "bazel-")))
        for name in sorted(files):
            if name.endswith(ending):
                yield os.path.relpath(os.path.join(folder, name), ROOT)


# What is shown.


def blocks(text):
    """(whether it is a block, text) of a document's code."""
    for info, content in markdown.fences(text):
        if info in LANGUAGES:
            yield True, content
    for found in re.finditer(r"`([^`]+)`", markdown.without_fences(text)):
        yield False, found[1].replace("\n", " ")


def lines(text):
    """The lines of a block that are commands: of a session, those behind a prompt."""
    text = text.replace("\\\n", " ")
    found = [line.strip() for line in text.split("\n")]
    prompted = [line[2:] for line in found if line.startswith("$ ")]
    return prompted or found


def words_of(line):
    """The commands of a line of the shell, as lists of words; none if it is not one."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=";&|<>")
    lexer.whitespace_split = True
    lexer.commenters = "#"
    command = []
    try:
        for word in lexer:
            if word and word[0] in ";&|":
                yield command
                command = []
            else:
                command.append(word)
    except ValueError:  # a quotation mark that is not closed: text
        return
    yield command


def shown(text):
    """The commands of a document: (variables that are set, words)"""
    for is_block, code in blocks(text):
        for line in lines(code) if is_block else [code]:
            if not is_block and not STARTS_A_COMMAND.match(line):
                continue
            for words in words_of(line):
                variables = []
                while words and (re.match(r"[A-Z_]+=", words[0]) or words[0] == "sudo"):
                    variables.append(words.pop(0).split("=")[0])
                if words and not words[0].startswith(("@", "//")):
                    yield variables, words


# What exists.


class Anything:
    """A stand-in for each value that only Bazel has."""

    def __call__(self, *_, **__):
        return self

    def __getattr__(self, _):
        return self

    def __getitem__(self, _):
        return self

    def __add__(self, other):
        return other

    __radd__ = __add__

    def __iter__(self):
        return iter(())

    def __str__(self):
        return "anything"


class Names(dict):
    """The globals of a BUILD file: every function that is not known makes a target."""

    def __init__(self, targets, **known):
        super().__init__(known)
        self.targets = targets

    def __missing__(self, name):
        if hasattr(builtins, name):
            raise KeyError(name)

        def rule(*_, **arguments):
            if "name" in arguments:
                self.targets.add(arguments["name"])
            return Anything()

        return rule


def targets_of(package):
    """The names of a package's targets, by its BUILD file."""
    targets = set()

    def gate(name, **_):
        targets.update((name, name + ".update"))

    names = Names(
        targets,
        allocation_gate_test=gate,
        glob=lambda *_, **__: [],
        select=lambda *_, **__: [],
        WRAPPED=[],
        native=Anything(),
    )
    # Every name is a global of `names`: a comprehension looks there, too.
    code = compile(read(os.path.join(package, "BUILD")), package, "exec")
    exec(code, names)  # pylint: disable=exec-used
    return targets


class Tree:
    def __init__(self):
        self.packages = {os.path.dirname(path) for path in tree("BUILD")
                         if os.path.basename(path) == "BUILD"}
        self.known = {}
        sources = (".bzl", ".c", ".cc", ".h", ".py", ".sh")
        self.variables = {
            found for path in tree(sources) if path != "tests/documented_commands_test.py"
            for found in re.findall(r"\bALLOMON_[A-Z_]+\b", read(path))
        }
        self.configs = set(re.findall(r"^\w+:(\w+) ", read(".bazelrc"), re.MULTILINE))

    def has_target(self, label):
        """Whether a label without a repository is one of the tree's."""
        label = label[2:]
        if label == "..." or label.endswith("/..."):
            under = label[:-4]
            return any(it == under or it.startswith(under + "/") or not under
                       for it in self.packages)
        package, _, name = label.partition(":")
        name = name or os.path.basename(package)
        if package not in self.packages:
            return False
        if package not in self.known:
            self.known[package] = targets_of(package)
        return name == "all" or name in self.known[package]


def options_of(words):
    """The options among a command's words, without their values; -- ends them."""
    for word in words:
        if word in ("--", "[--"):
            return
        found = re.match(r"\[?(--?[A-Za-z][A-Za-z0-9_-]*)", word)
        if found:
            yield found[1]


def lists(help_text, option):
    return re.search(r"(?<![\w-])" + re.escape(option) + r"(?![\w-])", help_text)


class Checker:
    """Says what is wrong with a command."""

    def __init__(self, there, help_of):
        self.there, self.help_of = there, help_of

    def wrong(self, variables, words):
        for variable in variables:
            if variable.startswith("ALLOMON_") and variable not in self.there.variables:
                yield f"no source mentions {variable}"
        name = os.path.basename(words[0])
        if re.fullmatch(r"(\./)?bazelw?", words[0]):
            yield from self.wrong_bazel(words[1:])
        elif "bazel-bin/" in words[0]:
            path = words[0].split("bazel-bin/")[1]
            label = "//" + os.path.dirname(path) + ":" + os.path.basename(path)
            own = label.startswith("//:")  # of the reader's own project
            if not own and "$" not in label and not self.there.has_target(label):
                yield f"no target {label}"
            if name in COMMANDS:
                yield from self.wrong_options(name, words[1:])
        elif words[0] in COMMANDS:
            yield from self.wrong_options(name, words[1:])
        elif re.fullmatch(r"(\./)?([\w-]+/)+[\w-]+\.(py|sh)", words[0]):
            yield from self.wrong_script(words[0], words[1:])

    def wrong_bazel(self, words):
        script = None
        for at, word in enumerate(words):
            if word == "--":
                if script:
                    yield from self.wrong_script(script, words[at + 1:], executable=False)
                return
            found = re.fullmatch(r"--config=(\w+)", word)
            if found and found[1] not in self.there.configs:
                yield f"no --config={found[1]}"
            for label in re.findall(r"^(?:--)?(//[^=]+)", word):
                if not re.fullmatch(r"[\w/.:+-]+", label) or label.startswith(("//my/", "//:")):
                    continue  # of the reader's own project
                if not self.there.has_target(label):
                    yield f"no target {label}"
                path = label[2:].replace(":", "/") + ".py"
                if words[0] == "run" and os.path.exists(os.path.join(ROOT, path)):
                    script = path

    def wrong_options(self, command, words):
        sub = []
        if command == "allomon":
            if not words or words[0].endswith(":") or words[0].isupper():
                return  # a line that it prints; COMMAND
            if words[0].startswith("-") or words[0] == "help":
                return
            sub, words = [words[0]], words[1:]
        status, text = self.help_of(command, *sub)
        if status != 0:
            yield f"{' '.join([command, *sub])} is unknown"
            return
        end = len(words)
        if sub == ["run"]:  # behind the name of a program the options are the program's
            plain = [at for at, it in enumerate(words)
                     if not it.startswith("-") and (at == 0 or words[at - 1] != "-o")]
            end = plain[0] if plain else end
        for option in options_of(words[:end]):
            if not lists(text, option):
                yield f"{' '.join([command, *sub])} has no {option}"

    def wrong_script(self, path, words, executable=True):
        path = path[2:] if path.startswith("./") else path
        full = os.path.join(ROOT, path)
        if not os.path.exists(full):
            yield f"no {path}"
            return
        if executable and not os.access(full, os.X_OK):
            yield f"{path} may not be executed"
        text = read(path)
        if "argparse" in text:
            status, text = self.help_of(full)
            if status != 0:
                yield f"{path} --help ended with {status}"
        for option in options_of(words):
            plain = option.lstrip("-")
            if not lists(text, option) and f'option("{plain}"' not in text:
                yield f"{path} has no {option}"


def help_of_programs():
    """A function that runs a command with --help, each once."""
    known = {}

    def help_of(program, *arguments):
        if (program, *arguments) not in known:
            path = os.path.join(RUNFILES, COMMANDS.get(program, program))
            done = subprocess.run(
                [path, *arguments, "--help"], capture_output=True, text=True, check=False,
                stdin=subprocess.DEVNULL, timeout=60,
            )
            text = done.stdout + done.stderr
            # The commands of MLton's kind answer a call without arguments.
            usage = program in ("mlprof", "prof")
            known[(program, *arguments)] = (0 if usage else done.returncode, text)
        return known[(program, *arguments)]

    return help_of


class Shown(unittest.TestCase):
    def test_commands_of_blocks_and_of_text(self):
        text = (
            "`bazel run //a:b -- --x` and `no command`\n```\n$ A=1 sudo x/y.py --z 'a b' | c ''\n"
            "allomon run: printed\n$ d \\\n  e  # why\n```\n```cpp\nallomon code\n```\n"
        )
        self.assertEqual(
            sorted(shown(text)),
            [
                ([], ["bazel", "run", "//a:b", "--", "--x"]),
                ([], ["c", ""]),
                ([], ["d", "e"]),
                (["A", "sudo"], ["x/y.py", "--z", "a b"]),
            ],
        )


class Wrong(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.checker = Checker(Tree(), help_of_programs())

    def check(self, command, *expected):
        [(variables, words)] = shown(f"```\n{command}\n```\n")
        self.assertEqual(list(self.checker.wrong(variables, words)), list(expected), command)

    def test_what_is_wrong_is_said(self):
        self.check("bazel run //benchmarks:compare -- --rounds 3")
        self.check("bazel run //benchmarks:own_allocations_gate.update")
        self.check("bazel test //tests/... //tracker --config=asan")
        self.check("bazel build //tools:no_such", "no target //tools:no_such")
        self.check("bazel build //no/such", "no target //no/such")
        self.check("bazel test --config=no_such //...", "no --config=no_such")
        self.check(
            "bazel run //benchmarks:compare -- --fast", "benchmarks/compare.py has no --fast"
        )
        self.check("bazel run //benchmarks:profile_costs -- --fast",
                   "benchmarks/profile_costs.py has no --fast")
        self.check("bazel-bin/tools/allomon/alomon", "no target //tools/allomon:alomon")
        self.check("allomon run -o x --every=8k prog --no-such")
        self.check("allomon run --no-such prog", "allomon run has no --no-such")
        self.check("allomon ctl 1 start --al", "allomon ctl has no --al")
        self.check("allomon reprot x", "allomon reprot is unknown")
        self.check("mlprof -no-such true x", "mlprof has no -no-such")
        self.check("ALLOMON_NEW=1 allomon list", "no source mentions ALLOMON_NEW")
        self.check("tests/no_such.py", "no tests/no_such.py")
        self.check("benchmarks/ratios.py", "benchmarks/ratios.py may not be executed")


class Documents(unittest.TestCase):
    def test_each_command_names_what_exists(self):
        checker = Checker(Tree(), help_of_programs())
        problems, commands = [], 0
        for path in tree(".md"):
            if path == "CHANGELOG.md":  # of the past
                continue
            for variables, words in shown(read(path)):
                commands += 1
                for problem in checker.wrong(variables, words):
                    problems.append(f"{path}: {shlex.join(words)}: {problem}")
        self.assertEqual(problems, [], "\n" + "\n".join(problems))
        self.assertGreater(commands, 100)


class Benchmarks(unittest.TestCase):
    def test_smallest_runs(self):
        for name, *arguments in SMALLEST_RUNS:
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                done = subprocess.run(
                    [os.path.join(RUNFILES, "benchmarks", name), *arguments], cwd=folder,
                    env={**os.environ, "BUILD_WORKING_DIRECTORY": folder}, check=False,
                    capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60,
                )
                self.assertEqual(done.returncode, 0, done.stderr[-2000:])
                self.assertTrue(done.stdout, done.stderr[-2000:])
                for argument in arguments:
                    if argument.partition("=")[2].startswith("out."):
                        path = os.path.join(folder, argument.partition("=")[2])
                        self.assertGreater(os.path.getsize(path), 0, argument)


if __name__ == "__main__":
    sys.exit(unittest.main())
