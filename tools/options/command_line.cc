#include "tools/options/command_line.h"

#include <algorithm>

#include "tools/options/choices.h"

namespace allomon::options {
namespace {

// "-" alone is standard input.
bool IsOption(const std::string& word) { return word.size() > 1 && word[0] == '-'; }

absl::Status Unknown(const std::string& word, const CommandText& command) {
  std::vector<std::string> names;
  for (const GroupText& group : command.groups) {
    for (const OptionText& option : group.options) {
      if (!option.is_hidden) names.insert(names.end(), option.names.begin(), option.names.end());
    }
  }
  const std::string nearest = Nearest(word.substr(0, word.find('=')), names);
  const std::string question = nearest.empty() ? "" : "did you mean " + nearest + "? ";
  return absl::InvalidArgumentError("unknown option " + word + "; " + question +
                                    "--help lists them");
}

class Parser {
 public:
  Parser(const std::vector<std::string>& args, const CommandText& command, const Reader& reader)
      : args_(args), command_(command), reader_(reader) {}

  absl::Status Parse() {
    while (at_ < args_.size()) {
      const std::string& word = args_[at_];
      if (word == "--") {
        ++at_;
        return AddRest();
      }
      if (!IsOption(word) && command_.words == Words::kProgram) return AddRest();
      ++at_;
      const absl::Status status = IsOption(word) ? SetOption(word) : reader_.add_word(word);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

 private:
  absl::Status AddRest() {
    for (; at_ < args_.size(); ++at_) {
      const absl::Status status = reader_.add_word(args_[at_]);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  // Fills in the place of the option in the table.
  const OptionText* Find(const std::string& name, FoundOption* found) const {
    for (size_t group = 0; group < command_.groups.size(); ++group) {
      const std::vector<OptionText>& options = command_.groups[group].options;
      for (size_t option = 0; option < options.size(); ++option) {
        const std::vector<std::string>& names = options[option].names;
        if (std::find(names.begin(), names.end(), name) == names.end()) continue;
        found->group = group;
        found->option = option;
        return &options[option];
      }
    }
    return nullptr;
  }

  absl::Status SetOption(const std::string& word) {
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    FoundOption found;
    const OptionText* const option = Find(name, &found);
    if (option == nullptr) return Unknown(word, command_);
    found.given = {word, name, "", command_.groups[found.group].inputs};
    if (option->argument.name.empty()) {
      if (equals != std::string::npos) {
        return absl::InvalidArgumentError(name + " takes no value, as in " + word);
      }
    } else if (equals != std::string::npos) {
      found.given.value = word.substr(equals + 1);
    } else if (option->argument.is_optional) {
      found.given.value.clear();
    } else if (at_ == args_.size()) {
      return absl::InvalidArgumentError(name + " needs a value");
    } else {
      found.given.value = args_[at_++];
    }
    return reader_.set_option(found);
  }

  const std::vector<std::string>& args_;
  const CommandText& command_;
  const Reader& reader_;
  size_t at_ = 0;
};

}  // namespace

absl::Status ReadCommandLine(const std::vector<std::string>& args, const CommandText& command,
                             const Reader& reader) {
  return Parser(args, command, reader).Parse();
}

}  // namespace allomon::options
