"""The tree's files, taken apart into code and comments, for the tests that read sources."""

import io
import os
import re
import tokenize
from typing import NamedTuple

# Written by tools, or by others.
FOREIGN = ("tests/golden/", "benchmarks/golden/", "tools/workspace/stand_ins/")

C_EXTENSIONS = (".h", ".cc", ".c", ".lds", ".S")
PYTHON_EXTENSIONS = (".py", ".bzl", ".BUILD")
SHELL_EXTENSIONS = (".sh", ".cmake", ".cmake.in", "CMakeLists.txt")


class Comment(NamedTuple):
    line: int  # of the comment's first line, from 1
    text: str  # without its marks; lines are kept
    code: str  # what it stands before: the rest of its line, or the next line of code


class Source(NamedTuple):
    path: str  # from the root, with /
    text: str
    code: str  # the text with blanks for comments; lines and columns are those of the text
    comments: list


def language(path):
    """c, python, shell, markdown; "" for a file that is none of them."""
    name = os.path.basename(path)
    if name.endswith(C_EXTENSIONS):
        return "c"
    if name.endswith(PYTHON_EXTENSIONS) or name in ("BUILD", "WORKSPACE"):
        return "python"
    if name.endswith(SHELL_EXTENSIONS) or path in (".ci/run", ".bazelrc", "bazelw"):
        return "shell"
    if name == "packages.txt":
        return "shell"
    return "markdown" if name.endswith(".md") else ""


def paths(root):
    """All files and folders below root that are ours; folders end with /."""
    for folder, subfolders, files in os.walk(root):
        relative = os.path.relpath(folder, root) + "/"
        relative = "" if relative == "./" else relative
        subfolders[:] = sorted(
            name
            for name in subfolders
            if (not name.startswith(".") or name == ".ci")
            and not (relative == "" and name.startswith("bazel-"))
            and name != "__pycache__"
        )
        yield from (f"{relative}{name}/" for name in subfolders)
        yield from (relative + name for name in sorted(files))


C_TOKEN = re.compile(
    r"""(?P<comment>//(?:[^\n\\]|\\.|\\\n)*|/\*.*?\*/)
      | R"(?P<mark>[^()\s\\]{0,16})\(.*?\)(?P=mark)"
      | "(?:[^"\\\n]|\\.|\\\n)*"
      | (?<![0-9a-fA-F])'(?:[^'\\\n]|\\.)+'""",
    re.DOTALL | re.VERBOSE,
)


def c_comments(text):
    for token in C_TOKEN.finditer(text):
        if token["comment"]:
            yield token.start(), token.end()


def python_comments(text):
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    previous = tokenize.NEWLINE
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        is_statement = previous in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
        is_docstring = token.type == tokenize.STRING and is_statement and '"""' in token.string[:5]
        is_comment = token.type == tokenize.COMMENT and not token.string.startswith("#!")
        if is_comment or is_docstring:
            start = starts[token.start[0] - 1] + token.start[1]
            yield start, starts[token.end[0] - 1] + token.end[1]
        if token.type not in (tokenize.COMMENT, tokenize.NL, tokenize.ENCODING):
            previous = token.type


def shell_comments(text):
    """Of whole lines, and behind code without a quote in front."""
    start = 0
    for line in text.splitlines(keepends=True):
        match = re.match(r"""((?:[^'"#\n]|(?<=\S)#)*?)(?:^|(?<=\s))#.*""", line)
        if match and not line.startswith("#!"):
            yield start + match.end(1), start + match.end()
        start += len(line)


READERS = {"c": c_comments, "python": python_comments, "shell": shell_comments}


def bare(comment):
    """Its text without the marks of a comment."""
    comment = re.sub(r'^(/\*+|""")|(\*+/|""")$', "", comment)
    return re.sub(r"^[ \t]*(//+|#+|\*(?!\*))[ \t]?", "", comment, flags=re.MULTILINE)


def split(path, text):
    """A Source.  A document is one comment, and has no code."""
    kind = language(path)
    if kind == "markdown":
        return Source(path, text, "", [Comment(1, text, "")])
    spans = list(READERS[kind](text)) if kind else []
    code = list(text)
    for start, end in spans:
        code[start:end] = ("\n" if character == "\n" else " " for character in text[start:end])
    code = "".join(code)

    # [start, end, whether on lines of its own].  Such lines that follow each other are one block.
    blocks = []
    for start, end in spans:
        line_start = text.rfind("\n", 0, start) + 1
        whole_line = not code[line_start:start].strip()
        goes_on = whole_line and blocks and blocks[-1][2]
        if goes_on and re.fullmatch(r"[ \t]*\n[ \t]*", text[blocks[-1][1] : start]):
            blocks[-1][1] = end
        else:
            blocks.append([start, end, whole_line])
    comments = []
    for start, end, whole_line in blocks:
        if whole_line:
            following = code[end:].lstrip().split("\n", 1)[0]
        else:
            following = code[text.rfind("\n", 0, start) + 1 : start]
        line = text.count("\n", 0, start) + 1
        comments.append(Comment(line, bare(text[start:end]), following.strip()))
    return Source(path, text, code, comments)


def sources(root, own_paths=None):
    """A Source of each file in a language that we know."""
    for path in own_paths or paths(root):
        if path.startswith(FOREIGN) or not language(path):
            continue
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
            yield split(path, file.read())


def write_tree(root, files):
    """Makes a fake tree: path -> text."""
    for path, text in files.items():
        os.makedirs(os.path.dirname(os.path.join(root, path)) or root, exist_ok=True)
        with open(os.path.join(root, path), "w", encoding="utf-8") as out:
            out.write(text)


def workspace():
    """The root of the real tree, behind the runfiles' symbolic links."""
    root = os.path.realpath(__file__)
    for _ in range(3):
        root = os.path.dirname(root)
    if not os.path.exists(os.path.join(root, "WORKSPACE")):
        raise FileNotFoundError(f"no WORKSPACE in {root}")
    return root
