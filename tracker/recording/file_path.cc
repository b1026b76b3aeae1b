#include "tracker/recording/file_path.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

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

bool ExpandPath(const char* pattern, uint32_t process_id, bool is_child, FilePath* path) {
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
  return writer.Ends();
}

bool MakeAbsolute(const char* path, FilePath* absolute) {
  PathWriter writer(absolute);
  if (path[0] != '/') {
    FilePath directory;
    // The C library's getcwd() takes memory from malloc when it is asked to.
    if (syscall(SYS_getcwd, directory.text, sizeof(directory.text)) <= 0) return false;
    writer.AddText(directory.text);
    writer.Add('/');
  }
  writer.AddText(path);
  return writer.Ends();
}

}  // namespace allomon::recording
