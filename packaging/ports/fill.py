#!/usr/bin/env python3
"""Makes port files of Allomon: for RPM, Conan, vcpkg, Homebrew, Nix and Bazel's registry.

  fill.py --url=PLACE --folder=FOLDER ALLOMON MIMALLOC HTTPLIB

The three are source archives (.tar.gz, each with one folder in it): Allomon's, mimalloc's and
cpp-httplib's.  PLACE is the address below which they will lie under their own names.  The version
is that of tracker/formats/version.h in Allomon's archive, so no port states one of its own; hashes
are those of the archives.
"""

import argparse
import base64
import datetime
import hashlib
import json
import os
import re
import sys
import tarfile

TEMPLATES = os.path.join(os.path.dirname(os.path.realpath(__file__)), "templates")

# Template -> its place in FOLDER.
PORTS = {
    "allomon.spec": "rpm/allomon.spec",
    "conanfile.py": "conan/conanfile.py",
    "portfile.cmake": "vcpkg/allomon/portfile.cmake",
    "vcpkg.json": "vcpkg/allomon/vcpkg.json",
    "allomon.rb": "homebrew/allomon.rb",
    "default.nix": "nix/default.nix",
}

# A file that each archive has below its folder, and what its version is read from.
WORKS = {
    "ALLOMON": ("tracker/formats/version.h", r'"allomon ([0-9]+\.[0-9]+\.[0-9]+)'),
    "MIMALLOC": ("include/mimalloc.h", r"#define MI_MALLOC_VERSION ([0-9]+)"),
    "HTTPLIB": ("httplib.h", r'#define CPPHTTPLIB_VERSION "([0-9.]+)"'),
}
MIMALLOC_VERSIONS = {"209": "2.0.9", "301": "3.0.1"}


class Problem(Exception):
    """One line: the thing, and the remedy."""


def members(work, path):
    """(name of the archive's folder, {path below it: bytes} of what is read here)."""
    wanted = [WORKS[work][0]] + (["MODULE.bazel"] if work == "ALLOMON" else [])
    tops, found = set(), {}
    try:
        with tarfile.open(path, "r:gz") as archive:
            for member in archive:
                top, _, below = member.name.removeprefix("./").partition("/")
                tops.add(top)
                if below in wanted and member.isfile():
                    found[below] = archive.extractfile(member).read().decode()
    except (OSError, EOFError, tarfile.TarError, UnicodeDecodeError) as error:
        raise Problem(f"{path}: no source archive (.tar.gz): {error}") from error
    tops -= {"", "pax_global_header"}
    if len(tops) != 1:
        raise Problem(f"{path}: has {len(tops)} folders; make it with one: git archive --prefix=")
    for name in wanted:
        if name not in found:
            raise Problem(f"{path}: has no {name}: name Allomon's, mimalloc's and cpp-httplib's")
    return tops.pop(), found


def facts_of(work, path):
    """{name in templates: text} of an archive, and the files that were read of it."""
    folder, found = members(work, path)
    name, pattern = WORKS[work]
    version = re.search(pattern, found[name])
    if version is None:
        raise Problem(f"{path}: its {name} states no version")
    version = version[1]
    if work == "MIMALLOC":
        if version not in MIMALLOC_VERSIONS:
            raise Problem(f"{path}: has mimalloc {version}; take 2.0.9, which Allomon mirrors")
        version = MIMALLOC_VERSIONS[version]
    with open(path, "rb") as file:
        data = file.read()
    facts = {
        "FILE": os.path.basename(path),
        "FOLDER": folder,
        "VERSION": version,
        "SHA256": hashlib.sha256(data).hexdigest(),
        "SHA512": hashlib.sha512(data).hexdigest(),
    }
    return {f"{work}_{fact}": text for fact, text in facts.items()}, found


def fill(text, facts):
    return re.sub("@([A-Z0-9_]+)@", lambda match: facts[match[1]], text)


def registry_entry(facts, module):
    """{path: text} of Allomon in a registry of Bazel."""
    version = facts["VERSION"]
    if f'version = "{version}"' not in module:
        raise Problem(f"MODULE.bazel of the archive has not the version {version} of version.h")
    digest = base64.b64encode(bytes.fromhex(facts["ALLOMON_SHA256"])).decode()
    source = {
        "url": f"{facts['URL']}/{facts['ALLOMON_FILE']}",
        "integrity": f"sha256-{digest}",
        "strip_prefix": facts["ALLOMON_FOLDER"],
    }
    metadata = {
        "homepage": facts["URL"],
        "maintainers": [],
        "versions": [version],
        "yanked_versions": {},
    }
    return {
        "bazel/modules/allomon/metadata.json": json.dumps(metadata, indent=4) + "\n",
        f"bazel/modules/allomon/{version}/source.json": json.dumps(source, indent=4) + "\n",
        f"bazel/modules/allomon/{version}/MODULE.bazel": module,
    }


def ports(args):
    """{path: text} of all ports."""
    facts = {"URL": args.url.rstrip("/")}
    module = ""
    for work, path in zip(WORKS, (args.allomon, args.mimalloc, args.httplib)):
        own, found = facts_of(work, path)
        facts.update(own)
        module = found.get("MODULE.bazel", module)
    facts["VERSION"] = facts["ALLOMON_VERSION"]
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH", "0")) or os.path.getmtime(args.allomon)
    day = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    facts["RPM_DATE"] = day.strftime("%a %b %d %Y")
    made = {}
    for template, place in PORTS.items():
        with open(os.path.join(TEMPLATES, template), encoding="utf-8") as file:
            made[place] = fill(file.read(), facts)
    return {**made, **registry_entry(facts, module)}


def main():
    parser = argparse.ArgumentParser(description="Makes port files of Allomon.")
    parser.add_argument("--url", required=True, help="where the three archives will lie")
    parser.add_argument("--folder", required=True, help="where the port files are written")
    for work in WORKS:
        parser.add_argument(work.lower(), metavar=work, help="a source archive, .tar.gz")
    args = parser.parse_args()
    try:
        if not re.fullmatch(r"[a-z]+://[A-Za-z0-9._~:/%+-]+", args.url):
            raise Problem(f"--url={args.url}: no address, such as https://example.org/sources")
        made = ports(args)
        for place, text in made.items():
            path = os.path.join(args.folder, place)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
    except (Problem, OSError) as problem:
        print(f"fill.py: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
