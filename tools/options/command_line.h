// The command lines of all commands: --name, --name=value, --name value, and words that are no
// options.  A command is one value, which holds its table of options:
//
//   struct Options : options::Common { bool quiet = false; std::string out; std::string file; };
//   const options::Command<Options> command(
//       {"copy", "copy a file", {"[options] FILE"}, {"Copies FILE."}, options::Words::kFiles},
//       {{"", {{"-q, --quiet", "says nothing", &Options::quiet},
//              {"-o, --output", "FILE", "standard output", "the copy", &Options::out}}}},
//       AddFile, Check);
//   const absl::StatusOr<Options> options = command.Parse(args);
//
// Parsing, --help, man page and completion come from that table.  An error is one line that names
// the option and the remedy.  Pure functions.
#ifndef ALLOMON_TOOLS_OPTIONS_COMMAND_LINE_H_
#define ALLOMON_TOOLS_OPTIONS_COMMAND_LINE_H_

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/options/command_text.h"

namespace allomon::options {

// An option of a command line, for commands that know only later which options their files have a
// use for.
struct Given {
  std::string word;   // as it was typed: "--view=tree", or "--view" before its value
  std::string name;   // "--view"
  std::string value;  // "tree"
  unsigned inputs = 0;
};

// The options of every command are derived from this.
struct Common {
  bool help = false;
  bool version = false;
  std::vector<Given> given;
};

template <typename Options>
struct Option : OptionText {
  using Set = std::function<absl::Status(const std::string& value, Options* options)>;

  // Flags.  `all_names` are separated by commas.
  Option(const char* all_names, const char* meaning, bool Options::*flag)
      : Option(all_names, "", "", meaning, [flag](const std::string&, Options* options) {
          options->*flag = true;
          return absl::OkStatus();
        }) {}
  Option(const char* all_names, const char* meaning, absl::Status (*set_flag)(Options* options))
      : Option(all_names, "", "", meaning,
               [set_flag](const std::string&, Options* options) { return set_flag(options); }) {}

  // Options with values.  A text must not be empty.
  Option(const char* all_names, Argument takes, const char* value_without, const char* meaning,
         std::string Options::*text_of)
      : Option(all_names, std::move(takes), value_without, meaning,
               [text_of, name = LastName(all_names)](const std::string& value, Options* options) {
                 if (value.empty()) return absl::InvalidArgumentError(name + " needs a value");
                 options->*text_of = value;
                 return absl::OkStatus();
               }) {}
  Option(const char* all_names, Argument takes, const char* value_without, const char* meaning,
         Set set_value)
      : OptionText{SplitNames(all_names), std::move(takes), value_without, meaning, false},
        set(std::move(set_value)) {}

  Option Hidden() const {
    Option hidden = *this;
    hidden.is_hidden = true;
    return hidden;
  }

  Set set;

 private:
  static std::vector<std::string> SplitNames(const std::string& names) {
    std::vector<std::string> split;
    for (size_t from = 0; from <= names.size();) {
      const size_t end = std::min(names.find(", ", from), names.size());
      split.push_back(names.substr(from, end - from));
      from = end + 2;
    }
    return split;
  }
  static std::string LastName(const char* names) { return SplitNames(names).back(); }
};

template <typename Options>
std::vector<Option<Options>> operator+(std::vector<Option<Options>> list,
                                       const std::vector<Option<Options>>& more) {
  list.insert(list.end(), more.begin(), more.end());
  return list;
}

template <typename Options>
struct Group {
  std::string title;
  std::vector<Option<Options>> options;
  unsigned inputs = 0;  // as of GroupText
};

// An option that stands in a command line.
struct FoundOption {
  size_t group = 0;
  size_t option = 0;
  Given given;
};

// Reads a command line; the meaning of options is in the table.
struct Reader {
  std::function<absl::Status(const FoundOption& found)> set_option;
  std::function<absl::Status(const std::string& word)> add_word;
};
absl::Status ReadCommandLine(const std::vector<std::string>& args, const CommandText& command,
                             const Reader& reader);

template <typename Options>
class Command {
 public:
  using AddWord = absl::Status (*)(const std::string& word, Options* options);
  using Check = absl::Status (*)(const Options& options);

  // `check` sees options that are all valid by themselves, unless help or the version is asked for.
  Command(CommandText text, std::vector<Group<Options>> groups, AddWord add_word,
          Check check = nullptr)
      : text_(std::move(text)), groups_(std::move(groups)), add_word_(add_word), check_(check) {
    groups_.push_back({"",
                       {{"-h, --help", "shows this text",
                         [](Options* options) {
                           options->help = true;
                           return absl::OkStatus();
                         }},
                        {"--version", "shows the version", [](Options* options) {
                           options->version = true;
                           return absl::OkStatus();
                         }}}});
    for (const Group<Options>& group : groups_) {
      text_.groups.push_back({group.title, group.inputs, {}});
      for (const Option<Options>& option : group.options) {
        text_.groups.back().options.push_back(option);
      }
    }
  }

  const CommandText& Text() const { return text_; }

  absl::StatusOr<Options> Parse(const std::vector<std::string>& args) const {
    Options options;
    Reader reader;
    reader.set_option = [this, &options](const FoundOption& found) {
      options.given.push_back(found.given);
      return groups_[found.group].options[found.option].set(found.given.value, &options);
    };
    reader.add_word = [this, &options](const std::string& word) {
      return add_word_(word, &options);
    };
    absl::Status status = ReadCommandLine(args, text_, reader);
    const bool is_asked = options.help || options.version;
    if (status.ok() && !is_asked && check_ != nullptr) status = check_(options);
    if (!status.ok()) return status;
    return options;
  }

 private:
  CommandText text_;
  std::vector<Group<Options>> groups_;
  AddWord add_word_;
  Check check_;
};

}  // namespace allomon::options

#endif  // ALLOMON_TOOLS_OPTIONS_COMMAND_LINE_H_
