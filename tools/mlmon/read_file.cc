#include "tools/mlmon/read_file.h"

#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace allomon::mlprof {
namespace {

// Returns Standard ML's name of an error: ENOENT is noent.
std::string SmlErrorName(int error) {
  const char* name = strerrorname_np(error);
  std::string sml_name = name == nullptr ? "?" : name + 1;
  for (char& c : sml_name) c = static_cast<char>(tolower(c));
  return sml_name;
}

std::string IoError(const std::string& path, const ReadFailure& failure) {
  return std::string("Io: ") + failure.operation + " \"" + path +
         "\" failed with SysErr: " + strerror(failure.error) + " [" + SmlErrorName(failure.error) +
         "]";
}

struct FileCloser {
  void operator()(FILE* file) const { fclose(file); }
};

}  // namespace

bool ReadFile(const std::string& path, std::string* contents, std::string* error) {
  ReadFailure failure;
  if (ReadFile(path, contents, &failure)) return true;
  *error = IoError(path, failure);
  return false;
}

bool ReadFile(const std::string& path, std::string* contents, ReadFailure* failure) {
  std::unique_ptr<FILE, FileCloser> file(fopen(path.c_str(), "rbe"));
  if (file == nullptr) {
    *failure = {"openIn", errno};
    return false;
  }
  contents->clear();
  char buffer[1 << 16];
  while (size_t got = fread(buffer, 1, sizeof buffer, file.get())) {
    contents->append(buffer, got);
  }
  if (ferror(file.get()) == 0) return true;
  *failure = {"inputLine", errno};
  return false;
}

}  // namespace allomon::mlprof
