"""What Bazel's BUILD files say, for the other build: rules with their attributes.

A BUILD file is a program in Starlark, which is a part of Python.  So Python runs it, with functions
that write down what they are called with.  Nothing is resolved that no one asks for.
"""

import glob
import os


class Rule:
    """One target: its kind (cc_test, ...), where it is, and its attributes as they are written."""

    def __init__(self, kind, package, attributes):
        self.kind, self.package, self.attributes = kind, package, attributes
        self.name = attributes["name"]

    def get(self, attribute, default=()):
        return self.attributes.get(attribute, default)

    def labels(self, attribute):
        """An attribute that is a list of labels, each in full."""
        return [absolute(label, self.package) for label in self.get(attribute)]


def absolute(label, package):
    """//package:name of a label as a BUILD file of `package` writes it."""
    label = str(label)
    if label.startswith("@allomon//"):
        label = label[len("@allomon") :]
    if not label.startswith(("//", "@")):
        return f"//{package}:{label.lstrip(':')}"
    if label.startswith("@") and "//" not in label:  # "@mimalloc" is "@mimalloc//:mimalloc"
        return f"{label}//:{label[1:]}"
    return label if ":" in label else f"{label}:{label.rsplit('/', 1)[1]}"


def split(label):
    """package and name of a label in full."""
    package, _, name = label.lstrip("/").partition(":")
    return package, name


KINDS = """alias cc_binary cc_library cc_test config_setting exports_files filegroup genrule
  label_flag licenses package package_group sh_binary sh_library sh_test test_suite toolchain
  """.split()


class _Recorder:
    """The names that a BUILD or .bzl file sees."""

    def __init__(self, workspace, package):
        self.workspace, self.package, self.rules = workspace, package, {}
        self.names = {kind: self.recording(kind) for kind in KINDS}
        self.names.update(
            glob=self.glob,
            load=self.load,
            select=lambda cases: cases["//conditions:default"],
            Label=lambda label: absolute(label, package),
            struct=lambda **fields: type("struct", (), fields),
            native=self,
            existing_rule=lambda name: workspace.current.rules[name].attributes,
            package_name=lambda: workspace.current.package,
            CcInfo=None,
            DefaultInfo=None,
            provider=lambda *_, **__: None,
            transition=lambda *_, **__: None,
            repository_rule=lambda *_, **__: None,
            rule=lambda *_, **__: self.recording("rule of a .bzl file"),
            attr=_Anything(),
            config=_Anything(),
        )

    def __getattr__(self, name):  # native.sh_test
        return self.names[name]

    def recording(self, kind):
        # A macro of a .bzl file is called for the package that is read at the time.
        def record(*_, **attributes):
            current = self.workspace.current
            if "name" in attributes:
                rule = Rule(kind, current.package, attributes)
                current.rules[rule.name] = rule

        return record

    def glob(self, include, exclude=(), **_):
        root = os.path.join(self.workspace.root, self.package)

        def found(patterns):
            return {
                path
                for pattern in patterns
                for path in glob.glob(pattern, root_dir=root, recursive=True)
                if os.path.isfile(os.path.join(root, path))
            }

        return sorted(found(include) - found(exclude))

    def load(self, label, *names, **renamed):
        asked = {**{name: name for name in names}, **renamed}
        if label.startswith("@"):  # rules of other repositories have the names that they always had
            values = {name: self.names.get(name, self.recording(name)) for name in names}
        else:
            values = self.workspace.values_of(absolute(label, self.package))
        self.names.update({own: values[theirs] for own, theirs in asked.items()})


class _Anything:
    def __getattr__(self, _):
        return lambda *_, **__: None


class Workspace:
    """All BUILD files under a folder, each run when it is asked for."""

    def __init__(self, root):
        self.root, self.packages, self.read, self.current = root, {}, [], None

    def run(self, path, recorder):
        self.read.append(path)
        with open(os.path.join(self.root, path), encoding="utf-8") as file:
            exec(compile(file.read(), path, "exec"), recorder.names)  # pylint: disable=exec-used
        return recorder

    def values_of(self, label):
        package, name = split(label)
        return self.run(os.path.join(package, name), _Recorder(self, package)).names

    def package(self, package):
        """name -> Rule of one folder; empty where there is no BUILD file."""
        if package not in self.packages:
            recorder, outer = _Recorder(self, package), self.current
            self.current = recorder
            path = os.path.join(package, "BUILD")
            if os.path.isfile(os.path.join(self.root, path)):
                self.run(path, recorder)
            self.packages[package], self.current = recorder.rules, outer
        return self.packages[package]

    def rule(self, label):
        """The rule that a label names, or None: then it is a file."""
        package, name = split(label)
        rule = self.package(package).get(name)
        if rule and rule.kind == "alias":
            return self.rule(absolute(rule.get("actual"), package))
        return rule

    def packages_under(self, folder):
        for path, folders, files in os.walk(os.path.join(self.root, folder)):
            folders.sort()
            if "BUILD" in files:
                yield os.path.relpath(path, self.root)
