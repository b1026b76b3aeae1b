#include "tools/serve/symbols.h"

#include <charconv>
#include <cstdio>
#include <unordered_map>

#include "tools/text/plain_text.h"

namespace allomon::serve {
namespace {

bool ParseAddress(std::string_view text, uint64_t* address) {
  constexpr int kHexadecimal = 16;
  if (text.substr(0, 2) != "0x") return false;
  text.remove_prefix(2);
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, *address, kHexadecimal);
  return error == std::errc() && rest == end;
}

using Names = std::unordered_map<uint64_t, std::string>;

Names NamesOf(const heap::HeapProfile& profile) {
  Names names;
  for (const heap::Location& location : profile.locations) {
    if (location.address == 0 || location.lines.empty()) continue;
    const uint32_t function = location.lines.back().function;  // skips functions inlined there
    if (function < profile.functions.size()) {
      names[location.address] = profile.functions[function].name;
    }
  }
  return names;
}

}  // namespace

std::vector<uint64_t> AddressesOf(std::string_view text) {
  std::vector<uint64_t> addresses;
  while (!text.empty()) {
    const size_t length = std::min(text.find('+'), text.size());
    uint64_t address = 0;
    if (ParseAddress(text.substr(0, length), &address)) addresses.push_back(address);
    text.remove_prefix(std::min(length + 1, text.size()));
  }
  return addresses;
}

std::string SymbolText(const heap::HeapProfile& profile, const std::vector<uint64_t>& addresses) {
  const Names names = NamesOf(profile);
  std::string text = "num_symbols: 1\n";
  for (const uint64_t address : addresses) {
    const auto found = names.find(address);
    if (found == names.end()) continue;
    char number[32];
    snprintf(number, sizeof number, "0x%llx ", static_cast<unsigned long long>(address));
    text += number + Printable(found->second, Charset::kUtf8) + "\n";
  }
  return text;
}

}  // namespace allomon::serve
