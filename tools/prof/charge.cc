#include "tools/prof/charge.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "tools/symbols/code_file.h"
#include "tracker/formats/include/mon.h"
#include "tracker/names/base_name.h"

namespace allomon::prof {
namespace {

bool Fail(std::string what, std::string* error) {
  *error = std::move(what);
  return false;
}

// Ranks several names of one address, so that every run takes the same: a global one, then the one
// with the longest extent, then the shortest name.
auto NameRank(const Function& f) {
  return std::make_tuple(f.begin, f.is_static, UINT64_MAX - f.end, f.name.size(),
                         std::string_view(f.name));
}

void SortFunctions(uint64_t code_high, std::vector<Function>* functions) {
  std::sort(functions->begin(), functions->end(),
            [](const Function& a, const Function& b) { return NameRank(a) < NameRank(b); });
  functions->erase(
      std::unique(functions->begin(), functions->end(),
                  [](const Function& a, const Function& b) { return a.begin == b.begin; }),
      functions->end());
  for (size_t i = 0; i < functions->size(); ++i) {
    Function& f = (*functions)[i];
    const uint64_t next = i + 1 < functions->size() ? (*functions)[i + 1].begin : code_high;
    // Functions in assembly may have no sizes.
    if (f.end == f.begin || f.end > next) f.end = next;
    f.name = Demangled(f.name);
  }
}

std::string UnnamedAt(const std::string& path, uint64_t begin) {
  char offset[24];
  snprintf(offset, sizeof(offset), "+0x%" PRIx64, begin);
  return BaseName(path) + offset;
}

// Adds unnamed functions from the unwind table, named by module and start.  A named function before
// one ends at its start.  A symbol without a size ends at the end of its entry in the unwind table.
void AddUnnamed(const std::string& path, const std::vector<UnwindRange>& ranges,
                std::vector<Function>* functions) {
  std::map<uint64_t, Function*> named;
  for (Function& f : *functions) {
    Function*& best = named[f.begin];
    if (best == nullptr || best->end < f.end) best = &f;
  }
  std::vector<Function> unnamed;
  for (const UnwindRange& range : ranges) {
    const auto above = named.upper_bound(range.begin);
    Function* const before = above == named.begin() ? nullptr : std::prev(above)->second;
    if (before != nullptr && before->begin == range.begin) {
      if (before->end == before->begin) before->end = range.end;
    } else if (before == nullptr || before->end <= range.begin) {
      unnamed.push_back({range.begin, range.end, UnnamedAt(path, range.begin), false});
    }
  }
  functions->insert(functions->end(), unnamed.begin(), unnamed.end());
}

bool HasCodeOf(const Program& program, const MonRange& range) {
  return range.low - range.bias < program.code_high && range.high - range.bias > program.code_low;
}

// Returns the programs that may have written the range.  Their build id is equal to its own, up to
// the bytes that a header has room for (both may be empty), and their code overlaps it.
std::vector<const Program*> FindPrograms(const std::vector<Program>& programs,
                                         const MonRange& range) {
  constexpr size_t kMostDigits = 2 * sizeof(hdr::id);
  std::vector<const Program*> found;
  for (const Program& program : programs) {
    const bool is_same = program.build_id.compare(0, kMostDigits, range.build_id) == 0;
    if (is_same && HasCodeOf(program, range)) found.push_back(&program);
  }
  return found;
}

std::string DescribeMismatch(const std::vector<Program>& programs, const MonRange& range,
                             const std::string& mon_file) {
  std::string message = mon_file + " is of another program than " + programs[0].path;
  if (!range.build_id.empty()) message += ": its build id is " + range.build_id;
  return message + "; name the program that wrote it, and the libraries that it sampled";
}

std::string DescribeAmbiguity(const std::vector<const Program*>& programs) {
  return programs[0]->path + " and " + programs[1]->path +
         " cannot be told apart: they have no build ids; link with -Wl,--build-id";
}

class Charger {
 public:
  Charger(const Program& program, bool statics, const MonRange& range, Charges* charges)
      : program_(program), statics_(statics), range_(range), charges_(charges) {}

  void Charge() {
    for (const Function& function : program_.functions) {
      if (InRange(function)) RowOf(&function);
    }
    for (size_t cell = 0; cell < range_.cells.size(); ++cell) {
      if (range_.cells[cell] != 0) ChargeCell(cell);
    }
    for (const MonCount& count : range_.counts) ChargeCalls(count);
  }

 private:
  bool InRange(const Function& function) const {
    return function.begin < range_.high - range_.bias && function.end > range_.low - range_.bias;
  }

  // Returns the function to which the code of `function` is charged; nullptr if it is not known.
  const Function* Answerable(const Function* function) const {
    while (!statics_ && function != nullptr && function->is_static) {
      function = function == program_.functions.data() ? nullptr : function - 1;
    }
    return function;
  }

  Row& RowOf(const Function* function) {
    const auto [it, is_new] = row_of_.try_emplace(Answerable(function), charges_->rows.size());
    if (is_new) charges_->rows.push_back({it->first, &program_, 0, std::nullopt});
    return charges_->rows[it->second];
  }

  // Finds the function that contains `address`, or the first one after it.
  std::vector<Function>::const_iterator FirstEndingAbove(uint64_t address) const {
    return std::partition_point(program_.functions.begin(), program_.functions.end(),
                                [address](const Function& f) { return f.end <= address; });
  }

  void ChargeCell(size_t cell) {
    const uint64_t begin = range_.low - range_.bias + cell * uint64_t{range_.cell_bytes};
    const bool is_last = cell + 1 == range_.cells.size();
    const uint64_t end = is_last ? range_.high - range_.bias : begin + range_.cell_bytes;
    const double seconds = static_cast<double>(range_.cells[cell]) / range_.hz;
    charges_->seconds += seconds;
    uint64_t known_bytes = 0;
    ForEachIn(begin, end, [&](const Function&, uint64_t bytes) { known_bytes += bytes; });
    if (known_bytes == 0) {
      RowOf(nullptr).seconds += seconds;
      return;
    }
    ForEachIn(begin, end, [&](const Function& function, uint64_t bytes) {
      RowOf(&function).seconds +=
          seconds * static_cast<double>(bytes) / static_cast<double>(known_bytes);
    });
  }

  // Calls visit(function, bytes) with the number of bytes of the range that lie in the function.
  template <typename Visit>
  void ForEachIn(uint64_t begin, uint64_t end, Visit visit) const {
    for (auto it = FirstEndingAbove(begin); it != program_.functions.end() && it->begin < end;
         ++it) {
      visit(*it, std::min(end, it->end) - std::max(begin, it->begin));
    }
  }

  void ChargeCalls(const MonCount& count) {
    const uint64_t address = count.address - range_.bias;
    const auto it = FirstEndingAbove(address);
    const bool known = it != program_.functions.end() && it->begin <= address;
    Row& row = RowOf(known ? &*it : nullptr);
    row.calls = row.calls.value_or(0) + MlmonInt{count.calls};
    charges_->calls += MlmonInt{count.calls};
  }

  const Program& program_;
  const bool statics_;
  const MonRange& range_;
  Charges* const charges_;
  std::map<const Function*, size_t> row_of_;
};

// Merges rows of one function, because two ranges of a program may meet in the middle of a
// function.
void MergeRows(std::vector<Row>* rows) {
  std::map<std::pair<const Program*, const Function*>, size_t> place;
  std::vector<Row> merged;
  for (const Row& row : *rows) {
    const auto [it, is_new] = place.try_emplace({row.program, row.function}, merged.size());
    if (is_new) {
      merged.push_back(row);
      continue;
    }
    Row& sum = merged[it->second];
    sum.seconds += row.seconds;
    if (row.calls) sum.calls = sum.calls.value_or(0) + *row.calls;
  }
  *rows = std::move(merged);
}

}  // namespace

bool ReadProgram(const std::string& path, Program* program, std::string* error) {
  const std::unique_ptr<CodeFile> file = CodeFile::Open(path, "");
  if (file == nullptr) {
    const bool readable = access(path.c_str(), R_OK) == 0;
    return Fail((readable ? path + " is not a 64-bit ELF file"
                          : "cannot read " + path + ": " + strerror(errno)) +
                    "; name the program that ran",
                error);
  }
  program->path = path;
  program->build_id = file->BuildId();
  program->code_low = file->CodeBegin();
  program->code_high = file->CodeEnd();
  if (program->code_high == 0) return Fail(path + " holds no code", error);
  for (CodeSymbol& symbol : file->Symbols()) {
    program->functions.push_back(
        {symbol.begin, symbol.end, std::move(symbol.symbol), symbol.is_local});
  }
  AddUnnamed(path, file->Ranges(), &program->functions);
  if (program->functions.empty()) {
    return Fail(path + " has neither symbols nor unwind tables; build it without stripping", error);
  }
  SortFunctions(program->code_high, &program->functions);
  return true;
}

bool Charge(const std::vector<MonRange>& ranges, const std::vector<Program>& programs, bool statics,
            const std::string& mon_file, Charges* charges, std::string* error) {
  for (const MonRange& range : ranges) {
    const std::vector<const Program*> found = FindPrograms(programs, range);
    if (found.empty()) return Fail(DescribeMismatch(programs, range, mon_file), error);
    if (found.size() > 1 && range.build_id.empty()) return Fail(DescribeAmbiguity(found), error);
    Charger(*found[0], statics, range, charges).Charge();
    charges->other_seconds += static_cast<double>(range.other_ticks) / range.hz;
  }
  MergeRows(&charges->rows);
  return true;
}

}  // namespace allomon::prof
