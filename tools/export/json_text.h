// Helpers for the text of JSON files.
#ifndef ALLOMON_TOOLS_EXPORT_JSON_TEXT_H_
#define ALLOMON_TOOLS_EXPORT_JSON_TEXT_H_

#include <nlohmann/json.hpp>
#include <string>

namespace allomon::interchange {

using Json = nlohmann::ordered_json;

// Returns one line.  Bytes that are not UTF-8 become U+FFFD.
inline std::string JsonText(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace allomon::interchange

#endif  // ALLOMON_TOOLS_EXPORT_JSON_TEXT_H_
