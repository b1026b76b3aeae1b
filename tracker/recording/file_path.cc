#include "tracker/recording/file_path.h"

#include <cstring>

#include "tracker/base/sys/raw_calls.h"

namespace allomon::recording {
namespace {

// Appends to a path as long as there is room.
class PathWriter {
 public:
  explicit PathWriter(FilePath* path) : path_(path) { path_->text[0] = '\0'; }

  void Add(char c) {
    fits_ = fits_ && length_ + 1 < sizeof(path_->text);
    if (!fits_) return;
    path_->text[length_++] = c;
    path_->text[length_] = '\0';
  }
  void AddText(const char* text) {
    while (*text != '\0') Add(*text++);
  }
  void AddNumber(uint32_t number) {
    if (number >= 10) AddNumber(number / 10);
    Add(static_cast<char>('0' + number % 10));
  }
  bool Ends() const { return fits_ && length_ > 0; }

 private:
  FilePath* const path_;
  size_t length_ = 0;
  bool fits_ = true;
};

}  // namespace

bool ExpandPath(const char* pattern, uint32_t process_id, bool is_child, uint32_t attempt,
                FilePath* path) {
  PathWriter writer(path);
  bool names_process = false;
  for (const char* at = pattern; *at != '\0'; ++at) {
    if (at[0] == '%' && at[1] == 'p') {
      writer.AddNumber(process_id);
      names_process = true;
      ++at;
      continue;
    }
    if (at[0] == '%' && at[1] == '%') ++at;
    writer.Add(*at);
  }
  if (is_child && !names_process) {
    writer.Add('.');
    writer.AddNumber(process_id);
  }
  if (attempt > 1) {
    writer.Add('.');
    writer.AddNumber(attempt);
  }
  return writer.Ends();
}

bool IsOfDescriptor(const FilePath& path) {
  constexpr char kBegin[] = "/proc/";
  constexpr char kMiddle[] = "/fd/";
  const char* at = path.text;
  if (strncmp(at, kBegin, sizeof(kBegin) - 1) != 0) return false;
  at = strchr(at + sizeof(kBegin) - 1, '/');
  return at != nullptr && strncmp(at, kMiddle, sizeof(kMiddle) - 1) == 0 &&
         strchr(at + sizeof(kMiddle) - 1, '/') == nullptr;
}

bool FreshPath(const FilePath& path, uint32_t thread_id, uint64_t nanos, FilePath* fresh) {
  PathWriter writer(fresh);
  writer.AddText(path.text);
  writer.Add('.');
  writer.AddNumber(thread_id);
  writer.Add('.');
  writer.AddNumber(static_cast<uint32_t>(nanos ^ nanos >> 32));
  writer.AddText(".new");
  return writer.Ends();
}

namespace {

// The kernel writes "(unreachable)" before the path of a directory outside of the root directory.
bool MakeAbsolute(const char* path, bool is_pattern, FilePath* absolute) {
  PathWriter writer(absolute);
  FilePath directory;
  if (path[0] != '/' && internal::sys::Getcwd(directory.text, sizeof(directory.text)) > 0 &&
      directory.text[0] == '/') {
    for (const char* at = directory.text; *at != '\0'; ++at) {
      if (is_pattern && *at == '%') writer.Add('%');
      writer.Add(*at);
    }
    writer.Add('/');
  }
  writer.AddText(path);
  return writer.Ends();
}

}  // namespace

bool MakeAbsolute(const char* path, FilePath* absolute) {
  return MakeAbsolute(path, false, absolute);
}

bool MakePatternAbsolute(const char* pattern, FilePath* absolute) {
  return MakeAbsolute(pattern, true, absolute);
}

}  // namespace allomon::recording
