#include "tracker/base/check.h"
#include "tracker/lua/describe.h"

namespace allomon::lua {
namespace {

using internal::ReadableMemory;

// The compiler makes a mark, an instruction and its line, at least this often.
constexpr int32_t kInstructionsPerMark = 128;
// The byte in the table of differences that stands for a mark.
constexpr int8_t kAtMark = -128;

struct Mark {
  int32_t index;
  int32_t line;
};

bool LoadMark(const Prototype& prototype, int32_t number, ObjectReader* reader, Mark* mark) {
  const uintptr_t address = prototype.line_marks + static_cast<uintptr_t>(number) * sizeof(Mark);
  return reader->Load(address, &mark->index) &&
         reader->Load(address + sizeof(mark->index), &mark->line);
}

// Finds the last mark at or before the instruction; without one, the function's beginning.
bool FindMark(const Prototype& prototype, int32_t index, ObjectReader* reader, Mark* found) {
  *found = {-1, prototype.first_line};
  int32_t number = index / kInstructionsPerMark - 1;
  if (number < 0) number = 0;
  for (; number < prototype.line_mark_count; ++number) {
    Mark mark;
    if (!LoadMark(prototype, number, reader, &mark)) return false;
    if (mark.index > index) break;
    *found = mark;
  }
  return found->index >= -1;
}

}  // namespace

bool LineOf(const Prototype& prototype, int32_t index, ObjectReader* reader, uint32_t* line) {
  *line = 0;
  if (prototype.lines == 0 || prototype.line_count == 0) return true;
  Mark mark;
  if (index >= prototype.line_count || !FindMark(prototype, index, reader, &mark)) return false;
  ALLOMON_DCHECK_LE("inv.lua.line", mark.index, index);
  const uintptr_t first = prototype.lines + static_cast<uintptr_t>(mark.index + 1);
  const auto count = static_cast<size_t>(index - mark.index);
  if (!reader->memory().Covers(first, count)) return false;
  int64_t sum = mark.line;
  for (size_t i = 0; i < count; ++i) {
    const auto difference = ReadableMemory::LoadCovered<int8_t>(first + i);
    if (difference == kAtMark) return false;
    sum += difference;
  }
  *line = sum > 0 && sum <= INT32_MAX ? static_cast<uint32_t>(sum) : 0;
  return true;
}

}  // namespace allomon::lua
