// Call frame information as a walk reads it in a host: an input is .eh_frame, or the table of
// .eh_frame_hdr.  Each function's program is run, and each expression in it evaluated.
#include <cstring>

#include "tests/fuzz/target.h"
#include "tracker/callstack/cfi_entry.h"
#include "tracker/callstack/cfi_expression.h"
#include "tracker/callstack/cfi_header.h"
#include "tracker/callstack/cfi_program.h"

namespace allomon::fuzz {
namespace {

using namespace internal;

constexpr uintptr_t kAddress = 0x10000;
constexpr int kMostRecords = 200;

void Evaluate(const ByteReader& expression, bool push) {
  uintptr_t memory[] = {11, 22, 33, 44};
  const FrameState registers = {0x1234, reinterpret_cast<uintptr_t>(memory), 7000};
  StackWindow window(registers.sp);
  uintptr_t value;
  (void)EvaluateCfiExpression(expression, registers, push, 1000, &window, &value);
}

void CheckRow(const CfiRow& row) {
  if (row.cfa.is_expression) Evaluate(row.cfa.expression, false);
  for (const RegisterRule& rule : {row.frame_pointer, row.return_address, row.followed}) {
    if (rule.kind == RegisterRule::kAtExpression || rule.kind == RegisterRule::kValueExpression) {
      Evaluate(rule.expression, true);
    }
  }
}

bool CheckEntry(const CfiBytes& bytes, const CfiEntry& entry) {
  bool has_row = false;
  for (const uintptr_t pc :
       {entry.pc_begin, entry.pc_begin + (entry.pc_end - entry.pc_begin) / 2, entry.pc_end - 1}) {
    CfiRow row;
    if (!RunCfiProgram(bytes, entry, pc, &row, kDwarfR12)) continue;
    CheckRow(row);
    has_row = true;
  }
  return has_row;
}

bool CheckFrames(const CfiBytes& bytes) {
  bool has_row = false;
  const uint8_t* record = bytes.begin;
  for (int i = 0; i < kMostRecords; ++i) {
    CfiEntry entry;
    if (bytes.Contains(record) && ParseFde(bytes, record, &entry)) {
      has_row |= CheckEntry(bytes, entry);
    }
    const uint8_t* const before = record;
    if (!NextCfiRecord(bytes, &record)) break;
    Require(before < record && record <= bytes.end, "records come one after the other");
  }
  return has_row;
}

bool CheckHeader(const CfiBytes& bytes) {
  CfiHeader header;
  if (!header.Read(bytes, bytes.begin)) return false;
  for (const uintptr_t pc : {uintptr_t{0}, kAddress, kAddress + 0x100, UINTPTR_MAX}) {
    header.AddressOfFde(pc);
  }
  return true;
}

// A function of 32 bytes that pushes rbp, and has an expression for r12.
std::string SmallFrames() {
  const uint8_t bytes[] = {0x14, 0,    0,    0,    0,    0,    0,    0, 1,    'z',
                           'R',  0,    1,    0x78, 16,   1,    0x1b,  // CIE
                           0x0c, 7,    8,    0x90, 1,    0,    0,     // def_cfa, offset
                           0x1c, 0,    0,    0,    0x1c, 0,    0,    0, 0x00, 0x01,
                           0,    0,    0x20, 0,    0,    0,    0,  // FDE
                           0x41, 0x0e, 16,   0x86, 2,    0x43, 0x0d, 6, 0x10, 12,
                           3,    0x76, 0x78, 0x06, 0,    0,    0,    0, 0};
  return std::string(reinterpret_cast<const char*>(bytes), sizeof(bytes));
}

}  // namespace

// Inputs made by linkers are in the archive.
std::vector<std::string> Seeds() { return {SmallFrames()}; }

}  // namespace allomon::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace allomon::fuzz;
  const allomon::internal::CfiBytes bytes = {data, data + size, kAddress};
  const bool is_header = CheckHeader(bytes);
  return Done(CheckFrames(bytes) || is_header);
}
