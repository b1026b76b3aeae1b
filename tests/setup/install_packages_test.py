#!/usr/bin/env python3
"""What install_packages.sh says on a system that lacks something, and that it then downloads
nothing."""

import re
import sys
import unittest

sys.dont_write_bytecode = True  # the source tree stays as it is

from machine import WORKSPACE, Machine

SCRIPT = "tools/setup/install_packages.sh"


def packages():
    """Of packages.txt: names -> the oldest version, or ""."""
    wanted = {}
    with open(f"{WORKSPACE}/tools/setup/packages.txt", encoding="utf-8") as file:
        for line in file:
            entry = re.sub(r"\s", "", line.split("#")[0])
            if entry:
                name, _, version = entry.partition(">=")
                wanted[name] = version
    return wanted


class InstallPackagesTest(unittest.TestCase):
    def setUp(self):
        self.machine = Machine()
        self.addCleanup(self.machine.close)
        self.has = {name.split("|")[0]: (version or "1") for name, version in packages().items()}
        self.offers = dict(self.has)
        self.update = "true"
        self.install = "true"
        self.user = 0

    def run_script(self, has):
        """With the packages `has` installed, and self.offers on apt's mirror."""
        rows = [f"{name} installed {version}" for name, version in has.items()]
        self.machine.has("dpkg-query", "cat <<'END'\n" + "\n".join(rows) + "\nEND")
        cases = [f"{name}) version={version};;" for name, version in self.offers.items()]
        self.machine.has(
            "apt-cache",
            'case $2 in\n%s\n*) exit;;\nesac\necho "  Candidate: $version"' % "\n".join(cases),
        )
        self.machine.has(
            "apt-get", f"case $* in *update*) {self.update};; *install*) {self.install};; esac"
        )
        self.machine.has("id", f"echo {self.user}")
        return self.machine.run(SCRIPT)

    def asked_to_install(self):
        return [call for call in self.machine.calls() if re.match("apt-get.* install ", call)]

    def without(self, *names):
        return {name: version for name, version in self.has.items() if name not in names}

    def test_a_complete_system_is_left_alone(self):
        self.assertEqual((0, []), self.run_script(self.has))
        self.assertFalse([call for call in self.machine.calls() if call.startswith("apt-")])

    def test_only_what_is_missing_is_installed(self):
        status, said = self.run_script(self.without("clang", "valgrind"))
        self.assertEqual(0, status, said)
        self.assertIn("bazelw: installing clang valgrind", said)
        self.assertEqual(1, len(self.asked_to_install()))
        self.assertTrue(self.asked_to_install()[0].endswith(" clang valgrind"))

    def test_the_other_name_of_a_package_will_do(self):
        both = next(name for name in packages() if "|" in name).split("|")
        others = self.without(both[0])
        others[both[1]] = "1"
        self.assertEqual((0, []), self.run_script(others))
        self.offers = dict(others)
        status, said = self.run_script(self.without(both[0]))
        self.assertEqual(0, status, said)
        self.assertTrue(self.asked_to_install()[0].endswith(" " + both[1]))

    def test_an_old_package_is_replaced_where_a_newer_one_is_on_offer(self):
        status, said = self.run_script({**self.has, "libabsl-dev": "0~20200923-3"})
        self.assertEqual(0, status, said)
        self.assertTrue(self.asked_to_install()[0].endswith(" libabsl-dev"))

    def test_a_version_that_is_too_old_ends_before_the_download(self):
        for name, old in (
            ("libabsl-dev", "0~20200923-3"),
            ("bazel-bootstrap", "3.5.1+ds-1"),
            ("g++", "4:10.2.1-1"),
        ):
            self.offers = {**self.has, name: old}
            status, said = self.run_script({**self.has, name: old})
            self.assertEqual((1, 1), (status, len(said)), said)
            self.assertIn(f"bazelw: {name} is {old} in this distribution", said[0])
            self.assertIn(f"needs {packages()[name]} or later", said[0])
            self.assertIn("cmake/README.md", said[0])
        self.assertEqual([], self.asked_to_install())

    def test_a_package_that_does_not_exist_ends_before_the_download(self):
        self.offers = self.without("chromium")
        status, said = self.run_script(self.without("chromium", "gawk"))
        self.assertEqual((1, 1), (status, len(said)), said)
        self.assertIn("no package chromium", said[0])
        self.assertIn("Debian 12 or later", said[0])
        self.assertEqual([], self.asked_to_install())

    def test_without_a_network_the_mirror_is_named_not_the_package(self):
        self.offers = {}
        self.update = "echo 'W: Failed to fetch the list; Temporary failure resolving'"
        status, said = self.run_script({})
        self.assertEqual((1, 2), (status, len(said)), said)
        self.assertIn("Temporary failure", said[0])
        self.assertIn("bazelw: apt cannot reach its mirror", said[1])
        self.assertIn("check the network", said[1])

    def test_a_network_that_ends_in_the_middle(self):
        self.install = "echo 'E: Failed to fetch g++.deb  Connection timed out'; exit 100"
        status, said = self.run_script(self.without("g++"))
        self.assertEqual(1, status)
        self.assertIn("E: Failed to fetch g++.deb  Connection timed out", said)
        self.assertIn("bazelw: apt cannot download from its mirror", said[-1])

    def test_what_apt_says_of_another_failure_is_shown(self):
        self.install = "echo 'E: dpkg was interrupted, run dpkg --configure -a'; exit 100"
        status, said = self.run_script(self.without("g++"))
        self.assertEqual(1, status)
        self.assertIn("E: dpkg was interrupted, run dpkg --configure -a", said)
        self.assertIn("bazelw: apt-get could not install", said[-1])

    def test_without_root_and_sudo_the_command_is_printed(self):
        self.user = 1000
        status, said = self.run_script(self.without("clang", "gawk"))
        self.assertEqual((1, 2), (status, len(said)), said)
        self.assertIn("Run this as root", said[0])
        self.assertEqual(
            "apt-get update && apt-get install -y --no-install-recommends clang gawk", said[1]
        )
        self.assertEqual([], self.asked_to_install())

    def test_sudo_is_not_waited_for_where_nobody_can_answer(self):
        self.user = 1000
        self.machine.has("sudo", "exit 1")
        status, said = self.run_script(self.without("clang"))
        self.assertEqual((1, 2), (status, len(said)), said)
        self.assertEqual(["sudo -n true"], [c for c in self.machine.calls() if "sudo" in c])

    def test_sudo_that_needs_no_password_installs(self):
        self.user = 1000
        self.machine.has("sudo", '[[ $1 == -n ]] || exec "$@"')
        status, said = self.run_script(self.without("clang"))
        self.assertEqual(0, status, said)
        self.assertTrue(self.asked_to_install()[0].endswith(" clang"))

    def test_a_system_without_apt_is_sent_to_cmake(self):
        status, said = self.machine.run(SCRIPT)
        self.assertEqual((1, 1), (status, len(said)), said)
        self.assertIn("no apt-get", said[0])
        self.assertIn("cmake/README.md", said[0])


if __name__ == "__main__":
    unittest.main()
