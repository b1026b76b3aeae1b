"""Interpreters: each does the task of its file in inputs/sources.txt, and says how it ended."""

import os
import re

from program import Program

SOURCES = os.path.join(os.path.dirname(os.path.realpath(__file__)), "inputs", "sources.txt")
CPYTHON_TESTS = ("test_json", "test_dict", "test_gc", "test_threading", "test_subprocess")

SHELL_SCRIPT = """
count=0
for i in 1 2 3 4 5 6 7 8 9 10; do
  for word in $(seq 1 40); do count=$((count + word)); done
  line=$(echo "$i $count" | sed s/1/one/g | tr a-z A-Z)
  echo "$line" | cut -c1-40
done
(exit 3) & wait $! || echo "child $?"
ls /no/such/file
exit 4
"""


def source(name):
    with open(SOURCES, encoding="utf-8") as file:
        sections = re.split(r"^=== (.*)\n", file.read(), flags=re.MULTILINE)
    return dict(zip(sections[1::2], sections[2::2]))[name]


def interpreter(*argv, source_name):
    """Runs argv with a copy of the source, which every user can read."""

    def run(host, _options):
        path = host.file(source_name, source(source_name))
        return {"task": host.outcome([*argv, path])}

    return run


def shells(host, _options):
    """Pipes, command substitutions, children, a failure."""
    return {it: host.outcome([it, "-c", SHELL_SCRIPT]) for it in ("dash", "bash")}


def python(host, _options):
    """With its own allocator of small objects and over malloc."""
    path = host.file("words.py", source("words.py"))
    return {
        it: host.outcome(["/usr/bin/python3", path], env={"PYTHONMALLOC": it})
        for it in ("pymalloc", "malloc")
    }


def cpython(host, options):
    """CPython's own tests, with and without its small-object allocator."""
    found = {}
    for allocator in ("pymalloc", "malloc"):
        for test in CPYTHON_TESTS:
            status, text = host.run(
                ["/usr/bin/python3", "-m", "test", test],
                env={"PYTHONMALLOC": allocator},
                timeout=options.timeout_seconds,
            )
            verdicts = re.findall(r"^(?:Tests result|Result|== Tests result): (.*)$", text, re.M)
            failed = sorted(re.findall(r"^(?:FAIL|ERROR): (\S+)", text, re.M))
            found[f"{test}, {allocator}"] = (status, verdicts[-1:], failed)
    return found


PHP_MODULES = ("bcmath", "curl", "gd", "intl", "mbstring", "mysql", "sqlite3", "xml")

PROGRAMS = (
    Program("shells", shells, (("dash", "dash"), ("bash", "bash"))),
    Program("gawk", interpreter("gawk", "-f", source_name="words.awk"), (("gawk", "gawk"),)),
    Program("lua", interpreter("lua5.4", source_name="words.lua"), (("lua5.4", "lua5.4"),)),
    Program("perl", interpreter("perl", source_name="words.pl"), (("perl", "perl"),)),
    Program("python", python, (("/usr/bin/python3", "python3"),)),
    Program(
        "cpython",
        cpython,
        (("/usr/lib/python3.11/test/test_dict.py", "libpython3.11-testsuite"),),
    ),
    Program("ruby", interpreter("ruby", source_name="words.rb"), (("ruby", "ruby"),)),
    Program("node", interpreter("node", source_name="words.js"), (("node", "nodejs"),)),
    Program(
        "php",
        interpreter("php", source_name="modules.php"),
        (
            ("php", "php-cli"),
            *((f"/usr/share/doc/php8.2-{it}", f"php-{it}") for it in PHP_MODULES),
        ),
    ),
    Program(
        "emacs",
        interpreter("emacs", "-Q", "--batch", "-l", source_name="words.el"),
        (("emacs", "emacs-nox"),),
    ),
)
