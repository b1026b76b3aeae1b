// Symbol files that are damaged on purpose: nothing in them may cause a read outside of them, or a
// loop without end.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "tracker/symbols/module_symbols.h"

namespace allomon::internal {
namespace {

using Bytes = std::vector<uint8_t>;

Bytes ReadFixture(const std::string& name) {
  const std::string path = std::string(getenv("TEST_SRCDIR")) + "/" + getenv("TEST_WORKSPACE") +
                           "/tests/callstack/" + name;
  std::ifstream file(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

// Asks everything that can be asked of the image.  Returns the number of names found.
int AskEverything(const Bytes& image) {
  // An exact copy, so that a sanitizer sees a read just past its end.
  const Bytes copy(image.begin(), image.end());
  auto file = ElfFile::FromMemory(copy.data(), copy.size());
  if (file == nullptr) return 0;
  (void)file->BuildId();
  (void)file->FindDebugLink();
  ModuleSymbols symbols(std::move(file), "");
  int names = 0;
  for (uint64_t offset = 0; offset < copy.size(); offset += 29) {
    const auto address = symbols.AddressOfOffset(offset);
    if (!address) continue;
    if (symbols.FindSymbol(*address) != nullptr) ++names;
    (void)symbols.FindFde(*address);
    (void)symbols.FindLine(*address);
  }
  return names;
}

// The offset of a section's bytes in the image, to aim at.
size_t OffsetOf(const Bytes& image, const ElfSection& section) {
  return section.data.position() - image.data();
}

class Mutator {
 public:
  explicit Mutator(const Bytes& image) : image_(image) {
    const auto file = ElfFile::FromMemory(image_.data(), image_.size());
    targets_.push_back({0, 64});  // the ELF header
    for (size_t i = 0; i < file->section_count(); ++i) {
      const ElfSection section = file->Section(i);
      const size_t size = section.data.remaining();
      if (size > 0) targets_.push_back({OffsetOf(image_, section), size});
    }
    // The section headers, which are last in a file that ld wrote.
    targets_.push_back({image_.size() - 64 * targets_.size(), 64 * targets_.size()});
  }

  Bytes Next() {
    Bytes mutant = image_;
    const size_t changes = 1 + random_() % 8;
    for (size_t i = 0; i < changes; ++i) Change(&mutant);
    if (random_() % 8 == 0) mutant.resize(random_() % mutant.size());
    return mutant;
  }

 private:
  struct Target {
    size_t offset;
    size_t size;
  };

  void Change(Bytes* mutant) {
    // Every section is as likely as any other, however small.
    const Target& target = targets_[random_() % targets_.size()];
    const size_t at = target.offset + random_() % target.size;
    static constexpr uint8_t kTelling[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
    if (random_() % 2 == 0) {
      (*mutant)[at] = static_cast<uint8_t>(random_());
      return;
    }
    const uint8_t value = kTelling[random_() % 5];
    for (size_t i = at; i < at + 1 + random_() % 8 && i < mutant->size(); ++i) {
      (*mutant)[i] = value;
    }
  }

  std::mt19937_64 random_{20240607};
  const Bytes image_;
  std::vector<Target> targets_;
};

class ElfFuzz : public ::testing::TestWithParam<const char*> {
 protected:
  const Bytes image_ = ReadFixture(GetParam());
};

TEST_P(ElfFuzz, UndamagedFixtureHasNames) { EXPECT_GT(AskEverything(image_), 3); }

// checks inv.symbols.bounded: the address sanitizer sees a read outside of the image.
TEST_P(ElfFuzz, TwoThousandMutations) {
  Mutator mutator(image_);
  int with_names = 0;
  for (int i = 0; i < 2000; ++i) {
    if (AskEverything(mutator.Next()) > 0) ++with_names;
  }
  // Otherwise the damage is so coarse that most of the code is never reached.
  EXPECT_GT(with_names, 500);
}

// checks inv.symbols.bounded: the same for a file that was cut short.
TEST_P(ElfFuzz, EveryTruncation) {
  for (size_t size = 0; size < image_.size(); size += 31) {
    AskEverything(Bytes(image_.begin(), image_.begin() + size));
  }
}

INSTANTIATE_TEST_SUITE_P(Dwarf, ElfFuzz,
                         ::testing::Values("libfixture.so", "libfixture_dwarf4.so"));

}  // namespace
}  // namespace allomon::internal
