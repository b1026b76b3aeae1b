#include "tracker/callstack/cfi_program.h"

namespace allomon::internal {
namespace {

// DW_CFA_*.  The first three keep an operand in their low six bits.
enum Opcode : uint8_t {
  kAdvanceLoc = 0x40,
  kOffset = 0x80,
  kRestore = 0xc0,
  kPrimaryMask = 0xc0,
  kNop = 0x00,
  kSetLoc = 0x01,
  kAdvanceLoc1 = 0x02,
  kAdvanceLoc2 = 0x03,
  kAdvanceLoc4 = 0x04,
  kOffsetExtended = 0x05,
  kRestoreExtended = 0x06,
  kUndefined = 0x07,
  kSameValue = 0x08,
  kRegister = 0x09,
  kRememberState = 0x0a,
  kRestoreState = 0x0b,
  kDefCfa = 0x0c,
  kDefCfaRegister = 0x0d,
  kDefCfaOffset = 0x0e,
  kDefCfaExpression = 0x0f,
  kExpression = 0x10,
  kOffsetExtendedSf = 0x11,
  kDefCfaSf = 0x12,
  kDefCfaOffsetSf = 0x13,
  kValOffset = 0x14,
  kValOffsetSf = 0x15,
  kValExpression = 0x16,
  kNegateReturnState = 0x2d,
  kGnuArgsSize = 0x2e,
  kGnuNegativeOffsetExtended = 0x2f,
};

// Compilers nest DW_CFA_remember_state once; hand-written assembly a little deeper.
constexpr int kMaxRememberedRows = 8;

class Machine {
 public:
  Machine(const CfiBytes& bytes, const CfiEntry& entry, uintptr_t pc, uint64_t followed)
      : bytes_(bytes), entry_(entry), pc_(pc), followed_(followed), location_(entry.pc_begin) {}

  bool Run(CfiRow* row) {
    if (!RunPart(entry_.initial)) return false;
    initial_ = row_;
    if (!RunPart(entry_.program)) return false;
    *row = row_;
    return true;
  }

 private:
  bool RunPart(ByteReader part) {
    reader_ = part;
    // A row starts at location_ and holds until the next location, so the first instruction that
    // belongs to a row after pc_ ends the run.
    while (!reader_.AtEnd() && location_ <= pc_) {
      if (!Execute(reader_.Read<uint8_t>())) return false;
    }
    return reader_.ok();
  }

  bool Execute(uint8_t opcode) {
    const uint8_t operand = opcode & ~kPrimaryMask;
    switch (opcode & kPrimaryMask) {
      case kAdvanceLoc:
        Advance(operand);
        return true;
      case kOffset:
        SaveAt(operand, Factored(reader_.ReadUleb()));
        return true;
      case kRestore:
        RestoreRegister(operand);
        return true;
      default:
        return ExecuteExtended(opcode);
    }
  }

  bool ExecuteExtended(uint8_t opcode) {
    switch (opcode) {
      case kNop:
        return true;
      case kSetLoc:
        return SetLocation();
      case kAdvanceLoc1:
        Advance(reader_.Read<uint8_t>());
        return true;
      case kAdvanceLoc2:
        Advance(reader_.Read<uint16_t>());
        return true;
      case kAdvanceLoc4:
        Advance(reader_.Read<uint32_t>());
        return true;
      case kRememberState:
        return Remember();
      case kRestoreState:
        return Recall();
      case kGnuArgsSize:
        reader_.ReadUleb();
        return true;
      case kNegateReturnState:
        // Says whether the stored return address is signed.  StripReturnAddress() need not know.
        return kFollowsReturnStates;
      default:
        return ExecuteCfa(opcode) || ExecuteRegister(opcode);
    }
  }

  // The instructions that define the CFA.  False for any other.
  bool ExecuteCfa(uint8_t opcode) {
    CfaRule& cfa = row_.cfa;
    switch (opcode) {
      case kDefCfa:
        cfa = CfaRule();
        cfa.base_register = reader_.ReadUleb();
        cfa.offset = static_cast<int64_t>(reader_.ReadUleb());
        return true;
      case kDefCfaSf:
        cfa = CfaRule();
        cfa.base_register = reader_.ReadUleb();
        cfa.offset = Factored(static_cast<uint64_t>(reader_.ReadSleb()));
        return true;
      case kDefCfaRegister:
        cfa.base_register = reader_.ReadUleb();
        return true;
      case kDefCfaOffset:
        cfa.offset = static_cast<int64_t>(reader_.ReadUleb());
        return true;
      case kDefCfaOffsetSf:
        cfa.offset = Factored(static_cast<uint64_t>(reader_.ReadSleb()));
        return true;
      case kDefCfaExpression:
        cfa.is_expression = true;
        cfa.expression = reader_.Take(reader_.ReadUleb());
        return true;
      default:
        return false;
    }
  }

  // Executes the instructions that define the place of one register.  False for an unknown opcode.
  bool ExecuteRegister(uint8_t opcode) {
    if (opcode < kOffsetExtended || (opcode > kRegister && opcode < kExpression) ||
        (opcode > kValExpression && opcode != kGnuNegativeOffsetExtended)) {
      return false;
    }
    const uint64_t reg = reader_.ReadUleb();
    switch (opcode) {
      case kOffsetExtended:
        SaveAt(reg, Factored(reader_.ReadUleb()));
        return true;
      case kOffsetExtendedSf:
        SaveAt(reg, Factored(static_cast<uint64_t>(reader_.ReadSleb())));
        return true;
      case kGnuNegativeOffsetExtended:
        SaveAt(reg, -Factored(reader_.ReadUleb()));
        return true;
      case kRestoreExtended:
        RestoreRegister(reg);
        return true;
      case kUndefined:
        Set(reg, RegisterRule::kUndefined);
        return true;
      case kSameValue:
        Set(reg, RegisterRule::kSame);
        return true;
      case kExpression:
        SetExpression(reg, RegisterRule::kAtExpression);
        return true;
      case kValExpression:
        SetExpression(reg, RegisterRule::kValueExpression);
        return true;
      case kRegister:
      case kValOffset:
      case kValOffsetSf:
        reader_.ReadUleb();  // a register, or an offset: signed and unsigned are equally long
        Set(reg, RegisterRule::kElsewhere);
        return true;
      default:
        return false;
    }
  }

  // Offsets wrap in unsigned arithmetic: a hostile program must not overflow.
  int64_t Factored(uint64_t value) const {
    return static_cast<int64_t>(value * static_cast<uint64_t>(entry_.data_align));
  }

  void Advance(uint64_t delta) { location_ += delta * entry_.code_align; }

  bool SetLocation() {
    bool ok = true;
    location_ = ReadEncodedPointer(bytes_, &reader_, entry_.pointer_encoding, 0, &ok);
    return ok;
  }

  bool Remember() {
    if (depth_ == kMaxRememberedRows) return false;
    remembered_[depth_++] = row_;
    return true;
  }

  bool Recall() {
    if (depth_ == 0) return false;
    row_ = remembered_[--depth_];
    return true;
  }

  // The rule of a register that is followed, or nullptr for the others.
  RegisterRule* Follow(CfiRow* row, uint64_t reg) const {
    if (reg == kDwarfFp) return &row->frame_pointer;
    if (reg == entry_.ra_register) return &row->return_address;
    if (reg == followed_) return &row->followed;
    return nullptr;
  }

  void Set(uint64_t reg, RegisterRule::Kind kind) {
    if (RegisterRule* rule = Follow(&row_, reg)) {
      *rule = RegisterRule();
      rule->kind = kind;
    }
  }

  void SaveAt(uint64_t reg, int64_t offset) {
    if (RegisterRule* rule = Follow(&row_, reg)) {
      *rule = RegisterRule();
      rule->kind = RegisterRule::kAtCfa;
      rule->offset = offset;
    }
  }

  void SetExpression(uint64_t reg, RegisterRule::Kind kind) {
    const ByteReader expression = reader_.Take(reader_.ReadUleb());
    if (RegisterRule* rule = Follow(&row_, reg)) {
      *rule = RegisterRule();
      rule->kind = kind;
      rule->expression = expression;
    }
  }

  void RestoreRegister(uint64_t reg) {
    if (RegisterRule* rule = Follow(&row_, reg)) *rule = *Follow(&initial_, reg);
  }

  const CfiBytes& bytes_;
  const CfiEntry& entry_;
  const uintptr_t pc_;
  const uint64_t followed_;
  uintptr_t location_;
  ByteReader reader_;
  CfiRow row_;
  CfiRow initial_;
  CfiRow remembered_[kMaxRememberedRows];
  int depth_ = 0;
};

}  // namespace

bool RunCfiProgram(const CfiBytes& bytes, const CfiEntry& entry, uintptr_t pc, CfiRow* row,
                   uint64_t followed) {
  return Machine(bytes, entry, pc, followed).Run(row);
}

}  // namespace allomon::internal
