// Packs of symbols.  A pack that is accepted has frames at each of its addresses, and its
// contents, written again, are a pack with the same contents.
#include "tests/fuzz/target.h"
#include "tools/symbols/symbol_pack.h"

namespace allomon::fuzz {
namespace {

// Returns the text of the pack's contents, as a pack of a pack is made.
std::string Repacked(const SymbolPack& pack) {
  SymbolPackWriter writer;
  for (const auto& [key, code] : pack.code()) {
    writer.AddCode(key, code.path, code.is_program, code.segments);
    for (const PackedAddress& address : code.addresses) {
      uint64_t start = 0;
      std::vector<CodeFrame> frames;
      const bool found = pack.FramesAt(code, address.address, code.path, &start, &frames);
      Require(found && !frames.empty(), "an address has frames", key);
      Require(start == address.start, "an address has the start of its function", key);
      writer.AddAddress(key, address.address, start, frames);
    }
  }
  return writer.Text();
}

bool CheckPack(std::string_view input) {
  SymbolPack pack;
  std::string why;
  if (!SymbolPack::Parse(input, &pack, &why)) {
    RequireOneLine(why);
    return false;
  }
  const std::string text = Repacked(pack);
  SymbolPack again;
  Require(SymbolPack::Parse(text, &again, &why), "what is written is read", why);
  Require(Repacked(again) == text, "a pack of a pack is the pack", text);
  return true;
}

}  // namespace

std::vector<std::string> Seeds() {
  SymbolPackWriter pack;
  pack.AddCode("build-id aa", "/b\tin\n\\x", true, {{0, 0x1000, 16, 32, true}});
  pack.AddAddress(
      "build-id aa", 0x20, 0x10,
      {{"f(\t)", "f\\.cc", 7, true, "_f\n", 3, 0, ""}, {"g", "g.h", 2, true, "", 1, 4, ""}});
  pack.AddAddress("build-id aa", 0x10, 0x10, {{"x+0x10", "", 0, false, "", 0, 0, ""}});
  pack.AddCode(PackKeyOfProcess(7, 8), "[generated]", false, {});
  pack.AddAddress(PackKeyOfProcess(7, 8), 0x30, 0x30, {{"js", "a.js", 1, true, "", 0, 12, ""}});
  return {pack.Text(), SymbolPackWriter().Text()};
}

}  // namespace allomon::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace allomon::fuzz;
  return Done(CheckPack(TextOf(data, size)));
}
