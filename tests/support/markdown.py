"""Markdown, as far as the tests of the tree read it: blocks of code, headings, anchors."""

import re

FENCE = re.compile(r"^( *)(```|~~~)([^\n]*)\n(.*?)^ *\2 *$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ +(.*?) *$", re.MULTILINE)
LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


def fences(text):
    """(what stands after the opening marks, content) of each block."""
    for found in FENCE.finditer(text):
        yield found[3].strip(), found[4]


def without_fences(text):
    """The text with blank lines for what is shown literally."""
    return FENCE.sub(lambda fence: "\n" * fence.group().count("\n"), text)


def anchor(heading):
    """The anchor that GitHub makes of a heading."""
    return re.sub(r"[^\w\- ]", "", LINK.sub(r"\1", heading).lower()).replace(" ", "-")


def sections(text):
    """{anchor: text up to the next heading}.  Headings of one name are numbered."""
    text = without_fences(text)
    headings = list(HEADING.finditer(text))
    ends = [heading.start() for heading in headings[1:]] + [len(text)]
    found = {}
    for heading, end in zip(headings, ends):
        name = plain = anchor(heading[1])
        number = 0
        while name in found:
            number += 1
            name = f"{plain}-{number}"
        found[name] = text[heading.end() : end]
    return found


def anchors(text):
    return set(sections(text))
