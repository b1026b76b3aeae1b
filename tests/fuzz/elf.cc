// Files with symbols, unwind tables and line programs (DWARF): nothing in them causes a read
// outside of them, or a loop without end.
#include <algorithm>
#include <cstring>
#include <random>

#include "tests/fuzz/target.h"
#include "tracker/symbols/module_symbols.h"

namespace allomon::fuzz {
namespace {

using internal::ElfFile;

constexpr size_t kHeaderBytes = 64;  // ELF's, and one of a section
constexpr uint64_t kBytesPerQuestion = 29;
constexpr uint64_t kMostQuestions = 250;

// Calls every query on the image.  Returns whether any name was found.
bool CheckElf(const uint8_t* data, size_t size) {
  auto file = ElfFile::FromMemory(data, size);
  if (file == nullptr) return false;
  (void)file->BuildId();
  (void)file->FindDebugLink();
  internal::ModuleSymbols symbols(std::move(file), "");
  bool has_names = false;
  const uint64_t step = std::max(kBytesPerQuestion, size / kMostQuestions);
  for (uint64_t offset = 0; offset < size; offset += step) {
    const auto address = symbols.AddressOfOffset(offset);
    if (!address) continue;
    has_names |= symbols.FindSymbol(*address) != nullptr;
    if (const auto range = symbols.FindFde(*address)) {
      Require(range->begin <= *address && *address < range->end, "a function covers its code");
    }
    (void)symbols.FindLine(*address);
  }
  return has_names;
}

// Damages every section with equal probability, however small it is.
class Damager {
 public:
  Damager(const uint8_t* data, size_t size, unsigned seed)
      : random_(seed), image_(data, data + size) {
    targets_.push_back({0, std::min(size, kHeaderBytes)});
    const auto file = ElfFile::FromMemory(image_.data(), size);
    if (file == nullptr) return;
    for (size_t i = 0; i < file->section_count(); ++i) {
      const internal::ByteReader bytes = file->Section(i).data;
      if (bytes.remaining() > 0) {
        targets_.push_back(
            {static_cast<size_t>(bytes.position() - image_.data()), bytes.remaining()});
      }
    }
    // The section headers are last in a file written by ld.
    const size_t headers = std::min(size, kHeaderBytes * file->section_count());
    if (headers > 0) targets_.push_back({size - headers, headers});
  }

  std::vector<uint8_t> Damage() {
    for (size_t changes = 1 + random_() % 8; changes > 0; --changes) Change();
    if (random_() % 16 == 0) image_.resize(random_() % image_.size());
    return image_;
  }

 private:
  struct Target {
    size_t offset;
    size_t size;
  };

  void Change() {
    const Target& target = targets_[random_() % targets_.size()];
    const size_t at = target.offset + random_() % target.size;
    static constexpr uint8_t kTelling[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
    if (random_() % 2 == 0) {
      image_[at] = static_cast<uint8_t>(random_());
      return;
    }
    const size_t end = std::min(image_.size(), at + 1 + random_() % 8);
    memset(&image_[at], kTelling[random_() % std::size(kTelling)], end - at);
  }

  std::mt19937_64 random_;
  std::vector<uint8_t> image_;
  std::vector<Target> targets_;
};

}  // namespace

// All inputs come from compilers and linkers, and are in the archive.
std::vector<std::string> Seeds() { return {}; }

}  // namespace allomon::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace allomon::fuzz;
  return Done(CheckElf(data, size));
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  using namespace allomon::fuzz;
  if (size == 0 || seed % 4 == 0) return LLVMFuzzerMutate(data, size, max_size);
  const std::vector<uint8_t> damaged = Damager(data, size, seed).Damage();
  const size_t n = std::min(damaged.size(), max_size);
  std::copy_n(damaged.begin(), n, data);
  return n;
}
