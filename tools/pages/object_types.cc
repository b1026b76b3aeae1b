#include "tools/pages/object_types.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "tools/explain/recorded_blocks.h"
#include "tools/load/recording/recording_profile.h"
#include "tools/pages/process_blocks.h"

namespace allomon::pages {
namespace {

// An object begins with its count of references and its type.  Before them are two words of the
// garbage collector, if it knows the object, and before these two more for a dictionary and weak
// references.
constexpr uint64_t kHeadBytes[] = {0, 16, 32};
constexpr uint64_t kTypeOffset = 8;
constexpr uint64_t kLeastObjectBytes = 16;
constexpr uint64_t kMostHeadBytes = 48;  // with the first two words of the object

// Offsets in a type object, the same in all of these versions.
constexpr uint64_t kNameOffset = 24;
constexpr uint64_t kFlagsOffset = 168;
constexpr uint64_t kTypeSubclass = uint64_t{1} << 31;  // the objects of such a type are types

constexpr uint64_t kLeastAddress = 4096;
constexpr uint64_t kMostAddress = uint64_t{1} << 47;
constexpr int kMostMetatypes = 8;
constexpr size_t kMostNameBytes = 256;
constexpr size_t kNamePieceBytes = 32;

bool IsAddress(uint64_t word) {
  return word >= kLeastAddress && word < kMostAddress && word % sizeof(uint64_t) == 0;
}

// The count of 3.14 has 32 bits, and flags are in the highest 16.  An address of a heap has bits
// between them.
bool IsReferenceCount(uint64_t word) {
  return static_cast<uint32_t>(word) != 0 && (word >> 32 & 0xffff) == 0;
}

class Reader {
 public:
  explicit Reader(uint32_t pid)
      : blocks_(pid), types_([this](uint64_t address, void* to, size_t size_bytes) {
          return ReadUnlessSwapped(address, to, size_bytes);
        }) {}
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  absl::Status Read() {
    const absl::Status status = blocks_.Open();
    if (!status.ok()) return status;
    sampled_ = blocks_.ListSampled();
    return blocks_.ReadHeap();
  }

  absl::StatusOr<heap::HeapProfile> Profile(const NameSources& name_sources) {
    recording::RecordingOptions options;
    options.name_sources = name_sources;
    options.find_type = [this](const recording::Process& process, uint32_t number) {
      const size_t index = blocks_.Find(process, number);
      if (index == explain::RecordedBlocks::kNone) return std::string();
      const ProcessBlocks::Place& block = sampled_[index];
      return types_.Of(block.begin,
                       std::min(process.live[number - 1].size_bytes, block.room_bytes));
    };
    return blocks_.Profile(options);
  }

 private:
  // Reading a page that is swapped would bring it into the process's memory.
  bool ReadUnlessSwapped(uint64_t address, void* to, size_t size_bytes) const {
    const uint64_t page_bytes = blocks_.process().page_bytes();
    const uint64_t last = (address + size_bytes - 1) / page_bytes;
    for (uint64_t page = address / page_bytes; page <= last; ++page) {
      const explain::Process& process = blocks_.process();
      if (process.HasContent(page) && !process.IsResident(page)) return false;
    }
    return blocks_.ReadMemory(address, to, size_bytes);
  }

  ProcessBlocks blocks_;
  PythonTypes types_;
  std::vector<ProcessBlocks::Place> sampled_;
};

}  // namespace

std::string PythonTypes::Of(uint64_t begin, uint64_t size_bytes) {
  char bytes[kMostHeadBytes];
  const uint64_t read_bytes = std::min<uint64_t>(size_bytes, sizeof(bytes));
  if (read_bytes < kLeastObjectBytes || !read_(begin, bytes, read_bytes)) return "";
  for (const uint64_t head_bytes : kHeadBytes) {
    if (head_bytes + kLeastObjectBytes > read_bytes) break;
    uint64_t count = 0, type = 0;
    memcpy(&count, bytes + head_bytes, sizeof(count));
    memcpy(&type, bytes + head_bytes + kTypeOffset, sizeof(type));
    if (!IsReferenceCount(count) || !IsAddress(type)) continue;
    std::string name = NameOf(type);
    // Types in an executable that is linked to fixed addresses lie low, and may be items of a list.
    if (!name.empty() && (!IsAddress(count) || NameOf(count).empty())) return name;
  }
  return "";
}

std::string PythonTypes::NameOf(uint64_t type) {
  const auto [place, is_new] = names_.try_emplace(type);
  if (is_new) place->second = ReadNameOf(type);
  return place->second;
}

std::string PythonTypes::ReadNameOf(uint64_t type) const {
  uint64_t metatype = 0, flags = 0;
  if (!ReadWord(type + kTypeOffset, &metatype) || !IsAddress(metatype)) return "";
  if (!ReadWord(metatype + kFlagsOffset, &flags) || (flags & kTypeSubclass) == 0) return "";
  for (int i = 0; i < kMostMetatypes; ++i) {
    uint64_t next = 0;
    if (!ReadWord(metatype + kTypeOffset, &next) || !IsAddress(next)) return "";
    if (next == metatype) {
      uint64_t name = 0;
      if (!ReadWord(metatype + kNameOffset, &name) || ReadText(name) != "type") return "";
      return ReadWord(type + kNameOffset, &name) ? ReadText(name) : "";
    }
    metatype = next;
  }
  return "";
}

// Empty if the text does not end, or has a character that is in no name.
std::string PythonTypes::ReadText(uint64_t address) const {
  std::string text;
  while (text.size() < kMostNameBytes) {
    // A piece does not pass the end of a page.
    char piece[kNamePieceBytes];
    const uint64_t at = address + text.size();
    const uint64_t piece_bytes = kNamePieceBytes - at % kNamePieceBytes;
    if (!read_(at, piece, piece_bytes)) return "";
    for (uint64_t i = 0; i < piece_bytes; ++i) {
      if (piece[i] == '\0') return text;
      if (static_cast<unsigned char>(piece[i]) <= ' ') return "";
      text += piece[i];
    }
  }
  return "";
}

absl::StatusOr<heap::HeapProfile> ReadObjectTypes(const std::string& process,
                                                  const NameSources& name_sources) {
  return ReadProcess<Reader>(process, name_sources);
}

}  // namespace allomon::pages
