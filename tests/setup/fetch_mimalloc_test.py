#!/usr/bin/env python3
"""fetch_mimalloc.sh beside mirrors that lack mimalloc's source, or a part of it: another version
comes, or one line, and never half a source."""

import os
import sys
import unittest

sys.dont_write_bytecode = True  # the source tree stays as it is

from machine import Machine

SCRIPT = "tools/setup/fetch_mimalloc.sh"

# A mirror with the versions $there.  The lists of the machine's own suite name $listed; the private
# sources name other suites once the script has written a line for one.
APT = """
sources=$(sed -n 's/.*Dir::Etc::SourceList=\\([^ ]*\\).*/\\1/p' <<<"$*")
case $* in
  *showsrc*)
    if grep -q ' bookworm main' "$sources"; then list="$others"; else list="$listed"; fi
    for version in $list; do echo "Version: $version"; done ;;
  *indextargets*) echo 'Debian|Debian|mirror:/debian/'; echo 'Debian|Debian-Security|mirror:/s/' ;;
  *--download-only*)
    version=${@: -1}; version=${version#*=}
    case " $there " in
      *" $version "*) touch "mimalloc_$version.dsc" ;;
      *) echo "E: Failed to fetch mimalloc_$version.dsc  404  Not Found"; exit 100 ;;
    esac ;;
  *shell*) echo "list='/dev/null' parts='/nowhere/'" ;;
esac
"""
UNPACK = """
version=${4#mimalloc_}
mkdir -p "$5/include/mimalloc" && touch "$5/include/mimalloc/internal.h"
echo "#define MI_MALLOC_VERSION ${version%.dsc}" >"$5/include/mimalloc.h"
"""


class FetchMimallocTest(unittest.TestCase):
    def setUp(self):
        self.machine = Machine()
        self.addCleanup(self.machine.close)
        self.deps = os.path.join(self.machine.root, ".deps")
        for name in ("apt-get", "apt-cache", "apt-config"):
            self.machine.has(name, APT)
        self.machine.has("dpkg-source", UNPACK)

    def run_script(self, listed="", there="", others=""):
        return self.machine.run(SCRIPT, listed=listed, there=there, others=others)

    def version(self):
        """What is there afterwards, or None; anything that is half done fails the test."""
        names = set(os.listdir(self.deps)) if os.path.isdir(self.deps) else set()
        self.assertLessEqual(names, {"lock", "mimalloc"})
        if "mimalloc" not in names:
            return None
        with open(os.path.join(self.deps, "mimalloc/include/mimalloc.h"), encoding="utf-8") as file:
            return file.read().split()[-1]

    def test_known_versions_come_before_newer_ones(self):
        offered = "3.6.0+ds-1 3.0.1+ds-2 2.0.9+ds-2"
        status, said = self.run_script(offered, offered)
        self.assertEqual((0, 1), (status, len(said)), said)
        self.assertEqual("2.0.9+ds-2", self.version())

    def test_a_version_whose_number_begins_like_a_known_one_is_not_known(self):
        offered = "2.0.99-1 3.0.1-1 3.0.15-1"
        self.assertEqual(0, self.run_script(offered, offered)[0])
        self.assertEqual("3.0.1-1", self.version())

    def test_the_newest_comes_where_none_is_known(self):
        offered = "3.9.0-1 3.10.0-1 3.2.0-1"
        self.assertEqual(0, self.run_script(offered, offered)[0])
        self.assertEqual("3.10.0-1", self.version())

    def test_files_that_the_mirror_lacks_are_replaced_by_another_suites_and_one_line_says_so(self):
        status, said = self.run_script("3.0.1+ds-2", "2.0.9+ds-2", others="2.0.9+ds-2 3.0.1+ds-2")
        self.assertEqual((0, 2), (status, len(said)), said)
        self.assertIn("lacks mimalloc 3.0.1+ds-2;", said[1])
        self.assertIn("took the source of 2.0.9+ds-2", said[1])
        self.assertEqual("2.0.9+ds-2", self.version())

    def test_a_distribution_without_mimalloc_takes_another_suites(self):
        status, said = self.run_script("", "2.0.9-2", others="2.0.9-2")
        self.assertEqual((0, 2), (status, len(said)), said)
        self.assertIn("lacks mimalloc for this distribution", said[1])
        self.assertEqual("2.0.9-2", self.version())

    def test_a_mirror_without_any_ends_in_one_line_with_the_remedies(self):
        status, said = self.run_script("3.0.1-2", "", others="2.0.9-2")
        self.assertEqual(1, status)
        self.assertIn("E: Failed to fetch mimalloc_3.0.1-2.dsc  404  Not Found", said)
        self.assertIn("source package of mimalloc 3.0.1-2: see what 'apt-get update'", said[-1])
        self.assertIn("or put mimalloc's source, of any version, into", said[-1])
        self.assertIsNone(self.version())

    def test_no_network_at_all(self):
        for name in ("apt-get", "apt-cache"):
            self.machine.has(name, "echo 'E: Temporary failure resolving the mirror'; exit 100")
        status, said = self.run_script()
        self.assertEqual(1, status)
        self.assertTrue(said[-1].startswith("bazelw: apt could not download the source"), said)
        self.assertIsNone(self.version())

    def test_a_source_that_does_not_unpack_leaves_nothing(self):
        self.machine.has("dpkg-source", 'mkdir "$5"; echo "dpkg-source: error: no space"; exit 2')
        status, said = self.run_script("2.0.9-2", "2.0.9-2")
        self.assertEqual(1, status)
        self.assertIn("dpkg-source: error: no space", said)
        self.assertIn("did not unpack into", said[-1])
        self.assertIsNone(self.version())

    def test_a_source_that_cannot_be_mended_leaves_nothing(self):
        status, said = self.run_script("301", "301")
        self.assertEqual((1, 2), (status, len(said)), said)
        self.assertIn("has not the line that is to be mended", said[1])
        self.assertIsNone(self.version())

    def test_a_source_without_its_header_is_fetched_again(self):
        os.makedirs(os.path.join(self.deps, "mimalloc"))
        self.assertEqual(0, self.run_script("2.0.9-2", "2.0.9-2")[0])
        self.assertEqual("2.0.9-2", self.version())

    def test_what_is_there_stays(self):
        include = os.path.join(self.deps, "mimalloc", "include")
        os.makedirs(include)
        with open(os.path.join(include, "mimalloc.h"), "w", encoding="utf-8") as file:
            file.write("#define MI_MALLOC_VERSION 999\n")
        self.assertEqual((0, []), self.run_script("2.0.9-2", "2.0.9-2"))
        self.assertEqual([], self.machine.calls())

    def test_a_clone_that_cannot_be_written_is_named(self):
        with open(self.deps, "w", encoding="utf-8"):
            pass  # a file where the folder is to be; root may write into any folder
        status, said = self.run_script("2.0.9-2", "2.0.9-2")
        self.assertEqual((1, 1), (status, len(said)), said)
        self.assertIn(f"cannot write into {self.deps}", said[0])
        self.assertIn("make the clone writable", said[0])

    def test_a_system_without_dpkg_source(self):
        self.machine.lacks("dpkg-source")
        status, said = self.run_script("2.0.9-2", "2.0.9-2")
        self.assertEqual((1, 1), (status, len(said)), said)
        self.assertIn("install dpkg-dev", said[0])

    def test_cpp_httplib_comes_the_same_way_and_must_be_whole(self):
        unpack = 'mkdir "$5" && echo "inline bool Server::listen(" >"$5/httplib.h"'
        self.machine.has("dpkg-source", unpack)
        script = "tools/setup/fetch_httplib.sh"
        versions = {"listed": "0.18.7-1 0.11.4-1", "there": "0.18.7-1"}
        status, said = self.machine.run(script, others="", **versions)
        self.assertEqual((0, 1), (status, len(said)), said)
        self.assertEqual({"lock", "cpp-httplib"}, set(os.listdir(self.deps)))
        with open(os.path.join(self.deps, "cpp-httplib/httplib.h"), "w", encoding="utf-8") as file:
            file.write("class Server;  // the half that the binary package has\n")
        self.machine.has("dpkg-source", 'mkdir "$5"')
        status, said = self.machine.run(script, others="", **versions)
        self.assertEqual(1, status)
        self.assertIn("cpp-httplib 0.18.7-1 has no httplib.h", said[-1])


if __name__ == "__main__":
    unittest.main()
