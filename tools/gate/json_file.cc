#include "tools/gate/json_file.h"

#include <algorithm>
#include <cstring>

#include "tools/mlmon/read_file.h"

namespace allomon::gate {

absl::Status FileError(const std::string& path, const std::string& what) {
  return absl::InvalidArgumentError(path + ": " + what);
}

absl::StatusOr<Json> ReadJson(const std::string& path) {
  std::string text;
  mlprof::ReadFailure failure;
  if (!mlprof::ReadFile(path, &text, &failure)) {
    return FileError(path, std::string("cannot be read: ") + std::strerror(failure.error));
  }
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    const size_t at = std::min(error.byte, text.size());
    const auto line = 1 + std::count(text.begin(), text.begin() + at, '\n');
    return FileError(path + ":" + std::to_string(line), "not JSON, or cut short");
  } catch (const Json::exception&) {
    return FileError(path, "a number in it is too large");
  }
}

absl::StatusOr<std::optional<double>> NumberAt(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return std::optional<double>();
  if (!found->is_number()) return absl::InvalidArgumentError(std::string(key) + " is no number");
  return std::optional<double>(found->get<double>());
}

std::string StringAt(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace allomon::gate
