#!/usr/bin/env python3
"""Rewrites packages so that the same contents are the same bytes.

  same_bytes.py PACKAGE...

A PACKAGE is a .tar.gz or a .deb, which is an ar of such files.  Its members are sorted, belong to
root, and have the time of SOURCE_DATE_EPOCH, or one day of 2026.  What they hold and may do
stays, but for the order of the lines of md5sums.
"""

import gzip
import io
import os
import sys
import tarfile

AR_MAGIC = b"!<arch>\n"

# 2026-01-01.  Debian refuses archives with files from before 1984.
DEFAULT_EPOCH = "1767225600"


class Problem(Exception):
    """One line: the thing, and the remedy."""


def epoch():
    return int(os.environ.get("SOURCE_DATE_EPOCH", DEFAULT_EPOCH))


def same_tar(packed):
    """The same .tar.gz from any with the same contents."""
    members = []
    with tarfile.open(fileobj=io.BytesIO(packed), mode="r:*") as archive:
        for member in archive.getmembers():
            content = archive.extractfile(member).read() if member.isfile() else None
            if os.path.basename(member.name) == "md5sums":
                content = b"".join(sorted(content.splitlines(keepends=True)))
                member.size = len(content)
            members.append((member, content))
    members.sort(key=lambda one: one[0].name)
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for member, content in members:
            member.uid = member.gid = 0
            member.uname = member.gname = "root"
            member.mtime = epoch()
            archive.addfile(member, io.BytesIO(content) if content is not None else None)
    out = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=out, compresslevel=9, mtime=0) as file:
        file.write(plain.getvalue())
    return out.getvalue()


def members_of_ar(packed):
    at = len(AR_MAGIC)
    while at < len(packed):
        head = packed[at : at + 60]
        if len(head) < 60 or head[58:60] != b"`\n":
            raise Problem("its members cannot be read: make it again")
        size = int(head[48:58])
        yield head[:16].decode().rstrip(" /"), packed[at + 60 : at + 60 + size]
        at += 60 + size + size % 2


def same_ar(packed):
    out = AR_MAGIC
    for name, content in members_of_ar(packed):
        if name.endswith(".tar.gz"):
            content = same_tar(content)
        head = f"{name:<16}{epoch():<12}{0:<6}{0:<6}{'100644':<8}{len(content):<10}`\n"
        out += head.encode() + content + b"\n" * (len(content) % 2)
    return out


def rewrite(path):
    with open(path, "rb") as file:
        packed = file.read()
    try:
        same = same_ar(packed) if packed.startswith(AR_MAGIC) else same_tar(packed)
    except (Problem, tarfile.TarError, EOFError, ValueError) as problem:
        why = problem if isinstance(problem, Problem) else "neither a .tar.gz nor a .deb"
        raise Problem(f"{path} is no package: {why}") from problem
    with open(path, "wb") as file:
        file.write(same)


def main(argv):
    try:
        for path in argv:
            rewrite(path)
    except (Problem, OSError) as problem:
        print(f"same_bytes.py: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
