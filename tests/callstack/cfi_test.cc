// The unwinder's parts, tested separately: expressions, programs, rules, cache.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "tracker/callstack/cfi_expression.h"
#include "tracker/callstack/cfi_program.h"
#include "tracker/callstack/frame_rule.h"
#include "tracker/callstack/registers.h"
#include "tracker/callstack/rule_cache.h"

namespace allomon::internal {
namespace {

using Bytes = std::vector<uint8_t>;

// The registers as operands, and as the low bits of instructions.
constexpr uint8_t kFp = kDwarfFp;
constexpr uint8_t kSp = kDwarfSp;
constexpr uint8_t kReturn = kDwarfReturn;
constexpr uint8_t kBreg0 = 0x70;
constexpr uint8_t kOffset = 0x80;

ByteReader Reader(const Bytes& bytes) {
  return ByteReader(bytes.data(), bytes.data() + bytes.size());
}

uintptr_t AddressOf(const void* p) { return reinterpret_cast<uintptr_t>(p); }

// Returns the value of an expression after the CFA 1000 was pushed, or -1.
intptr_t Evaluate(const Bytes& expression) {
  uintptr_t memory[] = {11, 22, 33, 44};
  const FrameState registers = {0x1234, AddressOf(memory), 7000};
  StackWindow window(registers.sp);
  uintptr_t value;
  const bool ok = EvaluateCfiExpression(Reader(expression), registers, true, 1000, &window, &value);
  return ok ? static_cast<intptr_t>(value) : -1;
}

TEST(Expression, Arithmetic) {
  EXPECT_EQ(Evaluate({}), 1000);
  EXPECT_EQ(Evaluate({0x23, 5}), 1005);                 // plus_uconst
  EXPECT_EQ(Evaluate({0x33, 0x22}), 1003);              // lit3 plus
  EXPECT_EQ(Evaluate({0x33, 0x1c}), 997);               // minus
  EXPECT_EQ(Evaluate({0x33, 0x1e}), 3000);              // mul
  EXPECT_EQ(Evaluate({0x33, 0x1b}), 333);               // div
  EXPECT_EQ(Evaluate({0x33, 0x1d}), 1);                 // mod
  EXPECT_EQ(Evaluate({0x33, 0x24}), 8000);              // shl
  EXPECT_EQ(Evaluate({0x33, 0x25}), 125);               // shr
  EXPECT_EQ(Evaluate({0x1f, 0x19}), 1000);              // neg abs
  EXPECT_EQ(Evaluate({0x09, 0xfd, 0x22}), 997);         // const1s -3 plus
  EXPECT_EQ(Evaluate({0x10, 0x80, 0x01, 0x22}), 1128);  // constu 128 plus
}

TEST(Expression, StackAndFlow) {
  EXPECT_EQ(Evaluate({0x31, 0x16, 0x1c}), -999);        // lit1 swap minus
  EXPECT_EQ(Evaluate({0x31, 0x14}), 1000);              // lit1 over
  EXPECT_EQ(Evaluate({0x31, 0x15, 1}), 1000);           // lit1 pick 1
  EXPECT_EQ(Evaluate({0x31, 0x32, 0x17, 0x13}), 1000);  // lit1 lit2 rot drop
  EXPECT_EQ(Evaluate({0x2f, 1, 0, 0x31}), 1000);        // skip over lit1
  EXPECT_EQ(Evaluate({0x30, 0x28, 1, 0, 0x31}), 1);     // bra not taken
  EXPECT_EQ(Evaluate({0x12, 0x2a}), 1);                 // dup ge
}

TEST(Expression, RegistersAndMemory) {
  EXPECT_EQ(Evaluate({kBreg0 + kFp, 0x70}), 7000 - 16);
  // A pc that has no number below 32 is not followed.
  EXPECT_EQ(Evaluate({kBreg0 + 16, 4}), kDwarfPc == 16 ? 0x1238 : -1);
  EXPECT_EQ(Evaluate({kBreg0 + kSp, 16, 0x06}), 33);  // breg7 16 deref
  EXPECT_EQ(Evaluate({0x73, 0}), -1);                 // breg3 is not followed
  EXPECT_EQ(Evaluate({kBreg0 + kSp, 1, 0x06}), -1);   // unaligned
  EXPECT_EQ(Evaluate({0x30, 0x06}), -1);              // address 0
}

TEST(Expression, NonsenseFails) {
  EXPECT_EQ(Evaluate({0x13, 0x13}), -1);        // drops too much
  EXPECT_EQ(Evaluate({0x30, 0x1b}), -1);        // divides by zero
  EXPECT_EQ(Evaluate({0x2f, 0xfd, 0xff}), -1);  // jumps to itself for ever
  EXPECT_EQ(Evaluate({0x2f, 0x00, 0x70}), -1);  // jumps out
  EXPECT_EQ(Evaluate({0x0e, 1, 2}), -1);        // ends in an operand
  EXPECT_EQ(Evaluate({0xff}), -1);              // unknown
  EXPECT_EQ(Evaluate(Bytes(40, 0x12)), -1);     // overflows the stack
}

TEST(Expression, RandomBytesNeverFault) {
  std::mt19937 random(7);
  for (int i = 0; i < 100000; ++i) {
    Bytes expression(random() % 20);
    for (uint8_t& byte : expression) byte = random() % 2 ? random() : random() % 0x98;
    Evaluate(expression);
  }
}

// Runs a program for a function at [1000, 2000) whose CFA is initially sp + 8.
bool RunProgram(const Bytes& program, uintptr_t pc, CfiRow* row) {
  static const Bytes kInitial = {0x0c, kSp, 8, kOffset + kReturn, 1};  // def_cfa sp 8
  CfiEntry entry = {};
  entry.pc_begin = 1000;
  entry.pc_end = 2000;
  entry.code_align = 1;
  entry.data_align = -8;
  entry.ra_register = kDwarfReturn;
  entry.initial = Reader(kInitial);
  entry.program = Reader(program);
  const CfiBytes bytes = {program.data(), program.data() + program.size(), 0};
  return RunCfiProgram(bytes, entry, pc, row);
}

TEST(Program, PushFramePointer) {
  // advance 1; def_cfa_offset 16; offset fp 2; advance 3; def_cfa_register fp
  const Bytes program = {0x41, 0x0e, 16, kOffset + kFp, 2, 0x43, 0x0d, kFp};
  CfiRow row;
  ASSERT_TRUE(RunProgram(program, 1000, &row));
  EXPECT_EQ(row.cfa.base_register, kDwarfSp);
  EXPECT_EQ(row.cfa.offset, 8);
  EXPECT_EQ(row.frame_pointer.kind, RegisterRule::kSame);
  EXPECT_EQ(row.return_address.offset, -8);
  ASSERT_TRUE(RunProgram(program, 1003, &row));
  EXPECT_EQ(row.cfa.offset, 16);
  EXPECT_EQ(row.frame_pointer.kind, RegisterRule::kAtCfa);
  EXPECT_EQ(row.frame_pointer.offset, -16);
  EXPECT_EQ(row.cfa.base_register, kDwarfSp);
  ASSERT_TRUE(RunProgram(program, 1004, &row));
  EXPECT_EQ(row.cfa.base_register, kDwarfFp);
}

TEST(Program, RememberRestore) {
  // remember; def_cfa_offset 48; offset fp 2; advance 5; restore_state
  const Bytes program = {0x0a, 0x0e, 48, kOffset + kFp, 2, 0x45, 0x0b};
  CfiRow row;
  ASSERT_TRUE(RunProgram(program, 1004, &row));
  EXPECT_EQ(row.cfa.offset, 48);
  ASSERT_TRUE(RunProgram(program, 1005, &row));
  EXPECT_EQ(row.cfa.offset, 8);
  EXPECT_EQ(row.frame_pointer.kind, RegisterRule::kSame);
}

TEST(Program, RestoreGoesBackToTheCie) {
  // undefined; advance 1; restore_extended
  const Bytes program = {0x07, kReturn, 0x41, 0x06, kReturn};
  CfiRow row;
  ASSERT_TRUE(RunProgram(program, 1000, &row));
  EXPECT_EQ(row.return_address.kind, RegisterRule::kUndefined);
  ASSERT_TRUE(RunProgram(program, 1001, &row));
  EXPECT_EQ(row.return_address.kind, RegisterRule::kAtCfa);
}

// Says on 64-bit Arm that the return address is signed; elsewhere nothing says so.
TEST(Program, ReturnStates) {
  CfiRow row;
  EXPECT_EQ(RunProgram({0x2d, 0x41, 0x2d}, 1001, &row), kFollowsReturnStates);
  if (!kFollowsReturnStates) return;
  EXPECT_EQ(row.return_address.kind, RegisterRule::kAtCfa);
  EXPECT_EQ(row.return_address.offset, -8);
}

TEST(Program, NonsenseFails) {
  CfiRow row;
  EXPECT_FALSE(RunProgram({0x0b}, 1000, &row));             // restores a state that was not
                                                            // remembered
  EXPECT_FALSE(RunProgram(Bytes(20, 0x0a), 1000, &row));    // remembers too often
  EXPECT_FALSE(RunProgram({0x3f}, 1000, &row));             // unknown
  EXPECT_FALSE(RunProgram({0x0c, kSp}, 1000, &row));        // ends in an operand
  EXPECT_FALSE(RunProgram({0x10, kFp, 9, 0}, 1000, &row));  // an expression past the end
}

TEST(Program, RandomBytesNeverFault) {
  std::mt19937 random(7);
  for (int i = 0; i < 100000; ++i) {
    Bytes program(random() % 30);
    for (uint8_t& byte : program) byte = random() % 2 ? random() : random() % 0x30;
    CfiRow row;
    (void)RunProgram(program, 1000 + random() % 1000, &row);
  }
}

TEST(FrameRule, KeepsWhatFits) {
  const FrameRule rule(FrameRule::kFromBp, 0xffff8, 0x3ff8);
  EXPECT_EQ(rule.kind(), FrameRule::kFromBp);
  EXPECT_EQ(rule.cfa_bytes(), 0xffff8u);
  EXPECT_EQ(rule.bp_bytes(), 0x3ff8u);
  EXPECT_TRUE(FrameRule::Fits(0xffff8, 0x3ff8));
  EXPECT_FALSE(FrameRule::Fits(0x100000, 8));
  EXPECT_FALSE(FrameRule::Fits(8, 0x4000));
  EXPECT_FALSE(FrameRule::Fits(12, 8));
  EXPECT_FALSE(FrameRule::Fits(0 - uint64_t{8}, 8));
}

// checks inv.cache.exact: a pc that differs in any bit that instructions differ in is not found.
TEST(RuleCache, HitsOnlyTheVeryPc) {
  static RuleCache cache;
  const uintptr_t pc = 0x7fffdeadbee7;
  FrameRule found;
  EXPECT_FALSE(cache.Find(pc, &found));
  cache.Store(pc, FrameRule(FrameRule::kFromSp, 64, 16), 1);
  ASSERT_TRUE(cache.Find(pc, &found));
  EXPECT_EQ(found.kind(), FrameRule::kFromSp);
  EXPECT_EQ(found.cfa_bytes(), 64u);
  EXPECT_EQ(found.bp_bytes(), 16u);
  for (int bit = kPcShift; bit < 64; ++bit) {
    EXPECT_FALSE(cache.Find(pc ^ uintptr_t{1} << bit, &found)) << bit;
  }
  cache.Clear();
  EXPECT_FALSE(cache.Find(pc, &found));
}

TEST(RuleCache, RulesAreOfTheirModule) {
  static RuleCache cache;
  const uintptr_t pc = 0x7fffdeadbee7;
  EXPECT_FALSE(cache.IsOfAnotherModule(pc, 1)) << "no rule";
  for (const uint16_t module_hash : {0, 1, 0xffff}) {
    cache.Store(pc, FrameRule(FrameRule::kFromSp, 64, 16), module_hash);
    EXPECT_FALSE(cache.IsOfAnotherModule(pc, module_hash));
    EXPECT_TRUE(cache.IsOfAnotherModule(pc, module_hash ^ 0x8000));
    EXPECT_FALSE(cache.IsOfAnotherModule(pc ^ (uintptr_t{1} << 46), 2)) << "another pc's slot";
  }
}

TEST(RuleCache, EmptySlotsHoldNoLowAddress) {
  static RuleCache cache;
  FrameRule found;
  for (uintptr_t pc = 0; pc < 20000; ++pc) EXPECT_FALSE(cache.Find(pc, &found));
}

TEST(RuleCache, HighAddressesAreNotKept) {
  static RuleCache cache;
  FrameRule found;
  for (uintptr_t pc : {uintptr_t{1} << kPcBits, ~uintptr_t{0}}) {
    cache.Store(pc, FrameRule(FrameRule::kFromSp, 64, 16), 1);
    EXPECT_FALSE(cache.Find(pc, &found));
  }
}

}  // namespace
}  // namespace allomon::internal
