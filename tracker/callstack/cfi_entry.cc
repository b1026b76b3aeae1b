#include "tracker/callstack/cfi_entry.h"

namespace allomon::internal {
namespace {

// DW_EH_PE_*: the low four bits give the size, the next three the base to which the pointer is
// relative.
constexpr uint8_t kFormatMask = 0x0f;
constexpr uint8_t kRelationMask = 0x70;
constexpr uint8_t kAbsolute = 0x00;
constexpr uint8_t kPcRelative = 0x10;
constexpr uint8_t kDataRelative = 0x30;

// A CIE or FDE without its length.  `id` is 0 for a CIE; otherwise it is the distance from
// `id_position` back to the FDE's CIE.
struct Record {
  const uint8_t* id_position;
  uint32_t id;
  ByteReader body;
};

// False for a terminator and for a record that does not fit.
bool ReadRecord(const CfiBytes& bytes, const uint8_t* start, Record* record) {
  if (!bytes.Contains(start)) return false;
  ByteReader reader(start, bytes.end);
  uint64_t length = reader.Read<uint32_t>();
  if (length == 0xffffffff) length = reader.Read<uint64_t>();
  if (length == 0) return false;
  record->body = reader.Take(length);
  record->id_position = record->body.position();
  record->id = record->body.Read<uint32_t>();
  return reader.ok() && record->body.ok();
}

uintptr_t ReadFormat(ByteReader* reader, uint8_t format, bool* ok) {
  switch (format) {
    case 0x0:
      return reader->Read<uintptr_t>();
    case 0x1:
      return reader->ReadUleb();
    case 0x2:
      return reader->Read<uint16_t>();
    case 0x3:
      return reader->Read<uint32_t>();
    case 0x4:
      return reader->Read<uint64_t>();
    case 0x9:
      return static_cast<uintptr_t>(reader->ReadSleb());
    case 0xa:
      return static_cast<uintptr_t>(intptr_t{reader->Read<int16_t>()});
    case 0xb:
      return static_cast<uintptr_t>(intptr_t{reader->Read<int32_t>()});
    case 0xc:
      return static_cast<uintptr_t>(reader->Read<int64_t>());
    default:
      *ok = false;
      return 0;
  }
}

// The augmentation string describes the augmentation data.  Its letters must be read in order,
// because the size of a letter's data is known only from the letter.
bool ReadAugmentation(const char* letters, ByteReader* body, CfiEntry* e) {
  e->has_augmentation_data = *letters == 'z';
  if (*letters == '\0') return true;
  if (*letters != 'z') return false;
  ByteReader data = body->Take(body->ReadUleb());
  bool ok = true;
  for (++letters; *letters != '\0' && ok; ++letters) {
    switch (*letters) {
      case 'R':
        e->pointer_encoding = data.Read<uint8_t>();
        break;
      case 'P': {
        const uint8_t encoding = data.Read<uint8_t>();
        ReadFormat(&data, encoding & kFormatMask, &ok);
        break;
      }
      case 'L':
        data.Skip(1);
        break;
      case 'S':
        e->signal_frame = true;
        break;
      case 'B':  // return addresses are signed by the second key of 64-bit Arm: no data
      case 'G':  // the frame has memory tags of 64-bit Arm: no data
        break;
      default:
        // An unknown letter may own data that would be misread as the next letter's.  The bytes
        // after the augmentation data are safe, since its length is known.
        return data.ok();
    }
  }
  return ok && data.ok();
}

bool ParseCie(const CfiBytes& bytes, const uint8_t* start, CfiEntry* e) {
  Record cie;
  if (!ReadRecord(bytes, start, &cie) || cie.id != 0) return false;
  ByteReader& body = cie.body;
  const uint8_t version = body.Read<uint8_t>();
  if (version != 1 && version != 3 && version != 4) return false;
  const char* augmentation = body.ReadCString();
  if (version == 4) body.Skip(2);  // address size, segment selector size
  e->code_align = body.ReadUleb();
  e->data_align = body.ReadSleb();
  e->ra_register = version == 1 ? body.Read<uint8_t>() : body.ReadUleb();
  e->pointer_encoding = kAbsolute;
  e->signal_frame = false;
  if (!ReadAugmentation(augmentation, &body, e)) return false;
  e->initial = body;
  return body.ok();
}

}  // namespace

uintptr_t ReadEncodedPointer(const CfiBytes& bytes, ByteReader* reader, uint8_t encoding,
                             uintptr_t data_base, bool* ok) {
  const uintptr_t here = bytes.AddressOf(reader->position());
  const uintptr_t value = ReadFormat(reader, encoding & kFormatMask, ok);
  switch (encoding & kRelationMask) {
    case kAbsolute:
      return value;
    case kPcRelative:
      return here + value;
    case kDataRelative:
      return data_base + value;
    default:
      *ok = false;
      return 0;
  }
}

bool ParseFde(const CfiBytes& bytes, const uint8_t* fde, CfiEntry* entry) {
  Record record;
  if (!ReadRecord(bytes, fde, &record) || record.id == 0) return false;
  if (record.id > static_cast<size_t>(record.id_position - bytes.begin)) return false;
  if (!ParseCie(bytes, record.id_position - record.id, entry)) return false;
  bool ok = true;
  ByteReader& body = record.body;
  entry->pc_begin = ReadEncodedPointer(bytes, &body, entry->pointer_encoding, 0, &ok);
  const uintptr_t size = ReadFormat(&body, entry->pointer_encoding & kFormatMask, &ok);
  entry->pc_end = entry->pc_begin + size;
  if (entry->has_augmentation_data) body.Skip(body.ReadUleb());
  entry->program = body;
  return ok && body.ok() && entry->pc_end >= entry->pc_begin;
}

bool NextCfiRecord(const CfiBytes& bytes, const uint8_t** record) {
  Record current;
  if (!ReadRecord(bytes, *record, &current)) return false;
  *record = current.body.position() + current.body.remaining();
  return bytes.Contains(*record);
}

}  // namespace allomon::internal
