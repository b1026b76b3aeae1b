#include "tracker/symbols/unit_index.h"

namespace allomon::internal {
namespace {

constexpr uint64_t kStmtList = 0x10;  // DW_AT_stmt_list

// DW_UT_*: kinds of units, from DWARF 5 on.
enum UnitType : uint8_t { kCompile = 1, kType = 2, kSkeleton = 4, kSplitCompile = 5, kSplitType };

// DW_FORM_* of the attributes that a unit's first entry may have.
enum Form : uint64_t {
  kAddr = 0x01,
  kBlock2 = 0x03,
  kBlock4,
  kData2,
  kData4,
  kData8,
  kString,
  kBlock,
  kBlock1,
  kData1,
  kFlag,
  kSdata,
  kStrp,
  kUdata,
  kRefAddr,
  kRef1,
  kRef2,
  kRef4,
  kRef8,
  kRefUdata,
  kSecOffset = 0x17,
  kExprloc,
  kFlagPresent,
  kStrx,
  kAddrx,
  kRefSup4,
  kStrpSup,
  kData16,
  kLineStrp,
  kRefSig8,
  kImplicitConst,
  kLoclistx,
  kRnglistx,
  kRefSup8,
  kStrx1,
  kStrx2,
  kStrx3,
  kStrx4,
  kAddrx1,
  kAddrx2,
  kAddrx3,
  kAddrx4,
  kGnuRefAlt = 0x1f20,
  kGnuStrpAlt = 0x1f21,
};

struct Widths {
  uint8_t address_bytes = 8;
  bool is_64_bit = false;
};

// Returns the size of a value of a fixed-size form; 0 for other forms.
uint64_t FixedBytes(uint64_t form, const Widths& widths) {
  switch (form) {
    case kData1:
    case kFlag:
    case kRef1:
    case kStrx1:
    case kAddrx1:
      return 1;
    case kData2:
    case kRef2:
    case kStrx2:
    case kAddrx2:
      return 2;
    case kStrx3:
    case kAddrx3:
      return 3;
    case kData4:
    case kRef4:
    case kRefSup4:
    case kStrx4:
    case kAddrx4:
      return 4;
    case kData8:
    case kRef8:
    case kRefSig8:
    case kRefSup8:
      return 8;
    case kData16:
      return 16;
    case kAddr:
      return widths.address_bytes;
    case kStrp:
    case kRefAddr:
    case kSecOffset:
    case kStrpSup:
    case kLineStrp:
    case kGnuRefAlt:
    case kGnuStrpAlt:
      return widths.is_64_bit ? 8 : 4;
    default:
      return 0;
  }
}

// Returns false for an unknown form: the bytes after it cannot be interpreted.
bool SkipOther(ByteReader* entry, uint64_t form) {
  switch (form) {
    case kFlagPresent:
    case kImplicitConst:
      return true;
    case kString:
      entry->ReadCString();
      return true;
    case kSdata:
    case kUdata:
    case kRefUdata:
    case kStrx:
    case kAddrx:
    case kLoclistx:
    case kRnglistx:
      entry->ReadUleb();
      return true;
    case kBlock1:
      entry->Skip(entry->Read<uint8_t>());
      return true;
    case kBlock2:
      entry->Skip(entry->Read<uint16_t>());
      return true;
    case kBlock4:
      entry->Skip(entry->Read<uint32_t>());
      return true;
    case kBlock:
    case kExprloc:
      entry->Skip(entry->ReadUleb());
      return true;
    default:
      return false;
  }
}

bool SkipValue(ByteReader* entry, uint64_t form, const Widths& widths) {
  const uint64_t bytes = FixedBytes(form, widths);
  if (bytes == 0) return SkipOther(entry, form);
  entry->Skip(bytes);
  return true;
}

struct Attribute {
  uint64_t name;
  uint64_t form;
};

Attribute ReadAttribute(ByteReader* abbreviation) {
  const Attribute attribute = {abbreviation->ReadUleb(), abbreviation->ReadUleb()};
  if (attribute.form == kImplicitConst) abbreviation->ReadSleb();
  return attribute;
}

// Moves past the head of the abbreviation with that code.  Returns false if there is no such
// abbreviation.
bool FindAbbreviation(ByteReader* abbreviations, uint64_t code) {
  while (!abbreviations->AtEnd()) {
    const uint64_t found = abbreviations->ReadUleb();
    if (found == 0) return false;
    abbreviations->ReadUleb();  // tag
    abbreviations->Skip(1);     // whether the entry has children
    if (found == code) return abbreviations->ok();
    while (abbreviations->ok() && ReadAttribute(abbreviations).name != 0) {
    }
  }
  return false;
}

struct UnitHead {
  Widths widths;
  uint64_t abbreviations = 0;
};

// Returns false for units that describe types, which have no lines, and for unknown ones.
bool ReadHead(ByteReader* unit, UnitHead* head) {
  const auto version = unit->Read<uint16_t>();
  if (version < 2 || version > 5) return false;
  if (version < 5) {
    head->abbreviations = SizedPiece::ReadOffset(unit, head->widths.is_64_bit);
    head->widths.address_bytes = unit->Read<uint8_t>();
    return unit->ok();
  }
  const auto type = unit->Read<uint8_t>();
  head->widths.address_bytes = unit->Read<uint8_t>();
  head->abbreviations = SizedPiece::ReadOffset(unit, head->widths.is_64_bit);
  if (type == kSkeleton || type == kSplitCompile) unit->Skip(8);  // the other half's name
  return unit->ok() && type != kType && type != kSplitType;
}

std::optional<uint64_t> ReadLines(ByteReader entry, ByteReader abbreviation, const Widths& widths) {
  while (abbreviation.ok() && entry.ok()) {
    const Attribute attribute = ReadAttribute(&abbreviation);
    if (attribute.name == 0) return std::nullopt;
    if (attribute.name != kStmtList) {
      if (!SkipValue(&entry, attribute.form, widths)) return std::nullopt;
      continue;
    }
    const uint64_t bytes = FixedBytes(attribute.form, widths);
    const uint64_t lines = bytes == 8 ? entry.Read<uint64_t>() : entry.Read<uint32_t>();
    return entry.ok() && bytes >= 4 ? std::optional(lines) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

SizedPiece ReadSizedPiece(ByteReader* reader) {
  SizedPiece piece;
  uint64_t length = reader->Read<uint32_t>();
  piece.is_64_bit = length == 0xffffffff;
  if (piece.is_64_bit) length = reader->Read<uint64_t>();
  piece.data = reader->Take(length);
  return piece;
}

std::optional<uint64_t> LinesOfUnit(const SizedPiece& unit, const ByteReader& abbreviations) {
  ByteReader entry = unit.data;
  UnitHead head;
  head.widths.is_64_bit = unit.is_64_bit;
  if (!ReadHead(&entry, &head)) return std::nullopt;
  ByteReader abbreviation = abbreviations;
  abbreviation.Skip(head.abbreviations);
  if (!FindAbbreviation(&abbreviation, entry.ReadUleb())) return std::nullopt;
  return ReadLines(entry, abbreviation, head.widths);
}

}  // namespace allomon::internal
