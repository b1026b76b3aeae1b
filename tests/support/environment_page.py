#!/usr/bin/env python3
"""Makes docs/environment.md: all environment variables, by the component that reads them.

    tests/support/environment_page.py            prints the page
    tests/support/environment_page.py --write    writes it

Names, defaults and descriptions are those of tracker/formats/variables.h.  The values that a
preloaded program takes are the texts of its error messages, in the table kSettings of allocator/.
"""

import argparse
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
TABLE = "tracker/formats/variables.h"
PAGE = "docs/environment.md"

# reader -> heading, and the document that has more
READERS = {
    "kPreload": (
        "Programs with the library",
        "`liballomon.so` reads these, preloaded or started by `allomon run`. So does a program\n"
        "that links `//allocator:auto_profile`.",
    ),
    "kCommand": (
        "Commands",
        "[allomon run](../tools/run/README.md) and [allomon serve](../tools/serve/README.md) read"
        " these.",
    ),
    "kGates": ("Benchmarks with exact counts", "See [gates](gates.md)."),
    "kHeap": (
        "Managed heaps", "See [tuning](../runtime/README.md#13-tuning), which has all settings."
    ),
}
# A word of a description -> the page that explains it.
LINKS = {
    "known wrappers": "../tracker/profile/README.md#wrappers",
    "entry hooks": "../tracker/profile/README.md#entry-hooks",
    "memory errors": "memory_errors.md",
    "copies of the recording": "../tracker/triggers/README.md",
    "whole call stacks": "../tracker/recording/README.md",
    "Python's frames": "../tracker/cpython/README.md",
    "Lua's frames": "../tracker/lua/README.md",
    "`allomon ctl`": "../tools/control/README.md",
}
HEAD = """# Environment variables

`tests/support/environment_page.py --write` makes this page from
[variables.h](../tracker/formats/variables.h). Change the comments there.

A program has all variables in one environment, so each component passes over those of the others.
An unknown name that begins with `ALLOMON_` is reported in one line, with the name that was probably
meant, and the program is profiled all the same. It is not profiled if the probable name is one of
the bold ones: these say whether something is written, where, or how much.

Set `LD_PRELOAD` for one command. Do not export it: the next command would be profiled over your
file.
"""


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def settings():
    """The source with the table kSettings, wherever allocator/ has it."""
    for folder, _, names in sorted(os.walk(os.path.join(ROOT, "allocator"))):
        for name in sorted(names):
            if name.endswith(".cc"):
                text = read(os.path.relpath(os.path.join(folder, name), ROOT))
                if "Setting kSettings[]" in text:
                    return text.split("Setting kSettings[]")[1].split("\n};")[0]
    raise SystemExit("no source of allocator/ has the table kSettings")


def literal(text):
    """The characters of adjacent string literals of C++."""
    return "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', text))


def constants():
    """name -> text of the syntaxes that other headers state"""
    found = {}
    for path in "tracker/profile/control/profile_control.h", "tracker/triggers/settings.h":
        for name, text in re.findall(r"constexpr char (k\w+Syntax)\[\] =(.*?);", read(path), re.S):
            found[name] = literal(text)
    return found


def values():
    """variable -> the values that it takes"""
    known, found = constants(), {}
    for entry in re.split(r'\n    \{(?=")', settings())[1:]:
        name = re.match(r'"(\w+)"', entry)[1]
        # The last string of the entry, or the constant that stands for it.
        rest = entry.rsplit("},\n", 1)[-1] if "},\n" in entry else entry
        constant = re.search(r"(k\w+Syntax)", rest)
        found[name] = known[constant[1]] if constant else literal(rest)
    return found


def variables():
    """(name, reader, bounds what is written, default, description) in the table's order"""
    for comment, name, reader, bounds in re.findall(
        r'((?:    // [^\n]*\n)*)    \{"(\w+)", VariableReader::(\w+)(, true)?\}', read(TABLE)
    ):
        text = " ".join(comment.replace("//", " ").split())
        if not text:
            raise SystemExit(f"{TABLE}: {name} has no comment")
        default = re.match(r"Default: (.*?)\. ", text)
        description = text[default.end() :] if default else text
        for word, target in LINKS.items():
            description = description.replace(word, f"[{word}]({target})", 1)
        yield name, reader, bool(bounds), default[1] if default else "", description


def page():
    allowed, rows = values(), list(variables())
    lines = [HEAD]
    for reader, (heading, introduction) in READERS.items():
        lines += [f"## {heading}", "", introduction, ""]
        lines += ["| variable | default | values | |", "|---|---|---|---|"]
        for name, read_by, bounds, default, description in rows:
            if read_by == reader:
                shown = f"**`{name}`**" if bounds else f"`{name}`"
                taken = allowed.get(name, "").replace("|", "\\|").replace("*", "\\*")
                lines.append(f"| {shown} | {default} | {taken} | {description} |")
        lines.append("")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--write", action="store_true", help=f"write {PAGE}")
    if parser.parse_args().write:
        with open(os.path.join(ROOT, PAGE), "w", encoding="utf-8") as file:
            file.write(page())
    else:
        print(page(), end="")


if __name__ == "__main__":
    main()
