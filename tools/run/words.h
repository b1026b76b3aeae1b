// Formats amounts for the lines of `allomon run`.
#ifndef ALLOMON_TOOLS_RUN_WORDS_H_
#define ALLOMON_TOOLS_RUN_WORDS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace allomon::run {

// "81.7 MiB".
std::string Bytes(double bytes);

// "12.3 s".
std::string Seconds(double seconds);

// "12,345".
std::string Number(uint64_t number);

// "1 process", "12,345 processes".
std::string Count(uint64_t number, const std::string& noun);

// Returns a list for people: "a, b and c".  After the third name it only counts the others.
std::string Listed(const std::vector<std::string>& names);

// ---- Lines of `allomon run` on standard error.

// Returns the line with the command before it.  Escapes names in it, which others chose, for the
// terminal.
std::string Message(const std::string& line);

void Say(const std::string& line);

}  // namespace allomon::run

#endif  // ALLOMON_TOOLS_RUN_WORDS_H_
