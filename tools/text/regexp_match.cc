#include <string_view>
#include <vector>

#include "tools/text/regexp.h"

namespace allomon::mlprof {
namespace {

// The anchors that a path through the program may still pass.  mlprof's automaton has a state for
// each anchor.  Such a state is entered from the start or before the end, never from the state of
// another anchor.  These three phases are equivalent.
enum Phase : uint32_t { kStart, kMiddle, kEnd, kPhases };

class Matcher {
 public:
  explicit Matcher(const Regexp::Program& program)
      : program_(program), seen_(program.size() * kPhases, 0) {}

  bool MatchesPrefix(std::string_view text) {
    todo_.push_back({0, kStart});
    for (size_t i = 0; i < text.size(); ++i) {
      if (Explore(false)) return true;
      if (consumers_.empty()) return false;
      Consume(text[i]);
    }
    return Explore(true);
  }

 private:
  using Op = Regexp::Instruction::Op;

  struct Place {
    int32_t index;
    Phase phase;
  };

  // Visits all instructions that can be reached without consuming a byte.  Instructions that wait
  // for a byte are left in consumers_.  True at a match.
  bool Explore(bool at_end) {
    consumers_.clear();
    while (!todo_.empty()) {
      Place place = todo_.back();
      todo_.pop_back();
      if (Seen(place)) continue;
      if (Follow(place, at_end)) return true;
    }
    return false;
  }

  // True if the instruction was visited in this step.  Without this check, `()*` would loop
  // forever.
  bool Seen(Place place) {
    uint32_t& seen = seen_[place.index * kPhases + place.phase];
    if (seen == step_) return true;
    seen = step_;
    return false;
  }

  bool Follow(Place place, bool at_end) {
    const Regexp::Instruction& instruction = program_[place.index];
    const int32_t target = place.index + instruction.jump;
    switch (instruction.op) {
      case Op::kMatch:
        return true;
      case Op::kSet:
        consumers_.push_back(place.index);
        break;
      case Op::kSplit:
        todo_.push_back({place.index + instruction.other, place.phase});
        todo_.push_back({target, place.phase});
        break;
      case Op::kJump:
        todo_.push_back({target, place.phase});
        break;
      case Op::kBegin:
        if (place.phase == kStart) todo_.push_back({place.index + 1, kMiddle});
        break;
      case Op::kEnd:
        if (at_end && place.phase != kEnd) {
          todo_.push_back({place.index + 1, kEnd});
        }
        break;
    }
    return false;
  }

  void Consume(char c) {
    ++step_;
    for (int32_t index : consumers_) {
      if (program_[index].set.test(static_cast<unsigned char>(c))) {
        todo_.push_back({index + 1, kMiddle});
      }
    }
  }

  const Regexp::Program& program_;
  std::vector<Place> todo_;
  std::vector<int32_t> consumers_;
  std::vector<uint32_t> seen_;  // by place: the last step that visited it
  uint32_t step_ = 1;
};

}  // namespace

bool Regexp::MatchesPrefix(std::string_view text) const {
  return Matcher(program_).MatchesPrefix(text);
}

}  // namespace allomon::mlprof
