#ifndef ALLOMON_TOOLS_TEXT_XML_H_
#define ALLOMON_TOOLS_TEXT_XML_H_

#include <string>
#include <string_view>

namespace allomon {

// Returns `text` as the content of an element, or of an attribute between double quotes.  Control
// characters other than newlines and tabs, which XML cannot express, become question marks.
std::string XmlEscaped(std::string_view text);

}  // namespace allomon

#endif  // ALLOMON_TOOLS_TEXT_XML_H_
