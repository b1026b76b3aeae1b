#include "tracker/dwarf/split_package.h"

#include <dwarf.h>
#include <elf.h>
#include <fcntl.h>
#include <gelf.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "tracker/base/check.h"
#include "tracker/dwarf/elf_image.h"

namespace allomon {
namespace {

// Columns of the index.
enum Kind : uint32_t {
  kInfo = 1,
  kAbbreviations = 3,
  kLine = 4,
  kStringOffsets = 6,
  kRangeLists = 8,  // of version 5
};

constexpr uint32_t kGnuVersion = 2;
constexpr uint32_t kDwarf5 = 5;
constexpr size_t kIndexHeaderBytes = 16;
constexpr size_t kAddressBytes = 8;
// A unit's copy of a section of the program that states no end for it.
constexpr size_t kMostCopiedBytes = size_t{16} << 20;
// All copies of a package together have at most this many times its bytes.
constexpr uint64_t kMostCopies = 8;

// A section of the program, uncompressed: libdw has done that when it opened the file.
Bytes SectionOf(Dwarf* program, std::string_view name) {
  Elf* const elf = dwarf_getelf(program);
  size_t names = 0;
  if (elf == nullptr || elf_getshdrstrndx(elf, &names) != 0) return {};
  for (Elf_Scn* scan = elf_nextscn(elf, nullptr); scan != nullptr; scan = elf_nextscn(elf, scan)) {
    GElf_Shdr header;
    if (gelf_getshdr(scan, &header) == nullptr || header.sh_type == SHT_NOBITS) continue;
    const char* const found = elf_strptr(elf, names, header.sh_name);
    if (found == nullptr || (found != "." + std::string(name) && found != ".z" + std::string(name)))
      continue;
    const Elf_Data* const data = elf_rawdata(scan, nullptr);
    if (data == nullptr || data->d_buf == nullptr) return {};
    return {static_cast<const char*>(data->d_buf), data->d_size};
  }
  return {};
}

uint64_t NumberOf(Dwarf_Die* die, unsigned int name) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  if (dwarf_formudata(dwarf_attr(die, name, &attribute), &value) != 0) return 0;
  return value;
}

// Walks over the numbers of DWARF's that have no fixed size.
class Reader {
 public:
  Reader(std::string* bytes, size_t at) : bytes_(*bytes), at_(at) {}

  bool failed() const { return failed_; }
  size_t at() const { return at_; }

  uint64_t Number() {
    uint64_t value = 0;
    for (int shift = 0; !failed_; shift += 7) {
      if (at_ >= bytes_.size() || shift > 56) {
        failed_ = true;
        break;
      }
      const auto byte = static_cast<uint8_t>(bytes_[at_++]);
      value |= uint64_t{byte & 0x7fu} << shift;
      if ((byte & 0x80) == 0) break;
    }
    return value;
  }

  void Skip(size_t bytes) {
    ALLOMON_DCHECK("inv.dwarf.bounds", failed_ || at_ <= bytes_.size());
    failed_ |= bytes_.size() - at_ < bytes;
    if (!failed_) at_ += bytes;
  }

 private:
  const std::string& bytes_;
  size_t at_;
  bool failed_ = false;
};

// Writes over a number, in as many bytes as it had.
void Overwrite(std::string* bytes, size_t begin, size_t end, uint64_t value) {
  ALLOMON_DCHECK_LE("inv.dwarf.bounds", end, bytes->size());
  for (size_t at = begin; at < end; ++at, value >>= 7) {
    (*bytes)[at] = static_cast<char>((value & 0x7f) | (at + 1 < end ? 0x80 : 0));
  }
  ALLOMON_DCHECK_EQ("inv.dwarf.number", value, 0u);
}

// Bytes of a value in the first DIE; none if that is not known without the file's strings.
std::optional<size_t> BytesOf(uint64_t form) {
  switch (form) {
    case DW_FORM_flag_present:
    case DW_FORM_implicit_const:
      return 0;
    case DW_FORM_data1:
    case DW_FORM_flag:
    case DW_FORM_strx1:
      return 1;
    case DW_FORM_data2:
    case DW_FORM_strx2:
      return 2;
    case DW_FORM_strx3:
      return 3;
    case DW_FORM_data4:
    case DW_FORM_strx4:
    case DW_FORM_sec_offset:
      return 4;
    case DW_FORM_data8:
      return 8;
    default:
      return std::nullopt;
  }
}

// The unit's own base of addresses stands in the skeleton.  It takes the place of an attribute of
// the unit that is as long and that nobody asks for: the identity in DWARF 4, which has eight
// bytes; the language in DWARF 5, as an index of an address.
class BasePatch {
 public:
  BasePatch(std::string* info, std::string* abbreviations, std::string* addresses)
      : info_(*info), abbreviations_(*abbreviations), addresses_(*addresses) {}

  void Apply(uint32_t version, uint64_t base) {
    const size_t first_die = version == kDwarf5 ? 20 : 11;
    Reader die(&info_, first_die);
    const uint64_t code = die.Number();
    size_t at = 0;
    if (die.failed() || !FindAttributes(code, &at)) return;
    Reader list(&abbreviations_, at);
    for (;;) {
      const size_t name_at = list.at();
      const uint64_t name = list.Number();
      const size_t form_at = list.at();
      const uint64_t form = list.Number();
      const size_t end = list.at();
      if (form == DW_FORM_implicit_const) list.Number();
      if (list.failed() || die.failed() || (name == 0 && form == 0)) return;
      if (Replace(name, form, die.at(), base)) {
        Overwrite(&abbreviations_, name_at, form_at, DW_AT_low_pc);
        Overwrite(&abbreviations_, form_at, end,
                  form == DW_FORM_data8   ? DW_FORM_addr
                  : form == DW_FORM_data2 ? DW_FORM_addrx2
                                          : DW_FORM_addrx1);
        return;
      }
      if (const auto bytes = BytesOf(form)) {
        die.Skip(*bytes);
      } else if (form == DW_FORM_strx || form == DW_FORM_GNU_str_index || form == DW_FORM_udata) {
        die.Number();
      } else {
        return;
      }
    }
  }

 private:
  // Finds the list of attributes of an abbreviation.
  bool FindAttributes(uint64_t wanted, size_t* at) {
    Reader list(&abbreviations_, 0);
    for (;;) {
      const uint64_t code = list.Number();
      list.Number();  // the tag
      list.Skip(1);   // has it children
      if (list.failed() || code == 0) return false;
      *at = list.at();
      if (code == wanted) return true;
      for (uint64_t name = 1, form = 1; (name != 0 || form != 0) && !list.failed();) {
        name = list.Number();
        form = list.Number();
        if (form == DW_FORM_implicit_const) list.Number();
      }
    }
  }

  bool Replace(uint64_t name, uint64_t form, size_t at, uint64_t base) {
    if (name == DW_AT_GNU_dwo_id && form == DW_FORM_data8) return Put(at, base, sizeof(base));
    if (name != DW_AT_language || (form != DW_FORM_data1 && form != DW_FORM_data2)) return false;
    const uint64_t index = addresses_.size() / kAddressBytes;
    const size_t bytes = form == DW_FORM_data1 ? 1 : 2;
    if (index >> (8 * bytes) != 0 || !Put(at, index, bytes)) return false;
    addresses_.resize(index * kAddressBytes);
    addresses_.append(reinterpret_cast<const char*>(&base), sizeof(base));
    return true;
  }

  bool Put(size_t at, uint64_t value, size_t bytes) {
    if (at > info_.size() || info_.size() - at < bytes) return false;
    std::memcpy(&info_[at], &value, bytes);
    return true;
  }

  std::string& info_;
  std::string& abbreviations_;
  std::string& addresses_;
};

}  // namespace

struct SplitPackage::Unit {
  ~Unit() {
    if (dwarf != nullptr) dwarf_end(dwarf);
    if (elf != nullptr) elf_end(elf);
  }

  ElfImage image;
  Elf* elf = nullptr;
  Dwarf* dwarf = nullptr;
};

SplitPackage::SplitPackage(int fd, const char* mapped, size_t size)
    : fd_(fd), mapped_(mapped), size_(size) {}

SplitPackage::~SplitPackage() {
  units_.clear();
  munmap(const_cast<char*>(mapped_), size_);
  close(fd_);
}

std::unique_ptr<SplitPackage> SplitPackage::Open(const std::string& path, Dwarf* program) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return nullptr;
  struct stat status = {};
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size <= 0) {
    close(fd);
    return nullptr;
  }
  const auto size = static_cast<size_t>(status.st_size);
  void* const mapped = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (mapped == MAP_FAILED) {
    close(fd);
    return nullptr;
  }
  std::unique_ptr<SplitPackage> package(
      new SplitPackage(fd, static_cast<const char*>(mapped), size));
  if (!package->ReadIndex()) return nullptr;
  package->ReadSections();
  package->ReadProgram(program);
  return package;
}

bool SplitPackage::ReadIndex() {
  index_ = FindSection(".debug_cu_index").bytes;
  uint32_t head[4] = {};
  if (!ReadAt(index_, 0, &head)) return false;
  version_ = head[0];
  kinds_ = head[1];
  rows_ = head[2];
  slots_ = head[3];
  const bool is_known = version_ == kGnuVersion || version_ == kDwarf5;
  // None of these can be larger than the index, so that nothing below wraps around.
  const bool is_small = slots_ < index_.size() && rows_ < index_.size() && kinds_ < 64;
  return is_known && is_small && slots_ != 0 && (slots_ & (slots_ - 1)) == 0;
}

void SplitPackage::ReadSections() {
  info_ = FindSection(".debug_info.dwo").bytes;
  abbreviations_ = FindSection(".debug_abbrev.dwo").bytes;
  lines_ = FindSection(".debug_line.dwo").bytes;
  string_offsets_ = FindSection(".debug_str_offsets.dwo").bytes;
  range_lists_ = FindSection(".debug_rnglists.dwo").bytes;
  strings_ = FindSection(".debug_str.dwo");
}

void SplitPackage::ReadProgram(Dwarf* program) {
  const bool is_5 = version_ == kDwarf5;
  addresses_.emplace(program, "debug_addr", is_5 ? DW_AT_addr_base : DW_AT_GNU_addr_base);
  if (!is_5) old_ranges_.emplace(program, "debug_ranges", DW_AT_GNU_ranges_base);
}

SplitPackage::Parts::Parts(Dwarf* program, std::string_view section, unsigned int base_attribute)
    : attribute(base_attribute), bytes(SectionOf(program, section)) {
  Dwarf_CU* unit = nullptr;
  Dwarf_Die die;
  while (dwarf_get_units(program, unit, &unit, nullptr, nullptr, &die, nullptr) == 0) {
    bases.push_back(NumberOf(&die, attribute));
  }
  std::sort(bases.begin(), bases.end());
}

// A part ends where another unit's begins.
Bytes SplitPackage::Parts::Of(Dwarf_Die* skeleton) const {
  const uint64_t base = NumberOf(skeleton, attribute);
  if (base > bytes.size()) return {};
  const auto next = std::upper_bound(bases.begin(), bases.end(), base);
  const uint64_t most = next == bases.end() ? kMostCopiedBytes : *next - base;
  return bytes.substr(base, std::min<uint64_t>(most, kMostCopiedBytes));
}

SplitPackage::Section SplitPackage::FindSection(std::string_view name) const {
  const Bytes file(mapped_, size_);
  Elf64_Ehdr header;
  Elf64_Shdr names;
  if (!ReadAt(file, 0, &header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_shentsize != sizeof(Elf64_Shdr) ||
      header.e_shoff > file.size() ||
      !ReadAt(file, header.e_shoff + header.e_shstrndx * sizeof(names), &names)) {
    return {};
  }
  const Bytes table = Cut(file, names.sh_offset, names.sh_size);
  for (size_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    if (!ReadAt(file, header.e_shoff + i * sizeof(section), &section)) break;
    if (section.sh_name >= table.size() || (section.sh_flags & SHF_COMPRESSED) != 0) continue;
    const Bytes rest = table.substr(section.sh_name);
    if (rest.substr(0, rest.find('\0')) != name) continue;
    return {Cut(file, section.sh_offset, section.sh_size), section.sh_offset};
  }
  return {};
}

// A hash table whose second hash is in the upper half of the identity.
bool SplitPackage::FindRow(uint64_t identity, uint32_t* row) const {
  const uint64_t mask = slots_ - 1;
  const uint64_t step = ((identity >> 32) & mask) | 1;
  uint64_t slot = identity & mask;
  for (uint32_t tries = 0; tries < slots_; ++tries, slot = (slot + step) & mask) {
    uint64_t found = 0;
    const uint64_t rows_at = kIndexHeaderBytes + uint64_t{slots_} * sizeof(found);
    if (!ReadAt(index_, kIndexHeaderBytes + slot * sizeof(found), &found) ||
        !ReadAt(index_, rows_at + slot * sizeof(*row), row) || *row == 0) {
      return false;
    }
    if (found == identity) return *row <= rows_;
  }
  return false;
}

Bytes SplitPackage::PartOf(uint32_t row, uint32_t kind, Bytes section) const {
  ALLOMON_DCHECK("inv.dwarf.bounds", row >= 1 && row <= rows_);
  constexpr uint64_t kWord = sizeof(uint32_t);
  const uint64_t kinds_at = kIndexHeaderBytes + uint64_t{slots_} * (sizeof(uint64_t) + kWord);
  const uint64_t offsets_at = kinds_at + uint64_t{kinds_} * kWord;
  const uint64_t sizes_at = offsets_at + uint64_t{rows_} * kinds_ * kWord;
  for (uint32_t column = 0; column < kinds_; ++column) {
    uint32_t found = 0;
    uint32_t offset = 0;
    uint32_t size = 0;
    const uint64_t cell = (uint64_t{row - 1} * kinds_ + column) * kWord;
    if (ReadAt(index_, kinds_at + column * kWord, &found) && found == kind &&
        ReadAt(index_, offsets_at + cell, &offset) && ReadAt(index_, sizes_at + cell, &size)) {
      return Cut(section, offset, size);
    }
  }
  return {};
}

// The addresses that a unit's indexes count in.  DWARF 5 has the length of the unit's part before
// it.
Bytes SplitPackage::AddressesOf(Dwarf_Die* skeleton) const {
  constexpr uint64_t kHeaderBytes = 8;    // a length, a version, the sizes of an address
  constexpr uint64_t kLengthIsAfter = 4;  // what the length counts begins there
  const Bytes addresses = addresses_->Of(skeleton);
  const uint64_t base = NumberOf(skeleton, addresses_->attribute);
  uint32_t bytes = 0;
  if (version_ == kDwarf5 && base >= kHeaderBytes &&
      ReadAt(addresses_->bytes, base - kHeaderBytes, &bytes) && bytes >= kLengthIsAfter) {
    return addresses.substr(0, bytes - kLengthIsAfter);
  }
  return addresses;
}

// False, and nothing is counted, if that would be more than a package may cost.
bool SplitPackage::TakeCopy(std::initializer_list<Bytes> parts) {
  uint64_t bytes = copied_bytes_;
  for (const Bytes part : parts) bytes += part.size();
  if (bytes > kMostCopies * size_) return false;
  copied_bytes_ = bytes;
  return true;
}

std::unique_ptr<SplitPackage::Unit> SplitPackage::Make(Dwarf_Die* skeleton, uint32_t row) {
  const bool is_5 = version_ == kDwarf5;
  const Bytes info_part = PartOf(row, kInfo, info_);
  const Bytes abbreviations_part = PartOf(row, kAbbreviations, abbreviations_);
  const Bytes addresses_part = AddressesOf(skeleton);
  const Bytes string_offsets = PartOf(row, kStringOffsets, string_offsets_);
  const Bytes lines = is_5 ? PartOf(row, kLine, lines_) : Bytes();
  const Bytes ranges = is_5 ? PartOf(row, kRangeLists, range_lists_) : old_ranges_->Of(skeleton);
  if (info_part.empty() || abbreviations_part.empty() ||
      !TakeCopy({info_part, abbreviations_part, addresses_part, string_offsets, lines, ranges})) {
    return nullptr;
  }
  std::string info(info_part);
  std::string abbreviations(abbreviations_part);
  std::string addresses(addresses_part);
  Dwarf_Addr base = 0;
  if (dwarf_lowpc(skeleton, &base) == 0 && base != 0) {
    BasePatch(&info, &abbreviations, &addresses).Apply(version_, base);
  }
  auto unit = std::make_unique<Unit>();
  unit->image.Add(".debug_info", std::move(info));
  unit->image.Add(".debug_abbrev", std::move(abbreviations));
  unit->image.Add(".debug_addr", std::move(addresses));
  unit->image.Add(".debug_str_offsets", std::string(string_offsets));
  if (is_5) unit->image.Add(".debug_line", std::string(lines));
  unit->image.Add(is_5 ? ".debug_rnglists" : ".debug_ranges", std::string(ranges));
  if (!unit->image.Make(".debug_str", fd_, strings_.file_offset, strings_.bytes.size())) {
    return nullptr;
  }
  unit->elf = elf_memory(unit->image.begin(), unit->image.size());
  unit->dwarf = dwarf_begin_elf(unit->elf, DWARF_C_READ, nullptr);
  return unit->dwarf == nullptr ? nullptr : std::move(unit);
}

bool SplitPackage::Find(Dwarf_Die* skeleton, uint64_t identity, Dwarf_Die* functions) {
  uint32_t row = 0;
  if (!FindRow(identity, &row)) return false;
  auto unit = Make(skeleton, row);
  if (unit == nullptr) return false;
  Dwarf_CU* first = nullptr;
  const int status =
      dwarf_get_units(unit->dwarf, nullptr, &first, nullptr, nullptr, functions, nullptr);
  units_.push_back(std::move(unit));
  return status == 0;
}

}  // namespace allomon
