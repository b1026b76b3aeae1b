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

}  // namespace allomon::mlprof
