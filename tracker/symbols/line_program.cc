#include "tracker/symbols/line_program.h"

#include "tracker/base/check.h"

namespace allomon::internal {
namespace {

// DW_LNS_*
enum StandardOpcode : uint8_t {
  kExtended = 0,
  kCopy = 1,
  kAdvancePc = 2,
  kAdvanceLine = 3,
  kSetFile = 4,
  kConstAddPc = 8,
  kFixedAdvancePc = 9,
};

// DW_LNE_*
enum ExtendedOpcode : uint8_t { kEndSequence = 1, kSetAddress = 2 };

// DW_FORM_* that may occur in a header.
enum Form : uint64_t {
  kData2 = 0x05,
  kData4 = 0x06,
  kData8 = 0x07,
  kString = 0x08,
  kBlock = 0x09,
  kData1 = 0x0b,
  kStrp = 0x0e,
  kUdata = 0x0f,
  kData16 = 0x1e,
  kLineStrp = 0x1f,
};

// DW_LNCT_*
enum Content : uint64_t { kPath = 1, kFolderIndex = 2 };

struct Value {
  uint64_t number = 0;
  std::string_view text;
};

struct Format {
  uint64_t content;
  uint64_t form;
};

class HeaderReader {
 public:
  HeaderReader(ByteReader reader, bool is_64_bit, const LineStrings& strings, LineHeader* header)
      : reader_(reader), is_64_bit_(is_64_bit), strings_(strings), header_(header) {}

  bool Read() {
    header_->version = reader_.Read<uint16_t>();
    if (header_->version < 2 || header_->version > 5) return false;
    if (header_->version == 5) reader_.Skip(2);  // address size, segment selector size
    ByteReader fields = reader_.Take(ReadOffset());
    header_->program = reader_;
    if (!reader_.ok()) return false;
    reader_ = fields;
    if (!ReadNumbers()) return false;
    return (header_->version == 5 ? ReadLists() : ReadOldLists()) && reader_.ok();
  }

 private:
  uint64_t ReadOffset() { return is_64_bit_ ? reader_.Read<uint64_t>() : reader_.Read<uint32_t>(); }

  bool ReadNumbers() {
    header_->min_instruction_bytes = reader_.Read<uint8_t>();
    if (header_->version >= 4) reader_.Skip(1);  // operations per instruction: only VLIW uses them
    reader_.Skip(1);                             // whether rows are statements at first
    header_->line_base = reader_.Read<int8_t>();
    header_->line_range = reader_.Read<uint8_t>();
    header_->opcode_base = reader_.Read<uint8_t>();
    if (header_->line_range == 0 || header_->opcode_base == 0) return false;
    for (int i = 1; i < header_->opcode_base; ++i) {
      header_->operand_counts.push_back(reader_.Read<uint8_t>());
    }
    return reader_.ok();
  }

  // DWARF 2 to 4: lists that end with an empty string and count from one.
  bool ReadOldLists() {
    header_->folders.push_back("");
    for (;;) {
      const std::string_view folder = reader_.ReadCString();
      if (folder.empty()) break;
      header_->folders.push_back(folder);
    }
    header_->files.emplace_back();
    for (;;) {
      LineHeader::File file;
      file.name = reader_.ReadCString();
      if (file.name.empty()) break;
      file.folder = reader_.ReadUleb();
      reader_.ReadUleb();  // time
      reader_.ReadUleb();  // size
      header_->files.push_back(file);
    }
    return reader_.ok();
  }

  // DWARF 5: each list says first what its entries consist of.
  bool ReadLists() {
    return ReadList(
               [&](const LineHeader::File& folder) { header_->folders.push_back(folder.name); }) &&
           ReadList([&](const LineHeader::File& file) { header_->files.push_back(file); });
  }

  template <typename Add>
  bool ReadList(Add add) {
    std::vector<Format> formats(reader_.Read<uint8_t>());
    for (Format& format : formats) {
      format.content = reader_.ReadUleb();
      format.form = reader_.ReadUleb();
    }
    const uint64_t count = reader_.ReadUleb();
    // An entry takes at least a byte: nothing else bounds the list in a hostile file.
    if (count > reader_.remaining() || (formats.empty() && count > 0)) return false;
    for (uint64_t i = 0; i < count; ++i) {
      LineHeader::File entry;
      if (!ReadEntry(formats, &entry)) return false;
      add(entry);
    }
    return reader_.ok();
  }

  bool ReadEntry(const std::vector<Format>& formats, LineHeader::File* entry) {
    for (const Format& format : formats) {
      Value value;
      if (!ReadValue(format.form, &value)) return false;
      if (format.content == kPath) entry->name = value.text;
      if (format.content == kFolderIndex) entry->folder = value.number;
    }
    return reader_.ok();
  }

  bool ReadValue(uint64_t form, Value* value) {
    switch (form) {
      case kString:
        value->text = reader_.ReadCString();
        return true;
      case kLineStrp:
        value->text = strings_.line_strings.StringAt(ReadOffset());
        return true;
      case kStrp:
        value->text = strings_.strings.StringAt(ReadOffset());
        return true;
      case kUdata:
        value->number = reader_.ReadUleb();
        return true;
      case kData1:
        value->number = reader_.Read<uint8_t>();
        return true;
      case kData2:
        value->number = reader_.Read<uint16_t>();
        return true;
      case kData4:
        value->number = reader_.Read<uint32_t>();
        return true;
      case kData8:
        value->number = reader_.Read<uint64_t>();
        return true;
      case kData16:
        reader_.Skip(16);
        return true;
      case kBlock:
        reader_.Skip(reader_.ReadUleb());
        return true;
      default:
        return false;
    }
  }

  ByteReader reader_;
  const bool is_64_bit_;
  const LineStrings& strings_;
  LineHeader* const header_;
};

}  // namespace

bool ReadLineHeader(ByteReader* lines, const LineStrings& strings, LineHeader* header) {
  uint64_t length = lines->Read<uint32_t>();
  const bool is_64_bit = length == 0xffffffff;
  if (is_64_bit) length = lines->Read<uint64_t>();
  const ByteReader unit = lines->Take(length);
  return lines->ok() && HeaderReader(unit, is_64_bit, strings, header).Read();
}

std::string LineHeader::PathOf(uint64_t file) const {
  if (file >= files.size()) return "";
  const File& entry = files[file];
  const bool has_folder = entry.folder != 0 && entry.folder < folders.size();
  if (!has_folder || entry.name.substr(0, 1) == "/") return std::string(entry.name);
  return std::string(folders[entry.folder]) + "/" + std::string(entry.name);
}

bool LineMachine::Next(LineRow* row) {
  has_row_ = false;
  while (!has_row_) {
    if (program_.AtEnd() || !Execute(program_.Read<uint8_t>())) return false;
  }
  *row = state_;
  if (state_.ends_sequence) state_ = LineRow();
  return true;
}

bool LineMachine::Execute(uint8_t opcode) {
  if (opcode >= header_.opcode_base) {
    ExecuteSpecial(opcode - header_.opcode_base);
  } else if (opcode == kExtended) {
    ExecuteExtended();
  } else {
    ExecuteStandard(opcode);
  }
  return program_.ok();
}

void LineMachine::ExecuteSpecial(uint8_t adjusted) {
  ALLOMON_DCHECK_NE("inv.symbols.lines", header_.line_range, 0);
  AdvanceAddress(adjusted / header_.line_range);
  state_.line += static_cast<uint64_t>(header_.line_base + adjusted % header_.line_range);
  has_row_ = true;
}

void LineMachine::ExecuteStandard(uint8_t opcode) {
  switch (opcode) {
    case kCopy:
      has_row_ = true;
      break;
    case kAdvancePc:
      AdvanceAddress(program_.ReadUleb());
      break;
    case kAdvanceLine:
      state_.line += static_cast<uint64_t>(program_.ReadSleb());
      break;
    case kSetFile:
      state_.file = program_.ReadUleb();
      break;
    case kConstAddPc:
      AdvanceAddress((255 - header_.opcode_base) / header_.line_range);
      break;
    case kFixedAdvancePc:
      state_.address += program_.Read<uint16_t>();
      break;
    default:
      // Columns, discriminators and the like: the header tells how many operands they have.
      ALLOMON_DCHECK_LT("inv.symbols.lines", opcode - size_t{1}, header_.operand_counts.size());
      for (int i = 0; i < header_.operand_counts[opcode - 1]; ++i) program_.ReadUleb();
  }
}

void LineMachine::ExecuteExtended() {
  ByteReader instruction = program_.Take(program_.ReadUleb());
  switch (instruction.Read<uint8_t>()) {
    case kEndSequence:
      state_.ends_sequence = true;
      has_row_ = true;
      break;
    case kSetAddress:
      state_.address = instruction.Read<uint64_t>();
      break;
    default:
      break;
  }
}

}  // namespace allomon::internal
