#include "tools/leaks/roots.h"

#include <algorithm>

#include "tools/text/amounts.h"
#include "tools/text/grid.h"
#include "tools/text/plain_text.h"
#include "tools/text/terminal.h"
#include "tracker/names/base_name.h"

namespace allomon::leaks {
namespace {

using explain::Use;

std::string BytesText(uint64_t bytes) {
  return report::Amount(ProfileKind::kAlloc, static_cast<MlmonInt>(bytes));
}

std::string CountText(uint64_t count) { return report::Exact(static_cast<MlmonInt>(count)); }

}  // namespace

std::string NameOfRoot(const explain::Mapping& mapping) {
  if (mapping.name == "[stack]") return "stack of the first thread";
  if (mapping.name == "[heap]") return "glibc's heap";
  if (mapping.name.empty()) return "anonymous mappings, with data that begins as zero";
  if (mapping.inode == 0) return "mapping " + mapping.name;
  return (mapping.is_shared ? "shared mapping " : "data of ") + BaseName(mapping.name);
}

std::string NameOfArea(Use use) {
  switch (use) {
    case Use::kGuard:
      return "guarded blocks";
    case Use::kManaged:
      return "managed heaps";
    case Use::kPython:
      return "arenas of Python's objects";
    case Use::kTables:
    case Use::kRecording:
      return "Allomon's tables and recording";
    case Use::kBackend:
    case Use::kFreePages:
      return "the allocator's own pages, and free ones";
    case Use::kBlocks:
    case Use::kLargeBlock:
    case Use::kSampledBlocks:
      break;
  }
  return "blocks of the heap: each is searched when it is reached";
}

void Roots::AddTo(std::vector<Row>* rows, const Row& row) {
  if (row.size_bytes == 0) return;
  for (Row& known : *rows) {
    if (known.what != row.what) continue;
    known.size_bytes += row.size_bytes;
    known.blocks += row.blocks;
    ++known.places;
    return;
  }
  rows->push_back(row);
}

void Roots::Add(const std::string& what, uint64_t size_bytes, uint64_t blocks) {
  AddTo(&searched_, {what, size_bytes, blocks, 1});
}

void Roots::AddUnsearched(const std::string& what, uint64_t size_bytes) {
  AddTo(&unsearched_, {what, size_bytes, 0, 1});
}

std::string Roots::Text() const {
  const Charset charset = report::ThisTerminal().charset;
  const auto text = [charset](std::vector<Row> rows, report::Grid grid) {
    std::stable_sort(rows.begin(), rows.end(),
                     [](const Row& a, const Row& b) { return a.size_bytes > b.size_bytes; });
    for (const Row& row : rows) {
      grid.rows.push_back(
          {{Printable(row.what, charset)}, {CountText(row.places)}, {BytesText(row.size_bytes)}});
      if (grid.columns.size() > 3) grid.rows.back().push_back({CountText(row.blocks)});
    }
    return FormatGrid(std::move(grid), 0, charset, false);
  };
  report::Grid searched, unsearched;
  searched.columns = {{"searched from the beginning", report::Column::Kind::kText},
                      {"places"},
                      {"bytes"},
                      {"blocks found"}};
  unsearched.columns = {{"not searched", report::Column::Kind::kText}, {"places"}, {"bytes"}};
  return text(searched_, std::move(searched)) + "\n" + text(unsearched_, std::move(unsearched));
}

}  // namespace allomon::leaks
