#ifndef ALLOMON_TOOLS_TEXT_XML_H_
#define ALLOMON_TOOLS_TEXT_XML_H_

#include <string>
#include <string_view>

namespace allomon {

// `text` as the content of an element or of an attribute between double quotes.  Control
// characters, which have no place in XML at all, become question marks, except newlines and
// tabs.
std::string XmlEscaped(std::string_view text);

}  // namespace allomon

#endif  // ALLOMON_TOOLS_TEXT_XML_H_
