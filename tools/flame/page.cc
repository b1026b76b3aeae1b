#include "tools/flame/page.h"

#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "tools/pprof/gzip.h"
#include "tools/text/plain_text.h"

namespace allomon::flame {
namespace {

using Fillings = std::vector<std::pair<std::string_view, std::string>>;

const std::string* FillingOf(std::string_view name, const Fillings& fillings) {
  for (const auto& filling : fillings) {
    if (filling.first == name) return &filling.second;
  }
  return nullptr;
}

// Replaces each {{name}} in the frame once, from left to right.  Text that was filled in is not
// searched again.
std::string Filled(std::string_view frame, const Fillings& fillings) {
  std::string page;
  while (true) {
    const size_t begin = frame.find("{{"), end = frame.find("}}");
    if (begin == std::string_view::npos || end == std::string_view::npos) break;
    page.append(frame.substr(0, begin));
    const std::string* const filling =
        FillingOf(frame.substr(begin + 2, end - begin - 2), fillings);
    if (filling != nullptr) page.append(*filling);
    frame.remove_prefix(end + 2);
  }
  return page.append(frame);
}

}  // namespace

std::string HtmlPage(std::string_view title, std::string_view json) {
  return Filled(kHtml, {{"title", XmlEscaped(Printable(title, Charset::kUtf8))},
                        {"style", kStyle},
                        {"script", kScript},
                        {"style-hash", kStyleHash},
                        {"script-hash", kScriptHash},
                        {"data", absl::Base64Escape(pprof::Gzip(json))}});
}

}  // namespace allomon::flame
