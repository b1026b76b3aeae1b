#!/usr/bin/env python3
"""usage: make_suites.py SOURCE RUNFILES OUTPUT LEFT_OUT ONLY

Writes what CMake includes to build and run the tests of the BUILD files: a program for each cc_test
and for each program that a test needs, and a test of ctest for each cc_test and sh_test.  RUNFILES
becomes a folder as Bazel's: links to the files that tests read, and the programs at their places.
LEFT_OUT has a line for each test that ctest does not run: a regular expression, and why.  ONLY is a
regular expression for the others, such as tests/runtime/.*
"""

import os
import re
import shlex
import sys

import build_files
import targets

TESTED = ("tests", "examples", "benchmarks")
TIMEOUT_SECONDS = {"small": 60, "medium": 300, "large": 900, "enormous": 3600}
COMPILED = (".cc", ".c", ".S")


def quoted(value):
    """One argument of a command of CMake."""
    return '"' + re.sub(r'(["\\])', r"\\\1", value).replace("$", "\\$") + '"'


def command(name, target, **lists):
    lines = [f"{name}({target}"]
    for keyword, values in lists.items():
        if values:
            lines.append(f"  {keyword} " + " ".join(values))
    return "\n".join(lines) + ")\n"


class Suites:
    """The rules that tests reach, written once each."""

    def __init__(self, source, runfiles):
        self.workspace = build_files.Workspace(source)
        self.source, self.runfiles = source, runfiles
        self.written, self.text = {}, []

    def ours(self, label):
        return label.lstrip("/").split("/")[0].split(":")[0] in TESTED and label[0] == "/"

    def place(self, label):
        return os.path.join(*build_files.split(label))

    # ---- What a rule says

    def expanded(self, text, package):
        """Bazel's $(location x) and $$, and paths of include options."""

        def located(match):
            label = build_files.absolute(match[1], package)
            return os.path.join(self.source, self.place(label))

        text = re.sub(r"\$\(location ([^)]+)\)", located, text).replace("$$", "$")
        return re.sub(r"^-I(?=\w)", f"-I{self.source}/", text)

    def options(self, rule, attribute):
        return [quoted(self.expanded(text, rule.package)) for text in rule.get(attribute)]

    def closure(self, rule):
        """The rules of tests, and the labels of libraries, that a rule depends on."""
        rules, libraries = {}, {}
        pending = [label for label in rule.labels("deps")]
        while pending:
            label = pending.pop(0)
            if label in rules or label in libraries:
                continue
            found = self.workspace.rule(label) if self.ours(label) else None
            if found:
                rules[label] = found
                pending += found.labels("deps")
            elif not label.endswith(".lds"):
                libraries[label] = None
        return rules, list(libraries)

    def sources(self, rule):
        """Files to compile; and libraries that are written as sources."""
        files, libraries = [], []
        for label in rule.labels("srcs"):
            found = self.workspace.rule(label)
            if found is None:
                files.append(self.place(label))
            elif found.kind == "filegroup":
                files += [self.place(inner) for inner in found.labels("srcs")]
            else:
                libraries.append(self.program(label))
        compiled = [quoted(f"{self.source}/{file}") for file in files if file.endswith(COMPILED)]
        return compiled, libraries

    # ---- What CMake builds

    def is_executable(self, rule):
        return rule.kind != "cc_library" and not rule.get("linkshared", False)

    def target(self, label):
        return self.place(label).replace("/", ".")

    def objects(self, label, rule, inherited):
        """The compiled sources of a rule: a target by itself, so that its own options count."""
        target = self.target(label) + ".objects"
        sources, libraries = self.sources(rule)
        if target not in self.written:
            self.written[target] = None
            if sources:
                defines = [*inherited, *rule.get("defines"), *rule.get("local_defines")]
                self.text.append(
                    command(
                        "allomon_suite_objects",
                        target,
                        SOURCES=sources,
                        OPTIONS=self.options(rule, "copts"),
                        FOR=["executable" if self.is_executable(rule) else "library"],
                        DEFINES=[quoted(define) for define in defines],
                    )
                )
        return ([target] if sources else []), libraries

    def program(self, label):
        """Writes a cc_test or cc_binary, and returns its target."""
        target = self.target(label)
        if target in self.written:
            return target
        self.written[target] = None
        rule = self.workspace.rule(label)
        rules, libraries = self.closure(rule)
        inherited = [define for inner in rules.values() for define in inner.get("defines")]
        objects, linked = self.objects(label, rule, inherited)
        link_options = self.options(rule, "linkopts")
        for inner_label, inner in rules.items():
            more, _ = self.objects(inner_label, inner, inner.get("defines"))
            objects += more
            link_options += self.options(inner, "linkopts")
        malloc = rule.get("malloc", None)
        if malloc:
            libraries.append(build_files.absolute(malloc, rule.package))
        package, name = build_files.split(label)
        self.text.append(
            command(
                "allomon_suite_program",
                target,
                PLACE=[quoted(f"{self.runfiles}/{package}"), quoted(name)],
                KIND=["SHARED" if rule.get("linkshared", False) else "EXECUTABLE"],
                OBJECTS=objects,
                LIBRARIES=targets.archives(libraries) + linked,
                LINK_OPTIONS=link_options,
            )
        )
        return target

    def genrule(self, label, rule):
        target = self.target(label)
        if target not in self.written:
            self.written[target] = None
            folder = f"{self.runfiles}/{rule.package}"
            self.text.append(
                command(
                    "allomon_suite_rule",
                    target,
                    OUTPUTS=[quoted(f"{folder}/{out}") for out in rule.get("outs")],
                    COMMAND=[quoted(rule.get("cmd").replace("$(RULEDIR)", folder))],
                    DEPENDS=self.data(rule.labels("srcs")),
                )
            )
        return target

    # ---- What a test needs while it runs

    def link(self, label, path):
        place = os.path.join(self.runfiles, self.place(label))
        os.makedirs(os.path.dirname(place), exist_ok=True)
        if os.path.islink(place):
            os.remove(place)
        os.symlink(path, place)

    def made_by(self, label):
        """The genrule of this package that has the label among its outputs."""
        package, name = build_files.split(label)
        for rule in self.workspace.package(package).values():
            if rule.kind == "genrule" and name in rule.get("outs"):
                return f"//{package}:{rule.name}", rule
        return None

    def data(self, labels):
        """Puts what labels name into the runfiles, and returns the targets that make it."""
        made = []
        for label in labels:
            rule = self.workspace.rule(label)
            label = f"//{rule.package}:{rule.name}" if rule else label  # behind an alias
            user_command = targets.command(label)
            if user_command:
                self.text.append(command("allomon_suite_link", user_command,
                                         PLACE=[quoted(f"{self.runfiles}/{self.place(label)}")]))
                made.append(user_command)
            elif rule is None and self.made_by(label):
                made.append(self.genrule(*self.made_by(label)))
            elif rule is None:
                self.link(label, os.path.join(self.source, self.place(label)))
            elif rule.kind in ("cc_test", "cc_binary"):
                made.append(self.program(label))
                made += self.data(rule.labels("data"))
            elif rule.kind == "genrule":
                made.append(self.genrule(label, rule))
            else:
                made += self.data(rule.labels("srcs") + rule.labels("data"))
        return list(dict.fromkeys(made))

    def arguments(self, rule):
        def located(match):
            return self.place(build_files.absolute(match[1], rule.package))

        text = " ".join(rule.get("args"))
        return shlex.split(re.sub(r"\$\((?:root)?path ([^)]+)\)", located, text))

    def test(self, label, rule):
        made = self.data(rule.labels("data"))
        for inner in self.closure(rule)[0].values():
            made += self.data(inner.labels("data"))
        if rule.kind == "cc_test":
            made.append(self.program(label))
            start = self.place(label)
        else:
            made += self.data(rule.labels("srcs"))
            start = self.place(rule.labels("srcs")[0])
        words = [f"{self.runfiles}/{start}", *self.arguments(rule)]
        self.text.append(
            command(
                "allomon_suite_test",
                quoted(self.place(label)),
                COMMAND=[quoted(word) for word in words],
                SECONDS=[str(TIMEOUT_SECONDS[rule.get("size", "medium")])],
                LABELS=[quoted(tag) for tag in rule.get("tags")],
                NEEDS=list(dict.fromkeys(made)),
            )
        )


def left_out(path):
    """label as a regular expression -> why"""
    with open(path, encoding="utf-8") as file:
        lines = [line.rstrip("\n") for line in file if line.strip() and not line.startswith("#")]
    return {line.split(None, 1)[0]: line.split(None, 1)[1] for line in lines}


def main(source, runfiles, output, left_out_file, only):
    suites, left = Suites(source, runfiles), left_out(left_out_file)
    used = set()
    for folder in TESTED:
        for package in suites.workspace.packages_under(folder):
            for name, rule in list(suites.workspace.package(package).items()):
                label = f"//{package}:{name}"
                reasons = {pattern for pattern in left if re.fullmatch(pattern, label)}
                used |= reasons
                if rule.kind in ("cc_test", "sh_test") and "manual" not in rule.get("tags"):
                    if not reasons and re.fullmatch(only, suites.place(label)):
                        suites.test(label, rule)
    if set(left) - used:
        sys.exit(f"{left_out_file}: no test is called {', '.join(sorted(set(left) - used))}")
    read = [os.path.join(source, path) for path in dict.fromkeys(suites.workspace.read)]
    with open(output, "w", encoding="utf-8") as file:
        file.write("set(allomon_build_files\n  " + "\n  ".join(map(quoted, read)) + ")\n")
        file.write("".join(dict.fromkeys(suites.text)))


if __name__ == "__main__":
    main(*sys.argv[1:])
