#include "runtime/internal/snapshot/snapshot_text.h"

namespace allomon::gc::internal {

void SnapshotText::AddQuoted(std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  Add("\"");
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20) {
      const char escape[] = {'\\', 'u', '0', '0', kHex[byte >> 4], kHex[byte & 15]};
      Add({escape, sizeof(escape)});
    } else {
      if (c == '"' || c == '\\') Add("\\");
      Add({&c, 1});
    }
  }
  Add("\"");
}

}  // namespace allomon::gc::internal
