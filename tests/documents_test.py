#!/usr/bin/env python3
"""Every command that README.md and docs/ show is run by a test: by this one, or by one it names.

A page is read from top to bottom:
- ```LANGUAGE title=NAME is a file.  Without a slash in NAME it is written into the page's folder;
  with one, the block must be a part of the file NAME of this tree.
- ```console is a session.  Commands stand after `$ `; they run in one shell for each page, in the
  page's folder, with the commands on PATH and liballomon.so where the loader finds it.  A command
  ends with status 0, unless the shown output says which signal ended it, and its output has at
  least SAME_WORDS of the words that are shown.  Numbers are not compared.  A sample is another one
  in each run, so a few functions may be others, too.  The program that a heading names may not.
- ```sh has commands that this test cannot run: they need root, a network, Bazel, or a server of the
  reader's.  Each is found in ELSEWHERE, which names the file that runs or builds it, or says why
  nothing does.
  documented_commands_test checks targets and options of all of them.
A page whose programs (NEEDS) are missing is left out.
Other blocks have no commands.  Documents of folders are documented_commands_test's alone.
"""

import os
import re
import shutil
import signal
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

SAME_WORDS = 0.6
ENDED = re.compile(r"Segmentation fault|Aborted|Killed")
TITLE = re.compile(r"\btitle=(\S+)")
# The first line of a report, and a label of a metric.
PROGRAM = re.compile(
    r"^(?:(?:before|after) +)?\S+: ([\w.+-]+)(?= \(pid|, \d)|\bprogram=\"([^\"]*)\"", re.MULTILINE
)

# Programs that a page runs, and that a machine which builds Allomon may lack.
NEEDS = {
    "docs/labels.md": ["gcc"],
    "docs/python_and_lua.md": ["lua5.4"],
    "docs/running_server.md": ["redis-server", "redis-benchmark", "curl"],
    "docs/services.md": ["pgrep"],
}

# A command that is shown -> the file that runs or builds it, or one of its kind, and a text in that
# file.  None: nothing runs it, for the reason that stands there.
ELSEWHERE = [
    (r"(sudo )?apt install \./allomon_\S+\.deb", "tests/package/try_packages.sh", ".deb"),
    (r"(mkdir -p \S+ && )?tar -xzf allomon-\S+\.tar\.gz\b.*", "tests/package/package_test.sh",
     "tar -C"),
    (r"apt install cmake g\+\+ .*", "tests/programs/distributions/steps.sh", "cmake make g++"),
    (r"cmake -B build && cmake --build build -j2 && cmake --install build.*",
     "tests/programs/distributions/steps.sh", "cmake --install"),
    (r"cmake -B build( -DCMAKE_PREFIX_PATH=\S+)?", "tests/cmake/consumer.sh", "CMAKE_PREFIX_PATH"),
    (r"cmake --build build( --target words_gate_update)?", "tests/cmake/consumer.sh",
     "--target words_gate_update"),
    (r"ctest --test-dir build --output-on-failure", "tests/cmake/consumer.sh",
     "--output-on-failure"),
    (r"g\+\+ server\.cc \$\(pkg-config .*allomon\) -o server", "tests/cmake/consumer.sh",
     '$(pkg-config --cflags --libs "$2")'),
    (r"gcc -static server\.c .*-l:liballomon\.a .*", "tests/cmake/consumer.sh",
     "-l:liballomon.a -lstdc++ -lm"),
    (r"\./bazelw run //examples:fib_tak", "tests/programs/distributions/steps.sh",
     "bazelw run //examples:fib_tak"),
    (r"\./bazelw --setup-only", "tests/setup/bazelw_test.py", '"--setup-only"'),
    (r"bazel run //examples:hello_tracker", "tests/integration/hello_tracker_test.py",
     "hello_tracker"),
    (r"bazel run //examples:use_after_free", "tests/integration/guard_preload_test.py",
     "//examples:use_after_free"),
    (r"bazel run //examples:fib_tak", "tests/integration/fib_tak_test.py", "fib_tak"),
    (r"bazel run //examples:tiny_language.*", "tests/integration/languages_test.py",
     "tiny_language"),
    (r"bazel run //examples/scheme .*", "tests/integration/languages_test.py", "checks.scm"),
    (r"bazel build //(tools|tools:\w+|allocator:liballomon\.so|examples:\w+)( .*)?", "tests/BUILD",
     "//tools/allomon"),
    (r"bazel test //examples/ci_gate:.*", "tests/gates/flake_test.py", "word_count_regressed"),
    (r"bazel run //examples/ci_gate:word_count_gate\.update", None,
     "it writes into the tree; tests/cmake/consumer.sh writes a baseline of its own"),
    (r"(PID=\$\()?systemctl .*", None, "no test has a systemd of its own; run_test plays its part"),
    (r"allomon (ctl|save) \$PID .*", "tests/control/control_test.py", "--all-children"),
    (r"docker (exec|cp) .*", None, "no test has a container; control_test has pid namespaces"),
    (r"(PID=\$\(pgrep -o|LD_PRELOAD=liballomon\.so ALLOMON_PROFILE=idle) gunicorn\b.*", None,
     "by hand, of gunicorn 20.1; the session below it forks workers, too"),
    (r"bazel-bin/tools/mlprof/mlprof .*", "tests/integration/fib_tak_test.py", "mlprof"),
]


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def pages():
    yield "README.md"
    for name in sorted(os.listdir(os.path.join(ROOT, "docs"))):
        if name.endswith(".md"):
            yield "docs/" + name


def blocks(text):
    """(language, title or None, content)"""
    for info, content in markdown.fences(text):
        title = TITLE.search(info)
        yield info.split(" ")[0], title and title[1], content


def steps(session):
    """(command, shown output) of a ```console block."""
    command, output = None, []
    for line in session.split("\n")[:-1]:
        if command is not None and command.endswith("\\") and not output:
            command = command[:-1] + line.strip()
        elif line.startswith("$ "):
            if command is not None:
                yield command, "\n".join(output)
            command, output = line[2:], []
        else:
            output.append(line)
    if command is not None:
        yield command, "\n".join(output)


def words(text):
    return set(re.findall(r"[A-Za-z_]{3,}", text))


def same(shown, printed):
    """The share of the shown words that were printed."""
    expected = words(shown)
    return len(expected & words(printed)) / len(expected) if expected else 1.0


def programs(text):
    return {found[1] or found[2] for found in PROGRAM.finditer(text)}


def run_session(commands, folder, environment):
    """(status, output) of each command, all in one shell."""
    script = []
    for number, command in enumerate(commands):
        script += [f"printf '\\036%d\\n' {number}", command, "printf '\\036=%d\\n' $?"]
    log = os.path.join(folder, ".log")
    with open(log, "wb") as out:
        shell = subprocess.Popen(
            ["bash", "-c", "\n".join(script)], cwd=folder, env=environment, stdout=out,
            stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True,
        )
        try:
            shell.wait(timeout=240)
        finally:
            try:
                os.killpg(shell.pid, signal.SIGKILL)  # what a page leaves running
            except ProcessLookupError:
                pass
            shell.wait()
    with open(log, encoding="utf-8", errors="replace") as done:
        text = done.read()
    found = {}
    for part in re.finditer(r"\036(\d+)\n(.*?)\036=(\d+)\n([^\036]*)", text, re.DOTALL):
        found[int(part[1])] = int(part[3]), part[2] + part[4]
    return [found.get(number, (-1, "")) for number in range(len(commands))]


def problems_of_page(text, folder, environment):
    """Executes a page."""
    session = []
    for language, title, content in blocks(text):
        if title and "/" not in title:
            with open(os.path.join(folder, title), "w", encoding="utf-8") as file:
                file.write(content)
        elif title:
            if not os.path.exists(os.path.join(ROOT, title)) or content not in read(title):
                yield f"the block is no part of {title}"
        elif language == "console":
            session += steps(content)
        elif language == "":
            yield f"a block without a language: {content[:60]}"
    results = run_session([command for command, _ in session], folder, environment)
    for (command, shown), (status, printed) in zip(session, results):
        if status != 0 and not ENDED.search(shown):
            yield f"status {status}: {command}\n{printed}"
        elif same(shown, printed) < SAME_WORDS:
            missing = sorted(words(shown) - words(printed))
            yield f"not printed by {command}: {missing}\n{printed}"
        elif programs(shown) - programs(printed):
            missing = sorted(programs(shown) - programs(printed))
            yield f"not named by {command}: {missing}\n{printed}"


def commands_of(block):
    for line in block.replace("\\\n", " ").split("\n"):
        line = " ".join(re.sub(r"\s#\s.*|^#.*", "", line).split())
        if line:
            yield line


def elsewhere_problems(text, table):
    for language, _, content in blocks(text):
        for command in commands_of(content) if language == "sh" else ():
            if not any(re.fullmatch(pattern, command) for pattern, _, _ in table):
                yield f"nothing runs: {command}"


def unused_patterns(texts, table):
    commands = [
        command for text in texts for language, _, content in blocks(text) if language == "sh"
        for command in commands_of(content)
    ]
    for pattern, _, _ in table:
        if not any(re.fullmatch(pattern, command) for command in commands):
            yield f"no page shows: {pattern}"


def package_problems(text, table, read_file):
    """Packages of Debian that a page installs, and that the file which runs the page does not."""
    for language, _, content in blocks(text):
        for command in commands_of(content) if language == "sh" else ():
            if "apt install" not in command:
                continue
            for path in [path for pattern, path, _ in table if re.fullmatch(pattern, command)]:
                packages = re.findall(r"(?<= )[a-z0-9][a-z0-9.+-]+", command.split("install", 1)[1])
                installed = set(re.findall(r"[a-z0-9.+-]+", read_file(path)))
                missing = [it for it in packages if it not in installed]
                yield from (f"{path} does not install {it}" for it in missing)


def environment_for(folder):
    """With the commands and the library where a package has them."""
    places = {"bin/" + name: f"tools/{name}/{name}" for name in ("allomon", "mlprof", "prof")}
    places["lib/liballomon.so"] = "allocator/liballomon.so"
    for name, target in places.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.symlink(os.path.realpath(os.path.join(RUNFILES, target)), path)
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("ALLOMON")},
        "PATH": os.path.join(folder, "bin") + ":" + os.environ["PATH"],
        "LD_LIBRARY_PATH": os.path.join(folder, "lib"),
        "ALLOMON": os.path.join(ROOT, "tracker/profile"),
        "CPATH": os.path.join(ROOT, "tracker/c/include"),
        "PYTHONPATH": os.path.join(ROOT, "tracker/c/python"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "LC_ALL": "C.UTF-8",
    }


class Rules(unittest.TestCase):
    def check(self, text, *expected):
        with tempfile.TemporaryDirectory() as folder:
            found = list(problems_of_page(text, folder, dict(os.environ)))
        self.assertEqual([problem.split("\n")[0] for problem in found], list(expected))

    def test_sessions(self):
        self.check("```sh title=a.sh\necho first 12\n```\n```console\n$ sh a.sh\nfirst 34\n```\n")
        self.check("```console\n$ x=1\n$ echo \\\n  one $x\none 7\n$ sleep 60 &\n$ kill $!\n```\n")
        self.check("```console\n$ sh -c 'kill -9 $$'\nKilled\n```\n")
        self.check("```console\n$ (exit 3)\nKilled\n```\n", "not printed by (exit 3): ['Killed']")

    def test_a_command_that_fails(self):
        self.check("```console\n$ true\n$ (exit 3)\n```\n", "status 3: (exit 3)")
        self.check("```console\n$ exit 0\n```\n", "status -1: exit 0")

    def test_other_output(self):
        self.check("```console\n$ echo one two three four\none two three five\n```\n")
        self.check("```console\n$ echo one two three\none four five\n```\n",
                   "not printed by echo one two three: ['five', 'four']")

    def test_another_program(self):
        for line in (
            "a.pb.gz: {} (pid 7), 2.1 s of the same words",
            "web.pb.gz: {}, 13.0 s of the same words",
            "before  a.rec: {} (pid 7), 2.0 s of the same words",
            'allomon_live_bytes{{pid="7",program="{}",recording="of the same words"}} 47.2',
        ):
            shown, printed = line.format("redis-check-rdb"), line.format("redis-server")
            session = f"```console\n$ echo '{printed}'\n%s\n```\n"
            self.check(session % printed)
            command = f"echo '{printed}'"
            self.check(session % shown, f"not named by {command}: ['redis-check-rdb']")

    def test_files_of_the_tree(self):
        self.check("```cpp title=no/such.cc\nint a;\n```\n", "the block is no part of no/such.cc")
        self.check("```py title=tests/documents_test.py\nSAME_WORDS = 0.6\n```\n")
        self.check("```py title=tests/documents_test.py\nSAME_WORDS = 0.5" + "9\n```\n",
                   "the block is no part of tests/documents_test.py")

    def test_commands_that_nothing_runs(self):
        page = "```sh\nmake it   # so\n# words\nmake \\\n  it\nmake that\n```\n"
        found = list(elsewhere_problems(page, [("make it", "", "")]))
        self.assertEqual(found, ["nothing runs: make that"])
        found = list(unused_patterns([page], [("make it", "", ""), ("make", "", "")]))
        self.assertEqual(found, ["no page shows: make"])

    def test_packages_that_nothing_installs(self):
        page = "```sh\nsudo apt install cmake g++ libzstd-dev \\\n  python3\n```\n"
        table = [("sudo apt install cmake .*", "steps.sh", "")]
        steps_file = "packages='cmake g++'\npackages+=' libzstd-dev-bin python3'"
        found = list(package_problems(page, table, lambda path: steps_file))
        self.assertEqual(found, ["steps.sh does not install libzstd-dev"])


class Documents(unittest.TestCase):
    maxDiff = None

    def test_what_runs_elsewhere(self):
        problems = []
        for pattern, path, text in ELSEWHERE:
            if path is not None and text not in read(path):
                problems.append(f"{path} has no {text}: {pattern}")
        for page in pages():
            problems += [f"{page}: {it}" for it in elsewhere_problems(read(page), ELSEWHERE)]
            problems += [f"{page}: {it}" for it in package_problems(read(page), ELSEWHERE, read)]
        problems += unused_patterns([read(page) for page in pages()], ELSEWHERE)
        self.assertEqual(problems, [], "\n" + "\n".join(problems))

    def test_each_page(self):
        chosen = os.environ.get("TESTBRIDGE_TEST_ONLY", "")
        run = 0
        for page in pages():
            if chosen not in page:
                continue
            missing = [it for it in NEEDS.get(page, ()) if shutil.which(it) is None]
            if missing:
                print(f"{page} is left out: there is no {' '.join(missing)}", file=sys.stderr)
                continue
            with self.subTest(page), tempfile.TemporaryDirectory() as folder, \
                    tempfile.TemporaryDirectory() as prefix:
                run += 1
                text = read(page)
                problems = list(problems_of_page(text, folder, environment_for(prefix)))
                self.assertEqual(problems, [], "\n" + "\n".join(problems))
        self.assertGreater(run, 0, "no page was run")


if __name__ == "__main__":
    sys.exit(unittest.main())
