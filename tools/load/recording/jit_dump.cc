#include "tools/load/recording/jit_dump.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <unordered_map>

namespace allomon::recording {
namespace {

constexpr uint32_t kMagic = 0x4A695444;  // of a machine of our byte order
constexpr std::string_view kSameFile("\xff", 1);

struct Header {
  uint32_t magic;
  uint32_t version;
  uint32_t header_bytes;
  uint32_t machine;
  uint32_t unused;
  uint32_t pid;
  uint64_t time;
  uint64_t flags;
};

enum RecordKind : uint32_t { kLoad = 0, kMove = 1, kDebugInfo = 2, kClose = 3 };

struct RecordHeader {
  uint32_t kind;
  uint32_t bytes;  // of the whole record
  uint64_t time;
};

struct Load {
  uint32_t pid;
  uint32_t tid;
  uint64_t virtual_address;
  uint64_t begin;
  uint64_t bytes;
  uint64_t number;
};

struct Move {
  uint32_t pid;
  uint32_t tid;
  uint64_t virtual_address;
  uint64_t old_begin;
  uint64_t begin;
  uint64_t bytes;
  uint64_t number;
};

struct DebugInfo {
  uint64_t begin;
  uint64_t entries;
};

// The part of an entry that comes before its file's name.
constexpr size_t kEntryBytes = 16;
constexpr size_t kLineOffset = 8;

template <typename Value>
bool Take(std::string_view* bytes, Value* value) {
  if (bytes->size() < sizeof(*value)) return false;
  std::memcpy(value, bytes->data(), sizeof(*value));
  bytes->remove_prefix(sizeof(*value));
  return true;
}

// Up to the zero byte, which is there.
bool TakeText(std::string_view* bytes, std::string_view* text) {
  const size_t zero = bytes->find('\0');
  if (zero == std::string_view::npos) return false;
  *text = bytes->substr(0, zero);
  bytes->remove_prefix(zero + 1);
  return true;
}

class Dump {
 public:
  explicit Dump(uint32_t pid) : pid_(pid) {}

  std::vector<GeneratedCode> Read(std::string_view bytes) {
    Header header;
    std::string_view rest = bytes;
    if (!Take(&rest, &header) || header.magic != kMagic || header.pid != pid_ ||
        header.header_bytes < sizeof(header) || header.header_bytes > bytes.size()) {
      return {};
    }
    bytes.remove_prefix(header.header_bytes);
    for (;;) {
      RecordHeader record;
      rest = bytes;
      if (!Take(&rest, &record) || record.bytes < sizeof(record) || record.bytes > bytes.size()) {
        break;
      }
      if (record.kind == kClose) break;
      if (!AddRecord(record.kind, rest.substr(0, record.bytes - sizeof(record)))) break;
      bytes.remove_prefix(record.bytes);
    }
    return std::move(functions_);
  }

 private:
  struct Place {
    uint64_t begin;
    std::string_view file;
    uint32_t line;
  };

  // False if the record is damaged.  Kinds that are not known are passed over.
  bool AddRecord(uint32_t kind, std::string_view bytes) {
    switch (kind) {
      case kLoad:
        return AddLoad(bytes);
      case kMove:
        return AddMove(bytes);
      case kDebugInfo:
        return NotePlace(bytes);
      default:
        return true;
    }
  }

  bool AddLoad(std::string_view bytes) {
    Load load;
    std::string_view name;
    if (!Take(&bytes, &load) || !TakeText(&bytes, &name)) return false;
    GeneratedCode code = {load.begin, load.begin + load.bytes, name, "", 0};
    if (place_.line != 0 && place_.begin == load.begin) {
      code.file = place_.file;
      code.line = place_.line;
    }
    place_ = {};
    number_of_.erase(load.number);
    if (Add(code, load.bytes)) number_of_[load.number] = functions_.size() - 1;
    return true;
  }

  bool AddMove(std::string_view bytes) {
    Move move;
    if (!Take(&bytes, &move)) return false;
    const auto known = number_of_.find(move.number);
    if (known == number_of_.end()) return true;
    GeneratedCode code = functions_[known->second];
    code.begin = move.begin;
    code.end = move.begin + move.bytes;
    Add(code, move.bytes);
    return true;
  }

  // False if no function can be there.
  bool Add(const GeneratedCode& code, uint64_t bytes) {
    const bool is_code = bytes != 0 && bytes <= kMostCodeBytes && code.begin <= UINT64_MAX - bytes;
    if (!is_code || code.name.empty()) return false;
    functions_.push_back(code);
    return true;
  }

  // It comes before the function's load.  Of its entries the first counts: V8 adds the size of the
  // header that perf puts before the code to the addresses of all, and others do not.
  bool NotePlace(std::string_view bytes) {
    DebugInfo info;
    if (!Take(&bytes, &info)) return false;
    place_ = {};
    if (info.entries == 0) return true;
    if (bytes.size() < kEntryBytes) return false;
    std::memcpy(&place_.line, bytes.data() + kLineOffset, sizeof(place_.line));
    bytes.remove_prefix(kEntryBytes);
    if (!TakeText(&bytes, &place_.file)) return false;
    if (place_.file == kSameFile) place_.file = "";
    place_.line = std::min(place_.line, kMostLine);
    place_.begin = info.begin;
    return true;
  }

  const uint32_t pid_;
  std::vector<GeneratedCode> functions_;
  std::unordered_map<uint64_t, size_t> number_of_;  // index in `functions_`, by the file's number
  Place place_ = {};
};

}  // namespace

std::vector<GeneratedCode> ReadJitDump(std::string_view dump, uint32_t pid) {
  return Dump(pid).Read(dump);
}

}  // namespace allomon::recording
