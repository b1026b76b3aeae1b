#include "tools/prof/to_mlmon.h"

#include <cmath>
#include <cstdio>
#include <utility>

#include "tracker/formats/mlmon.h"
#include "tracker/formats/source_table.h"
#include "tracker/formats/write_file.h"
#include "tracker/names/base_name.h"

namespace allomon::prof {
namespace {

std::string PositionOf(const Row& row) {
  if (row.function == nullptr) return "";
  char offset[32];
  snprintf(offset, sizeof(offset), ": 0x%lx", static_cast<unsigned long>(row.function->begin));
  return BaseName(row.program->path) + offset;
}

// Functions are charged with parts of ticks.  The sums are rounded, and each function takes the
// difference of two of them, so that the parts add up to the rounded whole.
class Rounder {
 public:
  MlmonInt Next(double amount) {
    sum_ += amount;
    const auto whole = static_cast<int64_t>(std::llround(sum_));
    return whole - std::exchange(given_, whole);
  }

 private:
  double sum_ = 0;
  int64_t given_ = 0;
};

}  // namespace

bool WriteMlmon(const Charges& charges, bool counts, const std::string& path, std::string* error) {
  SourceTable table = FixedSourceTable();
  Mlmon mlmon;
  mlmon.kind = counts ? ProfileKind::kCount : ProfileKind::kTime;
  mlmon.splits.resize(table.sources.size());
  Rounder ticks;
  for (const Row& row : charges.rows) {
    const MlmonInt amount =
        counts ? static_cast<MlmonInt>(row.calls.value_or(0)) : ticks.Next(row.seconds * 100);
    mlmon.total += amount;
    if (row.function == nullptr) {
      mlmon.splits[kUnknownSource].current += amount;
      continue;
    }
    table.sources.push_back({static_cast<uint32_t>(table.names.size()), kNoSuccessors});
    table.names.push_back({SanitizedName(row.function->name), SanitizedPosition(PositionOf(row))});
    mlmon.splits.push_back({amount, 0, 0});
  }
  mlmon.masters = mlmon.splits;  // every function is one source with one name
  table.magic = ContentMagic(table);
  mlmon.magic = table.magic;
  const std::string stub = FormatSourcesStub(table);
  const std::string file = FormatMlmon(mlmon);
  return WriteFilesAtomically({{path + ".sources", stub, 0700}, {path, file, kPrivateMode}}, error);
}

}  // namespace allomon::prof
