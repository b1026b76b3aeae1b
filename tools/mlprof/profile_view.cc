#include "tools/mlprof/profile_view.h"

#include <utility>

namespace allomon::mlprof {
namespace {

// The sum is exact before it is rounded to double, unless it does not fit into MlmonInt.
double Sum(MlmonInt a, MlmonInt b) {
  MlmonInt sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return static_cast<double>(sum);
  return static_cast<double>(a) + static_cast<double>(b);
}

Mlmon Zeros(const Program& program) {
  Mlmon zeros;
  zeros.splits.resize(program.table.sources.size());
  zeros.masters.resize(program.table.names.size());
  return zeros;
}

class Selector {
 public:
  Selector(const ProfileView& view, const std::vector<bool>& kept)
      : view_(view),
        kept_(kept),
        source_count_(static_cast<uint32_t>(view.source_count())),
        function_of_name_(view.program().table.names.size(), Selection::kHidden) {}

  Selection Select() {
    AddNames();
    AddSplitSources();
    return selection_;
  }

 private:
  int32_t Add(uint32_t name, const MlmonCount& count) {
    selection_.functions.push_back({name, &count});
    return static_cast<int32_t>(selection_.functions.size() - 1);
  }

  void AddNames() {
    std::vector<bool> wanted(function_of_name_.size(), false);
    for (uint32_t source = 0; source < source_count_; ++source) {
      if (kept_[source] && !view_.IsSplit(source)) {
        wanted[view_.NameIndex(source)] = true;
      }
    }
    for (uint32_t name = 0; name < wanted.size(); ++name) {
      if (wanted[name]) {
        function_of_name_[name] = Add(name, view_.MasterCount(name));
      }
    }
  }

  // A source that is not split is shown as its name, even if only other sources of the name were
  // kept.
  void AddSplitSources() {
    for (uint32_t source = 0; source < source_count_; ++source) {
      const uint32_t name = view_.NameIndex(source);
      int32_t function = function_of_name_[name];
      if (view_.IsSplit(source)) {
        function = kept_[source] ? Add(name, view_.SplitCount(source)) : Selection::kHidden;
      }
      selection_.function_of_source.push_back(function);
    }
  }

  const ProfileView& view_;
  const std::vector<bool>& kept_;
  const uint32_t source_count_;
  std::vector<int32_t> function_of_name_;
  Selection selection_;
};

}  // namespace

ProfileView::ProfileView(const Program& program, std::optional<Mlmon> data)
    : program_(program),
      has_data_(data.has_value()),
      data_(data ? *std::move(data) : Zeros(program)),
      whole_(Sum(data_.total, data_.total_gc)) {}

const MlmonCount& ProfileView::CountOfSource(uint32_t source) const {
  return IsSplit(source) ? SplitCount(source) : MasterCount(NameIndex(source));
}

double ProfileView::Percent(MlmonInt count) const {
  return whole_ == 0 ? 0 : 100.0 * static_cast<double>(count) / whole_;
}

Selection Select(const ProfileView& view, const std::vector<bool>& kept) {
  return Selector(view, kept).Select();
}

}  // namespace allomon::mlprof
