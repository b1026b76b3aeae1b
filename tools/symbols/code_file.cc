#include "tools/symbols/code_file.h"

#include <fcntl.h>
#include <gelf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

#include "tracker/base/check.h"
#include "tracker/dwarf/inlined_frames.h"
#include "tracker/names/base_name.h"
#include "tracker/names/readable_name.h"

// libiberty's header would declare basename() as C does, which contradicts the C++ declaration of
// the C library.
#define HAVE_DECL_BASENAME 1
#include <libiberty/demangle.h>

namespace allomon {
namespace {

bool IsFunction(const GElf_Sym& symbol) {
  const auto type = GELF_ST_TYPE(symbol.st_info);
  return (type == STT_FUNC || type == STT_GNU_IFUNC) && symbol.st_shndx != SHN_UNDEF &&
         symbol.st_value != 0;
}

bool IsObject(const GElf_Sym& symbol) {
  return GELF_ST_TYPE(symbol.st_info) == STT_OBJECT && symbol.st_shndx != SHN_UNDEF &&
         symbol.st_value != 0 && symbol.st_size != 0;
}

// Symbol tables of debug files have versions in the names: "memcpy@@GLIBC_2.14".
std::string WithoutVersion(const std::string& whole) { return whole.substr(0, whole.find('@')); }

template <typename Visit>
void ForEachCodeSection(Dwfl_Module* module, Visit visit) {
  GElf_Addr bias = 0;
  Elf* const elf = dwfl_module_getelf(module, &bias);
  for (Elf_Scn* scan = elf_nextscn(elf, nullptr); scan != nullptr; scan = elf_nextscn(elf, scan)) {
    GElf_Shdr section;
    if (gelf_getshdr(scan, &section) == nullptr || section.sh_size == 0) continue;
    if ((section.sh_flags & SHF_EXECINSTR) != 0) visit(section);
  }
}

// -1 if it is no regular file.  Pipes and devices are not opened: that may wait, or do something.
int OpenFile(const std::string& path, struct stat* status) {
  if (stat(path.c_str(), status) != 0 || !S_ISREG(status->st_mode)) return -1;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return -1;
  // Another file may have come there after stat().
  if (fstat(fd, status) == 0 && S_ISREG(status->st_mode)) return fd;
  close(fd);
  return -1;
}

// Takes `fd`.  At base 0 the session's addresses are the file's.  nullptr if it is no ELF file.
Dwfl_Module* Report(Dwfl* session, const std::string& path, int fd) {
  fd = ExpandedFile(fd);
  Dwfl_Module* const module = dwfl_report_elf(session, path.c_str(), path.c_str(), fd, 0, true);
  if (module == nullptr && fd >= 0) close(fd);
  dwfl_report_end(session, nullptr, nullptr);
  GElf_Addr bias = 0;
  const bool is_elf = module != nullptr && dwfl_module_getelf(module, &bias) != nullptr;
  return is_elf ? module : nullptr;
}

}  // namespace

std::unique_ptr<CodeFile> CodeFile::Open(const std::string& path, const std::string& debug_folder) {
  struct stat status = {};
  const int fd = OpenFile(path, &status);
  if (fd < 0) return nullptr;
  Dwfl* const session = BeginLocalSession(debug_folder);
  if (session == nullptr) {
    close(fd);
    return nullptr;
  }
  Dwfl_Module* const module = Report(session, path, fd);
  std::unique_ptr<CodeFile> file(new CodeFile(path, IdentityOf(status), session, module));
  file->debug_folder_ = debug_folder;
  if (module == nullptr) return nullptr;
  file->TakeChoice();
  return file;
}

void CodeFile::TakeChoice() const {
  void** data = nullptr;
  dwfl_module_info(module_, &data, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
  if (data != nullptr) *data = &choice_;
}

// Begins again if the debug file that was found has to be expanded.
void CodeFile::FindDebugFile() const {
  Dwarf_Addr bias = 0;
  dwfl_module_getdwarf(module_, &bias);
  if (choice_.compressed.empty()) return;
  struct stat status = {};
  const int fd = OpenFile(path_, &status);
  if (fd < 0) return;
  if (!(IdentityOf(status) == identity_)) {
    close(fd);
    return;
  }
  Dwfl* const session = BeginLocalSession(debug_folder_);
  if (session == nullptr) close(fd);
  Dwfl_Module* const module = session == nullptr ? nullptr : Report(session, path_, fd);
  if (module == nullptr) {
    if (session != nullptr) dwfl_end(session);
    return;
  }
  dwfl_end(session_);
  session_ = session;
  module_ = module;
  choice_ = {"", choice_.compressed};
  TakeChoice();
}

CodeFile::~CodeFile() { dwfl_end(session_); }

std::string CodeFile::BuildId() const {
  const unsigned char* id = nullptr;
  GElf_Addr address = 0;
  const int bytes = dwfl_module_build_id(module_, &id, &address);
  std::string text;
  for (int i = 0; i < bytes; ++i) {
    char digits[4];
    std::snprintf(digits, sizeof(digits), "%02x", id[i]);
    text += digits;
  }
  return text;
}

uint64_t CodeFile::CodeBegin() const {
  uint64_t begin = 0;
  ForEachCodeSection(module_, [&begin](const GElf_Shdr& section) {
    if (begin == 0 || section.sh_addr < begin) begin = section.sh_addr;
  });
  return begin;
}

uint64_t CodeFile::CodeEnd() const {
  uint64_t end = 0;
  ForEachCodeSection(module_, [&end](const GElf_Shdr& section) {
    end = std::max<uint64_t>(end, section.sh_addr + section.sh_size);
  });
  return end;
}

std::vector<LoadedSegment> CodeFile::Segments() const {
  GElf_Addr bias = 0;
  Elf* const elf = dwfl_module_getelf(module_, &bias);
  std::vector<LoadedSegment> segments;
  size_t headers = 0;
  if (elf_getphdrnum(elf, &headers) != 0) return segments;
  for (size_t i = 0; i < headers; ++i) {
    GElf_Phdr header;
    if (gelf_getphdr(elf, static_cast<int>(i), &header) == nullptr) break;
    if (header.p_type != PT_LOAD) continue;
    segments.push_back({header.p_offset, header.p_vaddr, header.p_filesz, header.p_memsz,
                        (header.p_flags & PF_X) != 0});
  }
  return segments;
}

uint64_t CodeFile::StartOf(uint64_t address) const {
  if (starts_ == nullptr) {
    std::vector<UnwindRange> ranges = Ranges();
    std::sort(ranges.begin(), ranges.end(),
              [](const UnwindRange& a, const UnwindRange& b) { return a.begin < b.begin; });
    starts_ = std::make_unique<const std::vector<UnwindRange>>(std::move(ranges));
  }
  const auto after = std::upper_bound(
      starts_->begin(), starts_->end(), address,
      [](uint64_t value, const UnwindRange& range) { return value < range.begin; });
  const bool is_inside = after != starts_->begin() && address < (after - 1)->end;
  ALLOMON_DCHECK("inv.load.places", !is_inside || (after - 1)->begin <= address);
  return is_inside ? (after - 1)->begin : address;
}

bool CodeFile::HasDebugInformation() const {
  FindDebugFile();
  Dwarf_Addr bias = 0;
  return dwfl_module_getdwarf(module_, &bias) != nullptr;
}

std::vector<CodeFrame> CodeFile::At(uint64_t address, uint64_t start) const {
  if (units_ == nullptr) {
    FindDebugFile();
    units_ = std::make_unique<CodeUnits>(module_);
  }
  std::vector<CodeFrame> frames;
  for (DwarfFrame& frame : FramesAt(units_.get(), address, start)) {
    const bool named = !frame.symbol.empty();
    std::string symbol = WithoutVersion(frame.symbol);
    std::string name = named ? Demangled(symbol) + frame.rust_types : NameByAddress(path_, start);
    frames.push_back({std::move(name), std::move(frame.file), frame.line, named, std::move(symbol),
                      frame.start_line, frame.column, std::move(frame.new_type)});
  }
  return frames;
}

std::vector<CodeSymbol> CodeFile::Symbols() const { return SymbolsThat(IsFunction); }

std::vector<CodeSymbol> CodeFile::DataSymbols() const {
  std::vector<CodeSymbol> symbols = SymbolsThat(IsObject);
  std::sort(symbols.begin(), symbols.end(),
            [](const CodeSymbol& a, const CodeSymbol& b) { return a.begin < b.begin; });
  return symbols;
}

std::vector<CodeSymbol> CodeFile::SymbolsThat(bool (*fits)(const GElf_Sym&)) const {
  std::vector<CodeSymbol> symbols;
  const int count = dwfl_module_getsymtab(module_);
  for (int i = 1; i < count; ++i) {
    GElf_Sym symbol;
    const char* name = dwfl_module_getsym(module_, i, &symbol, nullptr);
    if (name == nullptr || *name == '\0' || !fits(symbol)) continue;
    if (symbol.st_value + symbol.st_size < symbol.st_value) continue;
    symbols.push_back({symbol.st_value, symbol.st_value + symbol.st_size, WithoutVersion(name),
                       GELF_ST_BIND(symbol.st_info) == STB_LOCAL});
  }
  return symbols;
}

bool AddressOfOffset(const std::vector<LoadedSegment>& segments, uint64_t file_offset,
                     uint64_t* address) {
  for (const LoadedSegment& segment : segments) {
    if (file_offset < segment.file_offset) continue;
    if (file_offset - segment.file_offset >= segment.file_bytes) continue;
    *address = file_offset - segment.file_offset + segment.address;
    return true;
  }
  return false;
}

bool CodeSegment(const std::vector<LoadedSegment>& segments, LoadedSegment* segment) {
  int found = 0;
  for (const LoadedSegment& each : segments) {
    if (!each.is_code) continue;
    ++found;
    *segment = each;
  }
  return found == 1;
}

std::string NameByAddress(const std::string& path, uint64_t start) {
  char offset[24];
  std::snprintf(offset, sizeof(offset), "+0x%" PRIx64, start);
  return BaseName(path) + offset;
}

std::string DemangledForeign(const std::string& name) {
  const bool is_rust = name.rfind("_R", 0) == 0;
  const bool is_d = name.rfind("_D", 0) == 0;
  if (!is_rust && !is_d) return name;
  const std::unique_ptr<char, void (*)(void*)> readable(
      is_rust ? rust_demangle(name.c_str(), 0) : dlang_demangle(name.c_str(), 0), std::free);
  return readable == nullptr ? name : readable.get();
}

std::string Demangled(const std::string& symbol) { return DemangledForeign(ReadableName(symbol)); }

}  // namespace allomon
