#include <cstdint>
#include <optional>
#include <vector>

#include "tools/mlprof/keep.h"

namespace allomon::mlprof {
namespace {

using Op = KeepExpression::Op;
using SourceSet = std::vector<bool>;

// A range of sources in an array that the span does not own.
struct SourceSpan {
  const uint32_t* first;
  const uint32_t* last;
  const uint32_t* begin() const { return first; }
  const uint32_t* end() const { return last; }
};

// The sources that may call each source, in one array.  The callers of source i are
// callers_[start_[i]] .. callers_[start_[i + 1] - 1].
class Transpose {
 public:
  explicit Transpose(const ProfileView& view) : start_(view.source_count() + 1, 0) {
    const uint32_t count = static_cast<uint32_t>(view.source_count());
    for (uint32_t from = 0; from < count; ++from) {
      for (uint32_t to : view.Successors(from)) ++start_[to + 1];
    }
    for (uint32_t i = 0; i < count; ++i) start_[i + 1] += start_[i];
    callers_.resize(start_[count]);
    std::vector<size_t> next(start_);
    for (uint32_t from = 0; from < count; ++from) {
      for (uint32_t to : view.Successors(from)) callers_[next[to]++] = from;
    }
  }

  SourceSpan Callers(uint32_t source) const {
    return {callers_.data() + start_[source], callers_.data() + start_[source + 1]};
  }

 private:
  std::vector<size_t> start_;
  std::vector<uint32_t> callers_;
};

class Evaluator {
 public:
  explicit Evaluator(const ProfileView& view)
      : view_(view), count_(static_cast<uint32_t>(view.source_count())) {}

  SourceSet Evaluate(const KeepExpression& keep) {
    switch (keep.op) {
      case Op::kAll:
        return SourceSet(count_, true);
      case Op::kAnd:
        return Fold(keep, true);
      case Op::kOr:
        return Fold(keep, false);
      case Op::kNot:
        return Complement(Evaluate(keep.args[0]));
      case Op::kFrom:
        return Reach(Evaluate(keep.args[0]), Direction::kCallees);
      case Op::kTo:
        return Reach(Evaluate(keep.args[0]), Direction::kCallers);
      case Op::kPred:
        return Step(Evaluate(keep.args[0]), Direction::kCallers);
      case Op::kSucc:
        return Step(Evaluate(keep.args[0]), Direction::kCallees);
      case Op::kName:
        return Named(*keep.regexp);
      case Op::kThresh:
        return AtLeast(keep.percent, &MlmonCount::current);
      case Op::kThreshStack:
        return AtLeast(keep.percent, &MlmonCount::stack);
      case Op::kThreshGc:
        return AtLeast(keep.percent, &MlmonCount::stack_gc);
    }
    return SourceSet(count_, false);
  }

 private:
  // Combines the arguments of an operator.  If `all`, the result starts with every source, and each
  // argument removes sources.  Otherwise it starts empty, and each argument adds sources.
  SourceSet Fold(const KeepExpression& keep, bool all) {
    SourceSet result(count_, all);
    for (const KeepExpression& arg : keep.args) {
      const SourceSet operand = Evaluate(arg);
      for (uint32_t i = 0; i < count_; ++i) {
        if (operand[i] != all) result[i] = !all;
      }
    }
    return result;
  }

  static SourceSet Complement(SourceSet set) {
    set.flip();
    return set;
  }

  enum class Direction { kCallees, kCallers };

  SourceSpan Neighbours(uint32_t source, Direction direction) {
    if (direction == Direction::kCallees) {
      const std::vector<uint32_t>& callees = view_.Successors(source);
      return {callees.data(), callees.data() + callees.size()};
    }
    if (!transpose_) transpose_.emplace(view_);
    return transpose_->Callers(source);
  }

  std::vector<uint32_t> Members(const SourceSet& set) const {
    std::vector<uint32_t> members;
    for (uint32_t i = 0; i < count_; ++i) {
      if (set[i]) members.push_back(i);
    }
    return members;
  }

  SourceSet Reach(SourceSet set, Direction direction) {
    std::vector<uint32_t> todo = Members(set);
    while (!todo.empty()) {
      const uint32_t source = todo.back();
      todo.pop_back();
      for (uint32_t next : Neighbours(source, direction)) {
        if (!set[next]) todo.push_back(next);
        set[next] = true;
      }
    }
    return set;
  }

  SourceSet Step(SourceSet set, Direction direction) {
    for (uint32_t source : Members(set)) {
      for (uint32_t next : Neighbours(source, direction)) set[next] = true;
    }
    return set;
  }

  // Matches each name once, however many sources share it.
  SourceSet Named(const Regexp& regexp) const {
    std::vector<bool> matches;
    for (const SourceName& name : view_.program().table.names) {
      matches.push_back(regexp.MatchesPrefix(FullName(name)));
    }
    SourceSet result(count_, false);
    for (uint32_t i = 0; i < count_; ++i) {
      result[i] = matches[view_.NameIndex(i)];
    }
    return result;
  }

  SourceSet AtLeast(double percent, MlmonInt MlmonCount::*column) const {
    SourceSet result(count_, false);
    for (uint32_t i = 0; i < count_; ++i) {
      result[i] = view_.Percent(view_.CountOfSource(i).*column) >= percent;
    }
    return result;
  }

  const ProfileView& view_;
  const uint32_t count_;
  std::optional<Transpose> transpose_;
};

}  // namespace

std::vector<bool> KeptSources(const KeepExpression& keep, const ProfileView& view) {
  return Evaluator(view).Evaluate(keep);
}

}  // namespace allomon::mlprof
