// A command of `allomon` as people read it: its words, its options, the status that it ends with.
// Help, man pages and the completions of shells are made of this value and of nothing else.
//
// Texts are ASCII and hold whole sentences.  Widths and line breaks are the writers'.
#ifndef ALLOMON_TOOLS_OPTIONS_COMMAND_TEXT_H_
#define ALLOMON_TOOLS_OPTIONS_COMMAND_TEXT_H_

#include <string>
#include <utility>
#include <vector>

namespace allomon {

// The result of a command of `allomon`, for its process to print and to exit with.
struct CommandResult {
  int status = 0;   // the exit status of the process
  std::string out;  // for standard output
  std::string err;  // for standard error, in whole lines
};

}  // namespace allomon

namespace allomon::options {

// A word and its meaning, which may be empty.
struct Term {
  std::string word;
  std::string text;
};

// The value that an option takes.  Shells complete FILE and DIR with paths.
struct Argument {
  Argument(const char* shown) : name(shown) {}             // NOLINT: a table's cell
  Argument(std::string shown) : name(std::move(shown)) {}  // NOLINT: a table's cell
  Argument(std::string shown, std::vector<Term> words)
      : name(std::move(shown)), choices(std::move(words)) {}
  // "--name=VALUE", and "--name" with the value "".
  static Argument Optional(std::string shown) {
    Argument argument(std::move(shown));
    argument.is_optional = true;
    return argument;
  }

  std::string name;           // "FILE", "alloc|live|peak"; empty: the option takes none
  std::vector<Term> choices;  // empty: values are not words of a list
  bool is_optional = false;
};

struct OptionText {
  std::vector<std::string> names;  // the long one last: "-o", "--output"
  Argument argument = "";
  std::string preset;  // the value without the option; empty: nothing to say
  std::string text;
  bool is_hidden = false;  // an old name, which works and is not shown
};

// Options that have something in common.
struct GroupText {
  std::string title;
  unsigned inputs = 0;  // the kinds of files that have a use for them, as bits; 0: all kinds
  std::vector<OptionText> options;
};

// What the words are that are no options.
enum class Words { kNone, kFiles, kProcess, kProgram, kCommand };

struct CommandText {
  std::string name;
  std::string summary;                   // a phrase without a full stop
  std::vector<std::string> usages;       // without "allomon NAME"
  std::vector<std::string> description;  // paragraphs
  Words words = Words::kNone;
  std::vector<Term> terms;  // words of the command line or pages of a server
  std::vector<GroupText> groups;
  std::vector<Term> statuses;
  std::vector<Term> examples;  // a command line, and its use
  std::string manual;          // a path in the source tree
};

// All commands.
struct ProgramText {
  std::string name;
  std::string summary;
  std::vector<std::string> description;
  std::vector<const CommandText*> commands;

  const CommandText* Find(const std::string& name_of_command) const {
    for (const CommandText* command : commands) {
      if (command->name == name_of_command) return command;
    }
    return nullptr;
  }
};

// The option of that name, or nullptr.
const OptionText* FindOption(const CommandText& command, const std::string& name);

// "-o FILE, --output=FILE".
std::string Shown(const OptionText& option);

// The text and the preset.
std::string Explained(const OptionText& option);

}  // namespace allomon::options

#endif  // ALLOMON_TOOLS_OPTIONS_COMMAND_TEXT_H_
