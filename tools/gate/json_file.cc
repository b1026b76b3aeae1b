#include "tools/gate/json_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace allomon::gate {
namespace {

struct FileCloser {
  void operator()(FILE* file) const { fclose(file); }
};

}  // namespace

absl::Status FileError(const std::string& path, const std::string& what) {
  return absl::InvalidArgumentError(path + ": " + what);
}

absl::StatusOr<Json> ReadJson(const std::string& path) {
  const std::unique_ptr<FILE, FileCloser> file(fopen(path.c_str(), "rbe"));
  std::string text;
  char buffer[1 << 16];
  while (size_t got = file == nullptr ? 0 : fread(buffer, 1, sizeof buffer, file.get())) {
    text.append(buffer, got);
  }
  if (file == nullptr || ferror(file.get()) != 0) {
    return FileError(path, std::string("cannot be read: ") + std::strerror(errno));
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
