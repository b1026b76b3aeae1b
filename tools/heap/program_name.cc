#include "tools/heap/program_name.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "tracker/names/base_name.h"

namespace allomon::heap {
namespace {

constexpr std::string_view kInterpreters[] = {"bash", "dash", "lua",  "luajit", "node", "nodejs",
                                              "perl", "php",  "pypy", "python", "ruby", "sh"};
// Options that take the next word.
constexpr std::string_view kWithValue[] = {"--require", "-I", "-W", "-X", "-r"};
// What follows is the program itself.
constexpr std::string_view kWithCode[] = {"-c", "-e", "--eval"};
constexpr std::string_view kModule = "-m";  // python's

template <size_t kSize>
bool IsOneOf(std::string_view word, const std::string_view (&words)[kSize]) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

// "python3.11" is python.
bool IsInterpreter(std::string_view executable) {
  const std::string_view name = BaseName(executable);
  const size_t end = name.find_last_not_of("0123456789.");
  return end != std::string_view::npos && IsOneOf(name.substr(0, end + 1), kInterpreters);
}

std::vector<std::string_view> WordsOf(std::string_view command) {
  std::vector<std::string_view> words;
  for (size_t at = 0; at < command.size();) {
    const size_t end = std::min(command.find(' ', at), command.size());
    if (end > at) words.push_back(command.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

// Empty: there is none.
std::string_view ScriptOf(const std::vector<std::string_view>& words) {
  for (size_t i = 1; i < words.size(); ++i) {
    if (IsOneOf(words[i], kWithCode)) return "";
    if (words[i] == kModule) return i + 1 < words.size() ? words[i + 1] : "";
    if (IsOneOf(words[i], kWithValue)) {
      ++i;
    } else if (words[i][0] != '-') {
      return BaseName(words[i]);
    }
  }
  return "";
}

}  // namespace

std::string ProgramName(std::string_view executable, std::string_view command) {
  const std::vector<std::string_view> words = WordsOf(command);
  if (words.empty()) return std::string(BaseName(executable));
  if (IsInterpreter(executable)) {
    const std::string_view script = ScriptOf(words);
    if (!script.empty()) return std::string(script);
  }
  std::string_view name = words[0];
  if (name[0] == '-') name.remove_prefix(1);  // a login shell's
  name = BaseName(name);
  if (!name.empty() && name.back() == ':') name.remove_suffix(1);  // "nginx: worker"
  return std::string(name.empty() ? BaseName(executable) : name);
}

}  // namespace allomon::heap
