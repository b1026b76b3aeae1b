#!/usr/bin/env python3
"""Writes what a package contains of other works: an SBOM (SPDX 2.3, JSON) and their licences.

  sbom.py --version=V --sbom=FILE --licences=FILE [--mimalloc=FOLDER] [--httplib=FOLDER]
          [--root=FOLDER] [--compiler=COMMAND] LIBRARY...

LIBRARY is a file that the commands are linked with, or a header of which they are made.  Debian's
package of the file has its version, and the text of its licence.  The works that are unpacked from
source packages are given by their folders.  A LIBRARY below the root is of a package that was
unpacked there; the others, and the compiler's own, are of this machine.  Nothing depends on the
time, but for SOURCE_DATE_EPOCH.
"""

import argparse
import datetime
import hashlib
import json
import os
import re
import subprocess
import sys
import uuid

PUBLIC_DOMAIN = "LicenseRef-public-domain"

# Debian's source package -> name of the work, SPDX expression of its licence.
WORKS = {
    "abseil": ("Abseil", "Apache-2.0"),
    "bzip2": ("bzip2", "bzip2-1.0.6"),
    "cpp-httplib": ("cpp-httplib", "MIT"),
    "elfutils": ("elfutils (libdw, libelf)", "LGPL-3.0-or-later OR GPL-2.0-or-later"),
    "gcc": ("libstdc++, libgcc", "GPL-3.0-or-later WITH GCC-exception-3.1"),
    "libiberty": ("libiberty", "LGPL-2.0-or-later"),
    "libzstd": ("Zstandard", "BSD-3-Clause OR GPL-2.0-only"),
    "mimalloc": ("mimalloc", "MIT"),
    "nlohmann-json3": ("JSON for Modern C++", "MIT"),
    "xz-utils": ("liblzma", PUBLIC_DOMAIN),
    "zlib": ("zlib", "Zlib"),
}


class Problem(Exception):
    """One line: the thing, and the remedy."""


def run(*argv):
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else ""


def package_of(path, root):
    """The binary package that owns the file, "" if none does."""
    real = os.path.realpath(path)[len(root) :]
    path = path[len(root) :]
    for name in (path, real, path.replace("/usr/lib/", "/lib/", 1)):
        owner = run("dpkg-query", f"--admindir={root}/var/lib/dpkg", "-S", name).split(": ")[0]
        if owner:
            return owner.split(",")[0]
    return ""


def work_of_package(package, root):
    """(source package without a number of gcc's, version, file of the licence)."""
    fields = run(
        "dpkg-query",
        f"--admindir={root}/var/lib/dpkg",
        "-W",
        "-f",
        "${source:Package}\t${source:Version}",
        package,
    )
    source, _, version = fields.partition("\t")
    source = re.sub(r"^gcc-\d+(-cross)?$", "gcc", source)
    return source, version, f"{root}/usr/share/doc/{package.split(':')[0]}/copyright"


def work_of_folder(source, folder):
    """The same of an unpacked source package; its changelog begins with its version."""
    version = ""
    changelog = os.path.join(folder, "debian", "changelog")
    if os.path.exists(changelog):
        with open(changelog, encoding="utf-8") as file:
            match = re.match(r"[^ ]+ \(([^)]+)\)", file.readline())
            version = match[1] if match else ""
    for name in ("debian/copyright", "LICENSE", "copyright"):
        if os.path.exists(os.path.join(folder, name)):
            return source, version, os.path.join(folder, name)
    return source, version, ""


def works_of(args):
    found = {}
    folders = {"mimalloc": args.mimalloc, "cpp-httplib": args.httplib}
    for source, folder in folders.items():
        if folder:
            found[source] = work_of_folder(source, folder)
    for path in args.libraries:
        root = args.root if args.root and path.startswith(args.root + "/") else ""
        package = package_of(path, root)
        if not package:
            raise Problem(f"{path} is of no Debian package: link with the one of a -dev package")
        work = work_of_package(package, root)
        found[work[0]] = work
    for source, (_, _, licence) in found.items():
        if source not in WORKS:
            raise Problem(f"{source} has no licence in WORKS of {__file__}: add it there")
        if not os.path.exists(licence):
            raise Problem(f"{source} has no text of its licence ({licence}): install it again")
    return [found[source] for source in sorted(found)]


def package(name, version, licence, identity):
    return {
        "SPDXID": identity,
        "name": name,
        "versionInfo": version or "NOASSERTION",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": licence,
        "licenseDeclared": licence,
        "copyrightText": "NOASSERTION",
    }


def document(version, works):
    ours = "SPDXRef-Package-allomon"
    packages = [package("Allomon", version, "Apache-2.0", ours)]
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", ours)]
    for source, number, _ in works:
        identity = f"SPDXRef-Package-{source}"
        name, licence = WORKS[source]
        packages.append(package(name, number, licence, identity))
        relations.append((ours, "CONTAINS", identity))
    contents = json.dumps(packages, sort_keys=True)
    created = datetime.datetime.fromtimestamp(
        int(os.environ.get("SOURCE_DATE_EPOCH", "0")), datetime.timezone.utc
    )
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"allomon-{version}",
        "documentNamespace": uuid.uuid5(uuid.NAMESPACE_OID, contents).urn,
        "creationInfo": {
            "created": created.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "creators": ["Tool: allomon-sbom.py"],
        },
        "packages": packages,
        "hasExtractedLicensingInfos": [
            {"licenseId": PUBLIC_DOMAIN, "extractedText": "The work is in the public domain."}
        ],
        "relationships": [
            {"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b}
            for a, kind, b in relations
        ],
    }


def licences(works):
    """Each text once, under the works that it is of."""
    texts = {}
    for source, number, path in works:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
        digest = hashlib.sha256(text.encode()).hexdigest()
        texts.setdefault(digest, ([], text))[0].append(f"{WORKS[source][0]} {number}".rstrip())
    return "\n".join(
        "=" * 72 + "\n" + "\n".join(names) + "\n" + "=" * 72 + "\n\n" + text.rstrip() + "\n"
        for names, text in texts.values()
    )


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def runtime_library(compiler):
    """The archive that the compiler links into commands, beside what is asked for."""
    name = run(compiler, "-print-file-name=libstdc++.a").strip()
    return [os.path.realpath(name)] if name.startswith("/") else []


def main(argv):
    parser = argparse.ArgumentParser(description="writes an SBOM and the licences of a package")
    parser.add_argument("--version", required=True)
    parser.add_argument("--sbom", required=True)
    parser.add_argument("--licences", required=True)
    parser.add_argument("--mimalloc", default="")
    parser.add_argument("--httplib", default="")
    parser.add_argument("--root", default="")
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("libraries", nargs="*")
    args = parser.parse_args(argv)
    args.libraries += runtime_library(args.compiler)
    try:
        works = works_of(args)
        write(args.sbom, json.dumps(document(args.version, works), indent=2) + "\n")
        write(args.licences, licences(works))
    except (Problem, OSError) as problem:
        print(f"sbom.py: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
