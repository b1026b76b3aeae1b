// Reads JSON from a file, with errors for people.
#ifndef ALLOMON_TOOLS_GATE_JSON_FILE_H_
#define ALLOMON_TOOLS_GATE_JSON_FILE_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace allomon::gate {

using Json = nlohmann::ordered_json;

// Fails with "<path>: cannot be read: <why>" or "<path>:<line>: not JSON, or cut short".
absl::StatusOr<Json> ReadJson(const std::string& path);

// Returns an error about a file's contents: one line, "<path>: <what>".
absl::Status FileError(const std::string& path, const std::string& what);

// Returns the number at `key` of an object: nullopt if the key is absent, an error if the value is
// not a number.
absl::StatusOr<std::optional<double>> NumberAt(const Json& object, const char* key);

// Returns the string at `key`; "" if the key is absent.
std::string StringAt(const Json& object, const char* key);

}  // namespace allomon::gate

#endif  // ALLOMON_TOOLS_GATE_JSON_FILE_H_
