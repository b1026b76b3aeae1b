#!/usr/bin/env python3
"""An output format is a file and a line: this adds one to a copy of tracker/formats/.

The copy is compiled as the BUILD file there compiles the original, with a program that asks for
the format by its name.  What the format needed to be changed is counted.
"""

import filecmp
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

FORMATS = "tracker/formats"

# A list of functions and what each used, one per line.
TOY_FILES = """
#include "tracker/formats/output_format.h"

namespace allomon {

OutputFiles ToyFiles(const NamedProfile& profile);

OutputFiles ToyFiles(const NamedProfile& profile) {
  std::string text;
  for (size_t i = 0; i < profile.sources.names.size(); ++i) {
    const auto used = static_cast<long long>(profile.mlmon.masters[i].current);
    text += profile.sources.names[i].name + " " + std::to_string(used) + "\\n";
  }
  return {{"", text}};
}

}  // namespace allomon
"""

MAIN = """
#include <cstdio>

#include "tracker/formats/output_format.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  allomon::NamedProfile profile;
  profile.sources = allomon::FixedSourceTable();
  profile.mlmon.masters.resize(profile.sources.names.size());
  profile.mlmon.masters[allomon::kMainSource].current = 42;
  profile.mlmon.splits = profile.mlmon.masters;
  const allomon::OutputFormat format = allomon::FindOutputFormat(argv[1]);
  if (format == nullptr) return 3;
  for (const allomon::OutputFile& file : format(profile)) {
    printf("[%s]\\n%s", file.suffix.c_str(), file.bytes.c_str());
  }
}
"""


def sources_of_output_format(folder):
    """The rule //tracker/formats:output_format and what it depends on."""
    names = ["mlmon.cc", "source_table.cc", "line_parser.cc", "scan.cc", "call_sites.cc"]
    names += ["output_format.cc"]
    names += [name for name in os.listdir(folder) if name.endswith("_files.cc")]
    return [os.path.join(folder, name) for name in sorted(names)]


class ToyFormat(unittest.TestCase):
    def setUp(self):
        root = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
        self.original = os.path.join(root, FORMATS)
        self.copy_root = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.copy_root)
        self.copy = os.path.join(self.copy_root, FORMATS)
        shutil.copytree(self.original, self.copy)

    def add_toy(self):
        with open(os.path.join(self.copy, "toy_files.cc"), "w", encoding="utf-8") as toy:
            toy.write(TOY_FILES)
        with open(os.path.join(self.copy, "output_formats.inc"), "a", encoding="utf-8") as table:
            table.write("ALLOMON_OUTPUT_FORMAT(toy, ToyFiles)\n")

    def touched(self):
        compared = filecmp.dircmp(self.original, self.copy)
        return sorted(compared.diff_files + compared.left_only + compared.right_only)

    def run_with(self, *formats):
        main = os.path.join(self.copy_root, "main.cc")
        with open(main, "w", encoding="utf-8") as program:
            program.write(MAIN)
        binary = os.path.join(self.copy_root, "main")
        # Checks are of tracker/base/, below the original.
        root = os.path.dirname(os.path.dirname(self.original))
        command = ["g++", "-std=c++17", "-DNDEBUG", "-I", self.copy_root, "-I", root]
        command += ["-o", binary, main]
        subprocess.run(command + sources_of_output_format(self.copy), check=True)
        return [subprocess.run([binary, name], capture_output=True, text=True) for name in formats]

    def test_a_toy_format_touches_two_files(self):
        self.add_toy()
        self.assertEqual(self.touched(), ["output_formats.inc", "toy_files.cc"])
        toy, mlmon, unknown = self.run_with("toy", "mlmon", "no such")
        self.assertEqual(toy.stdout, "[]\n<unknown> 0\n<gc> 0\n<main> 42\n")
        self.assertIn("MLton prof", mlmon.stdout)
        self.assertEqual(unknown.returncode, 3)

    def test_the_line_is_what_makes_it_known(self):
        with open(os.path.join(self.copy, "toy_files.cc"), "w", encoding="utf-8") as toy:
            toy.write(TOY_FILES)
        (toy,) = self.run_with("toy")
        self.assertEqual(toy.returncode, 3)


if __name__ == "__main__":
    sys.exit(unittest.main())
