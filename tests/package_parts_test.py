#!/usr/bin/env python3
"""What is put into packages, and that packages of the same contents are the same bytes.

The packages here are those of a small project, made with Allomon's scripts; tests/package makes
Allomon's own, which take a whole build by CMake.
"""

import base64
import glob
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
SCRIPTS = os.path.join(ROOT, "cmake", "package")

PROJECT = """
cmake_minimum_required(VERSION 3.20)
project(example VERSION 1.2 LANGUAGES NONE)
file(GLOB files files/*)
install(FILES ${files} DESTINATION share/example)
install(PROGRAMS run DESTINATION bin)
set(CPACK_GENERATOR @GENERATORS@)
set(CPACK_PACKAGE_CONTACT "a <a@localhost>")
set(CPACK_ALLOMON_PYTHON "@PYTHON@")
set(CPACK_POST_BUILD_SCRIPTS "@SCRIPT@")
include(CPack)
"""


def run(*argv, cwd=None, env=None):
    return subprocess.run(
        argv,
        cwd=cwd,
        env={**os.environ, **(env or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )


class SameBytes(unittest.TestCase):
    """Two builds of one source, hours and another user's habits apart."""

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def packages(self, name, when, umask, script, order):
        """{name of the package: its bytes}"""
        folder = os.path.join(self.folder, name)
        os.makedirs(os.path.join(folder, "files"))
        for file in order:
            path = os.path.join(folder, "files", file)
            with open(path, "w", encoding="ascii") as out:
                out.write(f"This is {file}.\n")
            os.utime(path, (when, when))
        with open(os.path.join(folder, "run"), "w", encoding="ascii") as out:
            out.write("#!/bin/sh\n")
        generators = "TGZ DEB" if shutil.which("dpkg-deb") else "TGZ"
        text = PROJECT.replace("@GENERATORS@", generators).replace("@PYTHON@", sys.executable)
        with open(os.path.join(folder, "CMakeLists.txt"), "w", encoding="utf-8") as out:
            out.write(text.replace("@SCRIPT@", script))
        build = os.path.join(folder, "build")
        for command in (("cmake", "-S", folder, "-B", build), ("cpack",)):
            cwd = build if command == ("cpack",) else folder
            shell = f'umask {umask}; exec "$@"'
            done = run("sh", "-c", shell, "sh", *command, cwd=cwd, env={"TZ": f"X{umask}"})
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        made = {}
        for path in glob.glob(os.path.join(build, "example-*")):
            with open(path, "rb") as file:
                made[os.path.basename(path)] = file.read()
        self.assertEqual(len(made), len(generators.split()))
        return made

    def two(self, script):
        first = self.packages("first", 1_700_000_000, "022", script, ["a", "b", "c"])
        second = self.packages("second", 1_700_009_999, "022", script, ["c", "a", "b"])
        return first, second

    @unittest.skipUnless(shutil.which("cpack"), "no cpack")
    def test_made_twice(self):
        first, second = self.two(os.path.join(SCRIPTS, "same_bytes.cmake"))
        self.assertEqual(first.keys(), second.keys())
        for name, packed in first.items():
            self.assertEqual(packed, second[name], name)
            path = os.path.join(self.folder, name)
            with open(path, "wb") as out:
                out.write(packed)
            if name.endswith(".deb"):
                listed = run("dpkg-deb", "--contents", path)
                self.assertEqual(listed.returncode, 0, listed.stderr)
                self.assertRegex(listed.stdout, r"-rwxr-xr-x root/root .*/bin/run")
                self.assertIn("Version: 1.2", run("dpkg-deb", "--info", path).stdout)
            else:
                listed = run("tar", "-tvzf", path)
                self.assertEqual(listed.returncode, 0, listed.stderr)
                names = [line.split()[-1] for line in listed.stdout.splitlines()]
                self.assertEqual(names, sorted(names))

    @unittest.skipUnless(shutil.which("cpack"), "no cpack")
    def test_without_the_script_they_differ(self):
        empty = os.path.join(self.folder, "empty.cmake")
        with open(empty, "w", encoding="ascii"):
            pass
        first, second = self.two(empty)
        for name, packed in first.items():
            self.assertNotEqual(packed, second[name], name)

    def test_time_is_that_of_the_environment(self):
        path = os.path.join(self.folder, "a.tar.gz")
        inner = os.path.join(self.folder, "a")
        with open(inner, "w", encoding="ascii") as out:
            out.write("a\n")
        run("tar", "-czf", path, "a", cwd=self.folder)
        script = os.path.join(SCRIPTS, "same_bytes.py")
        done = run(sys.executable, script, path, env={"SOURCE_DATE_EPOCH": "86400"})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        listed = run("tar", "--utc", "--full-time", "-tvzf", path).stdout
        self.assertIn("1970-01-02 00:00:00", listed)

    def test_what_is_no_package(self):
        for content in (b"", b"text", b"!<arch>\nshort", b"!<arch>\n" + b"x" * 60):
            path = os.path.join(self.folder, "bad.deb")
            with open(path, "wb") as out:
                out.write(content)
            done = run(sys.executable, os.path.join(SCRIPTS, "same_bytes.py"), path)
            self.assertEqual(done.returncode, 1, content)
            self.assertRegex(done.stderr, r"\Asame_bytes\.py: .*bad\.deb is no package: .*\n\Z")
            with open(path, "rb") as file:
                self.assertEqual(file.read(), content)


class Parts(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def sbom(self, *more):
        sbom = os.path.join(self.folder, "sbom.json")
        licences = os.path.join(self.folder, "licences")
        script = os.path.join(SCRIPTS, "sbom.py")
        done = run(
            sys.executable,
            script,
            "--version=1.2",
            f"--sbom={sbom}",
            f"--licences={licences}",
            *more,
        )
        if done.returncode != 0:
            return done, None, None
        with open(sbom, encoding="utf-8") as file:
            document = file.read()
        with open(licences, encoding="utf-8") as file:
            return done, document, file.read()

    def unpacked(self):
        """An unpacked source package."""
        folder = os.path.join(self.folder, "mimalloc")
        os.makedirs(os.path.join(folder, "debian"), exist_ok=True)
        for name, text in (
            ("debian/changelog", "mimalloc (9.9-1) x; urgency=low\n"),
            ("LICENSE", "You may use it.\n"),
        ):
            with open(os.path.join(folder, name), "w", encoding="ascii") as out:
                out.write(text)
        return folder

    @unittest.skipUnless(shutil.which("dpkg-query"), "no dpkg")
    def test_parts_of_a_build(self):
        header = "/usr/include/nlohmann/json.hpp"
        done, text, licences = self.sbom(f"--mimalloc={self.unpacked()}", header)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        document = json.loads(text)
        self.assertEqual(document["spdxVersion"], "SPDX-2.3")
        packages = {one["name"]: one for one in document["packages"]}
        self.assertEqual(packages["Allomon"]["versionInfo"], "1.2")
        self.assertEqual(packages["mimalloc"]["versionInfo"], "9.9-1")
        self.assertEqual(packages["mimalloc"]["licenseDeclared"], "MIT")
        self.assertRegex(packages["JSON for Modern C++"]["versionInfo"], r"^\d+\.")
        self.assertIn("libstdc++, libgcc", packages)
        identities = {one["SPDXID"] for one in document["packages"]} | {"SPDXRef-DOCUMENT"}
        for relation in document["relationships"]:
            self.assertIn(relation["spdxElementId"], identities)
            self.assertIn(relation["relatedSpdxElement"], identities)
        contained = [r for r in document["relationships"] if r["relationshipType"] == "CONTAINS"]
        self.assertEqual(len(contained), len(packages) - 1)
        for name in packages.keys() - {"Allomon"}:
            self.assertIn(f"\n{name} {packages[name]['versionInfo']}\n", licences)
        self.assertIn("You may use it.", licences)
        again = self.sbom(f"--mimalloc={self.unpacked()}", header)
        self.assertEqual((text, licences), again[1:])

    @unittest.skipUnless(shutil.which("dpkg-query"), "no dpkg")
    def test_what_has_no_known_licence(self):
        own = os.path.join(self.folder, "libown.a")
        with open(own, "wb"):
            pass
        for path, wrong in (
            (own, "libown.a is of no Debian package"),
            ("/bin/sh", "has no licence in WORKS"),
        ):
            done, _, _ = self.sbom(path)
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, r"\Asbom\.py: [^\n]*" + re.escape(wrong) + r"[^\n]*\n\Z")


class Ports(unittest.TestCase):
    """Port files that packaging/ports/fill.py makes of small archives with this tree's version."""

    URL = "https://example.org/sources"

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        with open(os.path.join(ROOT, "tracker/formats/version.h"), encoding="utf-8") as file:
            self.header = file.read()
        self.version = re.search(r'"allomon ([0-9.]+)', self.header)[1]
        with open(os.path.join(ROOT, "MODULE.bazel"), encoding="utf-8") as file:
            module = file.read()
        self.ours = {"tracker/formats/version.h": self.header, "MODULE.bazel": module}
        mimalloc = {"include/mimalloc.h": "#define MI_MALLOC_VERSION 209\n"}
        httplib = {"httplib.h": '#define CPPHTTPLIB_VERSION "0.11.4"\n'}
        self.archives = [
            self.archive("allomon", self.ours),
            self.archive("mimalloc", mimalloc),
            self.archive("cpp-httplib", httplib),
        ]

    def archive(self, name, files):
        path = os.path.join(self.folder, f"{name}.tar.gz")
        with tarfile.open(path, "w:gz") as out:
            for below, text in files.items():
                member = tarfile.TarInfo(f"{name}-1/{below}")
                member.size = len(text.encode())
                out.addfile(member, io.BytesIO(text.encode()))
        return path

    def fill(self, *archives, url=URL):
        script = os.path.join(ROOT, "packaging", "ports", "fill.py")
        out = os.path.join(self.folder, "out")
        return run(sys.executable, script, f"--url={url}", f"--folder={out}", *archives)

    def made(self):
        done = self.fill(*self.archives)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        found = {}
        for path in glob.glob(os.path.join(self.folder, "out", "**"), recursive=True):
            if os.path.isfile(path):
                with open(path, encoding="utf-8") as file:
                    found[os.path.relpath(path, os.path.join(self.folder, "out"))] = file.read()
        return found

    def test_versions_and_hashes_agree(self):
        made = self.made()
        self.assertEqual(len(made), 9, sorted(made))
        for place, text in made.items():
            self.assertNotRegex(text, "@[A-Z0-9_]+@", place)
        for place, line in (
            ("rpm/allomon.spec", "Version:        {}"),
            ("conan/conanfile.py", 'version = "{}"'),
            ("vcpkg/allomon/vcpkg.json", '"version-semver": "{}"'),
            ("homebrew/allomon.rb", 'version "{}"'),
            ("nix/default.nix", 'version = "{}"'),
        ):
            self.assertIn(line.format(self.version), made[place])
        with open(self.archives[0], "rb") as file:
            data = file.read()
        for place in "conan/conanfile.py", "homebrew/allomon.rb", "nix/default.nix":
            self.assertIn(hashlib.sha256(data).hexdigest(), made[place])
        self.assertIn(hashlib.sha512(data).hexdigest(), made["vcpkg/allomon/portfile.cmake"])
        source = json.loads(made[f"bazel/modules/allomon/{self.version}/source.json"])
        digest = base64.b64encode(hashlib.sha256(data).digest()).decode()
        self.assertEqual(source["integrity"], f"sha256-{digest}")
        self.assertEqual(source["strip_prefix"], "allomon-1")
        metadata = json.loads(made["bazel/modules/allomon/metadata.json"])
        self.assertEqual(metadata["versions"], [self.version])

    def test_each_is_parsed_where_its_tool_is(self):
        made = self.made()
        json.loads(made["vcpkg/allomon/vcpkg.json"])
        compile(made["conan/conanfile.py"], "conanfile.py", "exec")
        out = os.path.join(self.folder, "out")
        for place, command in (
            ("homebrew/allomon.rb", ("ruby", "-c")),
            ("nix/default.nix", ("nix-instantiate", "--parse")),
            ("rpm/allomon.spec", ("rpmspec", "-P")),
        ):
            if shutil.which(command[0]):
                done = run(*command, os.path.join(out, place))
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_options_are_those_of_the_build(self):
        known = ""
        for path in ("CMakeLists.txt", "cmake/package.cmake"):
            with open(os.path.join(ROOT, path), encoding="utf-8") as file:
                known += file.read()
        for place, text in self.made().items():
            for option in re.findall(r"\b(?:-D)?(ALLOMON_(?:BUILD_\w+|\w+_SOURCE))\b", text):
                self.assertRegex(known, rf"\((?:ALLOMON_)?{option} ", place)

    def refused(self, archives, message, **more):
        done = self.fill(*archives, **more)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, rf"\Afill\.py: [^\n]*{message}[^\n]*\n\Z")
        self.assertFalse(os.path.exists(os.path.join(self.folder, "out")))

    def test_bad_input(self):
        ours, mimalloc, httplib = self.archives
        self.refused([ours, httplib, mimalloc], "has no include/mimalloc.h")
        self.refused([ours, mimalloc, self.folder + "/none"], "no source archive")
        self.refused(self.archives, "no address", url="here")
        new = self.archive("new", {"include/mimalloc.h": "#define MI_MALLOC_VERSION 30500\n"})
        self.refused([ours, new, httplib], "mimalloc 30500; take 2.0.9")
        other = dict(self.ours, **{"tracker/formats/version.h": '"allomon 9.9.9"'})
        self.refused([self.archive("other", other), mimalloc, httplib], "the version 9.9.9")
        with open(ours, "r+b") as file:
            file.truncate(100)
        self.refused([ours, mimalloc, httplib], "no source archive")


if __name__ == "__main__":
    sys.exit(unittest.main())
