#include "tracker/symbols/module_symbols.h"

#include <elf.h>

#include <array>

namespace allomon::internal {

ModuleSymbols::ModuleSymbols(std::unique_ptr<ElfFile> file, const std::string& path)
    : file_(std::move(file)), build_id_(file_->BuildId()), fdes_(*file_) {
  symbols_.Add(*file_);
  if (!file_->FindSection(".symtab") && !path.empty()) {
    debug_file_ = OpenDebugFile(*file_, path);
  }
  if (debug_file_ != nullptr) symbols_.Add(*debug_file_);
  knows_all_ = file_->FindSection(".symtab") || debug_file_ != nullptr;
  symbols_.Sort();
}

ModuleSymbols::ModuleSymbols(std::unique_ptr<MappedImage> image, std::string build_id)
    : image_(std::move(image)),
      build_id_(std::move(build_id)),
      fdes_(image_->frames(), image_->header()) {
  symbols_.Add(image_->symbols(), image_->strings());
  symbols_.Sort();
}

std::optional<uint64_t> ModuleSymbols::AddressOfOffset(uint64_t offset) const {
  if (file_ == nullptr) return std::nullopt;
  return file_->AddressOfOffset(offset);
}

const FunctionSymbol* ModuleSymbols::FindSymbol(uint64_t address) const {
  const FunctionSymbol* symbol = symbols_.Find(address);
  if (symbol == nullptr || symbol->range.end != symbol->range.begin) return symbol;
  // A symbol without a size may be any distance below `address`: it counts only for its own
  // function.
  const std::optional<FunctionRange> fde = fdes_.Find(address);
  const bool is_its_own = fde ? fde->begin == symbol->range.begin : knows_all_;
  return is_its_own ? symbol : nullptr;
}

namespace {

// g++ for 64-bit Arm gives the no-ops of -fpatchable-function-entry no line: the table has that of
// the function before them, or nothing.  A landing (bti, paciasp) may precede them; it is a hint,
// as a no-op is.
uint64_t BehindNoOps(const ElfFile& file, uint64_t function_start) {
  constexpr uint32_t kHint = 0xd503201f, kHintBits = 0xfffff01f;
  constexpr uint64_t kMostBytes = 1024;  // a hostile file may have nothing else
  if (file.machine() != EM_AARCH64) return function_start;
  ByteReader code = file.BytesAt(function_start);
  uint64_t behind = function_start;
  for (uint64_t at = function_start; at - function_start < kMostBytes; at += 4) {
    const uint32_t instruction = code.Read<uint32_t>();
    if (!code.ok() || (instruction & kHintBits) != kHint) break;
    if (instruction == kHint) behind = at + 4;
  }
  return behind;
}

}  // namespace

std::optional<SourceLine> ModuleSymbols::FindLine(uint64_t function_start) {
  if (file_ == nullptr) return std::nullopt;
  if (lines_ == nullptr) {
    const bool in_file = file_->FindSection(".debug_line").has_value();
    const bool elsewhere = !in_file && debug_file_ != nullptr;
    lines_ = std::make_unique<LineTable>(elsewhere ? *debug_file_ : *file_);
  }
  return lines_->Find(BehindNoOps(*file_, function_start));
}

namespace {

constexpr char kDebugRoot[] = "/usr/lib/debug";

std::array<uint32_t, 256> MakeCrcTable() {
  std::array<uint32_t, 256> table;
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320 : 0);
    table[i] = crc;
  }
  return table;
}

// The CRC-32 of Ethernet and zip.
uint32_t Crc32(const uint8_t* data, size_t size) {
  static const std::array<uint32_t, 256> table = MakeCrcTable();
  uint32_t crc = ~uint32_t{0};
  for (size_t i = 0; i < size; ++i) crc = (crc >> 8) ^ table[(crc ^ data[i]) & 0xff];
  return ~crc;
}

std::unique_ptr<ElfFile> OpenByBuildId(const std::string& id) {
  if (id.size() < 4) return nullptr;
  auto file = ElfFile::Open(std::string(kDebugRoot) + "/.build-id/" + id.substr(0, 2) + "/" +
                            id.substr(2) + ".debug");
  return file != nullptr && file->BuildId() == id ? std::move(file) : nullptr;
}

std::unique_ptr<ElfFile> OpenLinked(const DebugLink& link, const std::string& path) {
  // The name must not lead out of the folders that are searched.
  if (link.name.find('/') != std::string::npos) return nullptr;
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  for (const std::string& candidate :
       {folder + link.name, folder + ".debug/" + link.name, kDebugRoot + folder + link.name}) {
    auto file = ElfFile::Open(candidate);
    if (file != nullptr && Crc32(file->data(), file->size()) == link.crc) return file;
  }
  return nullptr;
}

}  // namespace

std::unique_ptr<ElfFile> OpenDebugFile(const ElfFile& file, const std::string& path) {
  if (auto debug = OpenByBuildId(file.BuildId())) return debug;
  const auto link = file.FindDebugLink();
  return link ? OpenLinked(*link, path) : nullptr;
}

}  // namespace allomon::internal
