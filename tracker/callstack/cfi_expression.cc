#include "tracker/callstack/cfi_expression.h"

#include "tracker/base/check.h"
#include "tracker/callstack/cfi_program.h"

namespace allomon::internal {
namespace {

// DW_OP_*
enum Operation : uint8_t {
  kAddr = 0x03,
  kDeref = 0x06,
  kConst1u = 0x08,
  kConst1s = 0x09,
  kConst2u = 0x0a,
  kConst2s = 0x0b,
  kConst4u = 0x0c,
  kConst4s = 0x0d,
  kConst8u = 0x0e,
  kConst8s = 0x0f,
  kConstu = 0x10,
  kConsts = 0x11,
  kDup = 0x12,
  kDrop = 0x13,
  kOver = 0x14,
  kPick = 0x15,
  kSwap = 0x16,
  kRot = 0x17,
  kAbs = 0x19,
  kAnd = 0x1a,
  kDiv = 0x1b,
  kMinus = 0x1c,
  kMod = 0x1d,
  kMul = 0x1e,
  kNeg = 0x1f,
  kNot = 0x20,
  kOr = 0x21,
  kPlus = 0x22,
  kPlusUconst = 0x23,
  kShl = 0x24,
  kShr = 0x25,
  kShra = 0x26,
  kXor = 0x27,
  kBra = 0x28,
  kEq = 0x29,
  kGe = 0x2a,
  kGt = 0x2b,
  kLe = 0x2c,
  kLt = 0x2d,
  kNe = 0x2e,
  kSkip = 0x2f,
  kLit0 = 0x30,
  kLit31 = 0x4f,
  kBreg0 = 0x70,
  kBreg31 = 0x8f,
  kNop = 0x96,
};

constexpr int kMaxOperations = 1000;  // a hostile loop ends here
constexpr int kStackWords = 16;

class Evaluator {
 public:
  Evaluator(ByteReader expression, const FrameState& registers, StackWindow* window)
      : begin_(expression.position()),
        end_(expression.position() + expression.remaining()),
        reader_(expression),
        registers_(registers),
        window_(window) {}

  void Push(uint64_t value) {
    if (depth_ == kStackWords) {
      ok_ = false;
    } else {
      stack_[depth_++] = value;
    }
  }

  bool Run(uintptr_t* value) {
    for (int i = 0; !reader_.AtEnd(); ++i) {
      if (i == kMaxOperations || !Execute(reader_.Read<uint8_t>())) return false;
      if (!ok_ || !reader_.ok()) return false;
    }
    ALLOMON_DCHECK("inv.walk.safe", 0 <= depth_ && depth_ <= kStackWords);
    *value = Pop();
    return ok_;
  }

 private:
  uint64_t Pop() {
    if (depth_ > 0) return stack_[--depth_];
    ok_ = false;
    return 0;
  }

  bool Execute(uint8_t op) {
    if (op >= kLit0 && op <= kLit31) {
      Push(op - kLit0);
      return true;
    }
    if (op >= kBreg0 && op <= kBreg31) return PushRegister(op - kBreg0);
    return ExecuteConstant(op) || ExecuteStack(op) || ExecuteUnary(op) || ExecuteFlow(op) ||
           ExecuteBinary(op);
  }

  bool PushRegister(uint64_t reg) {
    const uint64_t offset = static_cast<uint64_t>(reader_.ReadSleb());
    switch (reg) {
      case kDwarfFp:
        Push(registers_.bp + offset);
        return true;
      case kDwarfSp:
        Push(registers_.sp + offset);
        return true;
      case kDwarfPc:
        Push(registers_.pc + offset);
        return true;
      default:
        return false;
    }
  }

  template <typename T>
  void PushConstant() {
    Push(static_cast<uint64_t>(reader_.Read<T>()));
  }

  bool ExecuteConstant(uint8_t op) {
    switch (op) {
      case kConst1u:
        PushConstant<uint8_t>();
        return true;
      case kConst1s:
        PushConstant<int8_t>();
        return true;
      case kConst2u:
        PushConstant<uint16_t>();
        return true;
      case kConst2s:
        PushConstant<int16_t>();
        return true;
      case kConst4u:
        PushConstant<uint32_t>();
        return true;
      case kConst4s:
        PushConstant<int32_t>();
        return true;
      case kAddr:
      case kConst8u:
      case kConst8s:
        PushConstant<uint64_t>();
        return true;
      case kConstu:
        Push(reader_.ReadUleb());
        return true;
      case kConsts:
        Push(static_cast<uint64_t>(reader_.ReadSleb()));
        return true;
      default:
        return false;
    }
  }

  // Copies the word that is `below` words under the top.
  void Pick(int below) {
    if (below < depth_) {
      Push(stack_[depth_ - 1 - below]);
    } else {
      ok_ = false;
    }
  }

  bool ExecuteStack(uint8_t op) {
    switch (op) {
      case kDup:
        Pick(0);
        return true;
      case kDrop:
        Pop();
        return true;
      case kOver:
        Pick(1);
        return true;
      case kPick:
        Pick(reader_.Read<uint8_t>());
        return true;
      case kSwap: {
        const uint64_t top = Pop();
        const uint64_t second = Pop();
        Push(top);
        Push(second);
        return true;
      }
      case kRot: {
        const uint64_t top = Pop();
        const uint64_t second = Pop();
        const uint64_t third = Pop();
        Push(top);
        Push(third);
        Push(second);
        return true;
      }
      default:
        return false;
    }
  }

  bool ExecuteUnary(uint8_t op) {
    switch (op) {
      case kNop:
        return true;
      case kDeref:
        return Dereference();
      case kAbs: {
        const uint64_t top = Pop();
        Push(static_cast<int64_t>(top) < 0 ? 0 - top : top);
        return true;
      }
      case kNeg:
        Push(0 - Pop());
        return true;
      case kNot:
        Push(~Pop());
        return true;
      case kPlusUconst:
        Push(Pop() + reader_.ReadUleb());
        return true;
      default:
        return false;
    }
  }

  bool Dereference() {
    uintptr_t word;
    if (!window_->Load(Pop(), &word)) return false;
    Push(word);
    return true;
  }

  bool ExecuteFlow(uint8_t op) {
    if (op != kSkip && op != kBra) return false;
    const int64_t distance = reader_.Read<int16_t>();
    if (op == kBra && Pop() == 0) return true;
    const int64_t target = reader_.position() - begin_ + distance;
    if (target < 0 || target > end_ - begin_) return false;
    reader_ = ByteReader(begin_ + target, end_);
    ALLOMON_DCHECK_LE("inv.walk.safe", reader_.remaining(), static_cast<size_t>(end_ - begin_));
    return true;
  }

  bool ExecuteBinary(uint8_t op) {
    const uint64_t right = Pop();
    const uint64_t left = Pop();
    uint64_t result;
    if (!Arithmetic(op, left, right, &result) && !Comparison(op, left, right, &result)) {
      return false;
    }
    Push(result);
    return true;
  }

  // Unsigned throughout, because signed overflow wraps in DWARF and is undefined in C++.
  static bool Arithmetic(uint8_t op, uint64_t left, uint64_t right, uint64_t* result) {
    switch (op) {
      case kAnd:
        *result = left & right;
        return true;
      case kDiv: {
        const int64_t divisor = static_cast<int64_t>(right);
        if (divisor == 0) return false;
        *result =
            divisor == -1 ? 0 - left : static_cast<uint64_t>(static_cast<int64_t>(left) / divisor);
        return true;
      }
      case kMinus:
        *result = left - right;
        return true;
      case kMod:
        if (right == 0) return false;
        *result = left % right;
        return true;
      case kMul:
        *result = left * right;
        return true;
      case kOr:
        *result = left | right;
        return true;
      case kPlus:
        *result = left + right;
        return true;
      case kShl:
        *result = right < 64 ? left << right : 0;
        return true;
      case kShr:
        *result = right < 64 ? left >> right : 0;
        return true;
      case kShra:
        *result = static_cast<uint64_t>(static_cast<int64_t>(left) >> (right < 63 ? right : 63));
        return true;
      case kXor:
        *result = left ^ right;
        return true;
      default:
        return false;
    }
  }

  static bool Comparison(uint8_t op, uint64_t left, uint64_t right, uint64_t* result) {
    const int64_t a = static_cast<int64_t>(left);
    const int64_t b = static_cast<int64_t>(right);
    switch (op) {
      case kEq:
        *result = a == b;
        return true;
      case kGe:
        *result = a >= b;
        return true;
      case kGt:
        *result = a > b;
        return true;
      case kLe:
        *result = a <= b;
        return true;
      case kLt:
        *result = a < b;
        return true;
      case kNe:
        *result = a != b;
        return true;
      default:
        return false;
    }
  }

  const uint8_t* const begin_;
  const uint8_t* const end_;
  ByteReader reader_;
  const FrameState& registers_;
  StackWindow* const window_;
  uint64_t stack_[kStackWords];
  int depth_ = 0;
  bool ok_ = true;
};

}  // namespace

bool EvaluateCfiExpression(ByteReader expression, const FrameState& registers, bool push_initial,
                           uintptr_t initial, StackWindow* window, uintptr_t* value) {
  Evaluator evaluator(expression, registers, window);
  if (push_initial) evaluator.Push(initial);
  return evaluator.Run(value);
}

}  // namespace allomon::internal
