#include "tools/text/xml.h"

namespace allomon {
namespace {

void AppendEscaped(char c, std::string* out) {
  if (c == '&') {
    out->append("&amp;");
  } else if (c == '<') {
    out->append("&lt;");
  } else if (c == '>') {
    out->append("&gt;");
  } else if (c == '"') {
    out->append("&quot;");
  } else {
    const bool forbidden = static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t';
    out->push_back(forbidden ? '?' : c);
  }
}

}  // namespace

std::string XmlEscaped(std::string_view text) {
  std::string escaped;
  for (char c : text) AppendEscaped(c, &escaped);
  return escaped;
}

}  // namespace allomon
