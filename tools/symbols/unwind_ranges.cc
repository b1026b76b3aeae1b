#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>

#include <cstring>
#include <optional>
#include <string_view>

#include "tools/symbols/code_file.h"

namespace allomon {
namespace {

struct Section {
  Elf_Data* data = nullptr;
  uint64_t address = 0;
};

std::optional<Section> FindFrames(Elf* elf) {
  size_t names = 0;
  if (elf == nullptr || elf_getshdrstrndx(elf, &names) != 0) return std::nullopt;
  for (Elf_Scn* scan = elf_nextscn(elf, nullptr); scan != nullptr; scan = elf_nextscn(elf, scan)) {
    GElf_Shdr header;
    if (gelf_getshdr(scan, &header) == nullptr || header.sh_type == SHT_NOBITS) continue;
    const char* const name = elf_strptr(elf, names, header.sh_name);
    if (name == nullptr || std::string_view(name) != ".eh_frame") continue;
    return Section{elf_rawdata(scan, nullptr), header.sh_addr};
  }
  return std::nullopt;
}

// Returns the encoding of the addresses in the entries of a CIE.
uint8_t EncodingOf(const Dwarf_CIE& cie) {
  const std::string_view letters = cie.augmentation == nullptr ? "" : cie.augmentation;
  if (letters.empty() || letters[0] != 'z') return DW_EH_PE_absptr;
  size_t at = 0;
  for (const char letter : letters.substr(1)) {
    if (at >= cie.augmentation_data_size) break;
    const uint8_t value = cie.augmentation_data[at];
    if (letter == 'R') return value;
    // 'P' (the personality) has an encoding and an address of four or eight bytes; 'L' has an
    // encoding only.
    if (letter == 'P') at += (value & 0x0f) == DW_EH_PE_absptr ? 8 : 4;
    if (letter == 'P' || letter == 'L') ++at;
  }
  return DW_EH_PE_absptr;
}

class Frames {
 public:
  Frames(const unsigned char* ident, const Section& section) : ident_(ident), section_(section) {}

  std::vector<UnwindRange> Read() const {
    std::vector<UnwindRange> ranges;
    Dwarf_CFI_Entry entry;
    Dwarf_Off next = 0;
    for (Dwarf_Off at = 0; Next(at, &next, &entry); at = next) {
      Dwarf_CFI_Entry cie;
      Dwarf_Off behind = 0;
      const bool is_fde = !dwarf_cfi_cie_p(&entry);
      if (!is_fde || !Next(entry.fde.CIE_pointer, &behind, &cie)) continue;
      if (const auto range = RangeOf(entry.fde, EncodingOf(cie.cie))) ranges.push_back(*range);
    }
    return ranges;
  }

 private:
  bool Next(Dwarf_Off at, Dwarf_Off* next, Dwarf_CFI_Entry* entry) const {
    return dwarf_next_cfi(ident_, section_.data, true, at, next, entry) == 0;
  }

  std::optional<UnwindRange> RangeOf(const Dwarf_FDE& fde, uint8_t encoding) const {
    if (encoding != (DW_EH_PE_pcrel | DW_EH_PE_sdata4)) return std::nullopt;
    int32_t start = 0;
    uint32_t bytes = 0;
    if (fde.end - fde.start < static_cast<ptrdiff_t>(sizeof(start) + sizeof(bytes))) {
      return std::nullopt;
    }
    std::memcpy(&start, fde.start, sizeof(start));
    std::memcpy(&bytes, fde.start + sizeof(start), sizeof(bytes));
    const auto* const data = static_cast<const uint8_t*>(section_.data->d_buf);
    const uint64_t here = section_.address + static_cast<uint64_t>(fde.start - data);
    const uint64_t begin = here + static_cast<uint64_t>(int64_t{start});
    return UnwindRange{begin, begin + bytes};
  }

  const unsigned char* const ident_;
  const Section section_;
};

}  // namespace

std::vector<UnwindRange> UnwindRangesOf(Dwfl_Module* module) {
  GElf_Addr bias = 0;
  Elf* const elf = dwfl_module_getelf(module, &bias);
  const auto section = FindFrames(elf);
  if (!section || section->data == nullptr) return {};
  const auto* ident = reinterpret_cast<const unsigned char*>(elf_getident(elf, nullptr));
  return Frames(ident, *section).Read();
}

}  // namespace allomon
