// The rule that leads from a frame to its caller's, packed into the low bits of one word.
//
// Nearly all rows of unwind tables have this form: the CFA is sp or bp plus a multiple of eight. On
// x86-64 the return address is just below it; bp is untouched or saved a few words below that.  On
// 64-bit Arm bp is saved below the CFA, and the return address in the word above it.  That takes 31
// bits, which leaves room for the pc in the same word (see RuleCache).  Any other row
// becomes kInterpret, and is evaluated at each walk.
#ifndef ALLOMON_TRACKER_CALLSTACK_FRAME_RULE_H_
#define ALLOMON_TRACKER_CALLSTACK_FRAME_RULE_H_

#include <cstdint>

namespace allomon::internal {

class FrameRule {
 public:
  enum Kind : uint64_t {
    kNone,          // no rule; what an empty cache slot holds
    kFromSp,        // CFA = sp + cfa_bytes
    kFromBp,        // CFA = bp + cfa_bytes
    kRealigned,     // CFA = *(bp - cfa_bytes), bp at *bp: the stack was realigned
    kEnd,           // the outermost frame
    kFramePointer,  // no usable CFI: trust the frame-pointer chain
    kInterpret,     // run the CFI program and evaluate its result
    kLinkOnly,      // CFA = sp + cfa_bytes, return address at CFA - bp_bytes, bp untouched
  };
  static constexpr int kBits = 31;

  constexpr explicit FrameRule(uint64_t bits = 0) : bits_(bits) {}
  constexpr explicit FrameRule(Kind kind, uint64_t cfa_bytes = 0, uint64_t bp_bytes = 0)
      : bits_(kind | cfa_bytes | bp_bytes << kBpShift) {}

  // Whether the offsets can be packed: multiples of eight in range.
  static constexpr bool Fits(uint64_t cfa_bytes, uint64_t bp_bytes) {
    return (cfa_bytes & ~kCfaMask) == 0 && (bp_bytes & ~kBpMask) == 0;
  }

  constexpr Kind kind() const { return static_cast<Kind>(bits_ & kKindMask); }
  constexpr bool IsSimple() const { return kind() == kFromSp || kind() == kFromBp; }
  constexpr uint64_t cfa_bytes() const { return bits_ & kCfaMask; }
  // The caller's bp is saved this far below the CFA; 0: it is still in the register.
  constexpr uint64_t bp_bytes() const { return (bits_ >> kBpShift) & kBpMask; }
  constexpr uint64_t bits() const { return bits_; }

 private:
  // The kind is in bits 0-2.  The CFA's offset is in bits 3-19, where it needs no shift to be read
  // as bytes (up to 1 MiB).  The distance of bp is in bits 20-30 (words; up to 16 KiB).
  static constexpr uint64_t kKindMask = 0x7;
  static constexpr uint64_t kCfaMask = 0xffff8;
  static constexpr int kBpShift = 17;
  static constexpr uint64_t kBpMask = 0x3ff8;

  uint64_t bits_;
};

static_assert(FrameRule(FrameRule::kFromBp, 0xffff8, 0x3ff8).bits() < uint64_t{1}
                                                                          << FrameRule::kBits);

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CALLSTACK_FRAME_RULE_H_
