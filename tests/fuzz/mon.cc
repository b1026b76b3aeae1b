// mon.out: accepted input is written back as the same file, and is charged to functions.
#include "tests/fuzz/target.h"
#include "tools/prof/charge.h"
#include "tracker/formats/mon_file.h"

namespace allomon::fuzz {
namespace {

constexpr uint64_t kCode = 0x1000;

// The code of one program, so that ranges without a build id are charged.
std::vector<prof::Program> Programs() {
  prof::Program program;
  program.path = "/bin/x";
  program.code_low = kCode;
  program.code_high = 2 * kCode;
  program.functions = {{kCode, kCode + 0x40, "f", false},
                       {kCode + 0x40, kCode + 0x47, "g", true},
                       {kCode + 0x100, 2 * kCode, "h", false}};
  return {program};
}

bool CheckMon(std::string_view file) {
  std::vector<MonRange> ranges;
  std::string error;
  if (!ParseMon(file, &ranges, &error)) {
    RequireOneLine(error);
    return false;
  }
  Require(FormatMon(ranges) == file, "what was read is written as the same");
  static const std::vector<prof::Program>& programs = *new std::vector<prof::Program>(Programs());
  for (const bool statics : {false, true}) {
    prof::Charges charges;
    if (!prof::Charge(ranges, programs, statics, "mon.out", &charges, &error)) {
      RequireOneLine(error);
    }
  }
  return true;
}

}  // namespace

std::vector<std::string> Seeds() {
  MonRange range;
  range.low = kCode;
  range.high = kCode + 0x80;
  range.ticks = 12;
  range.other_ticks = 3;
  range.count_room = 4;
  range.counts = {{kCode, 2}, {kCode + 0x100, 7}};
  range.cells.assign(0x80 / range.cell_bytes, 0);
  range.cells[3] = 5;
  range.cells[16] = 7;
  MonRange other = range;
  other.low += 0x7f0000001000;
  other.high += 0x7f0000001000;
  other.bias = 0x7f0000001000;
  other.build_id = "0123456789abcdef";
  other.saturated = other.counts_lost = true;
  return {FormatMon({range}), FormatMon({range, other})};
}

}  // namespace allomon::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace allomon::fuzz;
  return Done(CheckMon(TextOf(data, size)));
}
