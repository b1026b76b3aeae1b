#include <functional>

#include "tools/options/documents.h"

namespace allomon::options {
namespace {

bool IsLong(const std::string& name) { return name.compare(0, 2, "--") == 0; }
// A value that may be left out is no word of its own.
bool HasValue(const OptionText& option) {
  return !option.argument.name.empty() && !option.argument.is_optional;
}
bool IsPath(const OptionText& option) { return option.argument.name == "FILE"; }
bool IsFolder(const OptionText& option) { return option.argument.name == "DIR"; }

void ForEachOption(const CommandText& command,
                   const std::function<void(const OptionText& option)>& call) {
  for (const GroupText& group : command.groups) {
    for (const OptionText& option : group.options) {
      if (!option.is_hidden) call(option);
    }
  }
}

std::string Joined(const std::vector<Term>& words) {
  std::string joined;
  for (const Term& word : words) joined += (joined.empty() ? "" : " ") + word.word;
  return joined;
}

std::string CommandNames(const ProgramText& program) {
  std::string names;
  for (const CommandText* command : program.commands) {
    names += (names.empty() ? "" : " ") + command->name;
  }
  return names;
}

// The words that a command's own words may be.
std::string TermsOf(const CommandText& command, const ProgramText& program) {
  if (command.words == Words::kCommand) return CommandNames(program);
  std::string words;
  if (command.words != Words::kProcess) return words;
  for (const Term& term : command.terms) {
    words += (words.empty() ? "" : " ") + term.word.substr(0, term.word.find(' '));
  }
  return words;
}

// A text in single quotes, for any of the shells.
std::string Quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

// The first sentence of a text: a list of completions has short lines.
std::string Brief(const OptionText& option) {
  const size_t end = option.text.find(".  ");
  std::string brief = option.text.substr(0, end);
  if (!brief.empty() && brief.back() == '.') brief.pop_back();
  return brief;
}

// --- bash

// The cases that complete the value of an option: "  'report --metric') words='a b' ;;".
std::string BashValues(const CommandText& command) {
  std::string cases;
  ForEachOption(command, [&](const OptionText& option) {
    if (!HasValue(option)) return;
    cases += "    ";
    for (const std::string& name : option.names) {
      cases += (&name == &option.names.front() ? "" : "|") + Quoted(command.name + " " + name);
    }
    cases += ") ";
    if (!option.argument.choices.empty()) {
      cases += "words=" + Quoted(Joined(option.argument.choices));
    } else {
      cases += IsPath(option) ? "files=-f" : IsFolder(option) ? "files=-d" : ":";
    }
    cases += " ;;\n";
  });
  return cases;
}

std::string BashOptions(const CommandText& command, const ProgramText& program) {
  std::string words;
  ForEachOption(command, [&words](const OptionText& option) {
    for (const std::string& name : option.names) {
      words += (words.empty() ? "" : " ") + name + (HasValue(option) && IsLong(name) ? "=" : "");
    }
  });
  std::string files = command.words == Words::kFiles ? "files=-f" : "";
  if (command.words == Words::kProgram) files = "files=-cf";
  const std::string terms = TermsOf(command, program);
  return "    " + command.name + ") options=" + Quoted(words) +
         (terms.empty() ? "" : " words=" + Quoted(terms)) + (files.empty() ? "" : " " + files) +
         " ;;\n";
}

// The shell splits --name=value at the sign, which is a word of its own then.
constexpr char kBashWords[] = R"(() {
  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
  local command=${COMP_WORDS[1]} options='' words='' files='' at=''
  COMPREPLY=()
  if [[ $current == = ]]; then
    current=''
  elif [[ $before == = ]]; then
    before=${COMP_WORDS[COMP_CWORD-2]}
  fi
  case "$command $before" in
)";
constexpr char kBashReply[] = R"(  if [[ $at && $current == -* ]]; then words=$options files=''; fi
  if [[ $words ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  elif [[ $files ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen "$files" -- "$current")
  fi
  if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]]; then
    compopt -o nospace 2>/dev/null
  fi
}
)";

std::string Bash(const ProgramText& program) {
  const std::string function = "_" + program.name;
  std::string text = "# Completion of " + program.name + " in bash.  Written by " + program.name +
                     " help --completion=bash.\n" + function + kBashWords;
  for (const CommandText* command : program.commands) text += BashValues(*command);
  text += "    *) at=words ;;\n  esac\n  case ${at:+$command} in\n";
  for (const CommandText* command : program.commands) text += BashOptions(*command, program);
  text += "  esac\n  if ((COMP_CWORD == 1)); then words=" +
          Quoted(CommandNames(program) + " --help --version") + " at=''; fi\n" + kBashReply;
  return text + "complete -F " + function + " " + program.name + "\n";
}

// --- zsh

// A text inside of a specification of _arguments.
std::string ZshText(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string ZshValue(const OptionText& option) {
  if (!HasValue(option)) return "";
  const std::vector<Term>& choices = option.argument.choices;
  if (!choices.empty()) return ":value:(" + Joined(choices) + ")";
  return ":" + ZshText(option.argument.name) +
         (IsPath(option)     ? ":_files"
          : IsFolder(option) ? ":_files -/"
                             : ": ");
}

std::string ZshSpecs(const CommandText& command, const ProgramText& program) {
  std::string specs;
  ForEachOption(command, [&specs](const OptionText& option) {
    std::string all;
    for (const std::string& name : option.names) all += (all.empty() ? "" : " ") + name;
    for (const std::string& name : option.names) {
      const std::string sign = HasValue(option) ? (IsLong(name) ? "=" : "+") : "";
      specs += " \\\n        " +
               Quoted("*" + name + sign + "[" + ZshText(Brief(option)) + "]" + ZshValue(option));
    }
  });
  const std::string terms = TermsOf(command, program);
  if (command.words == Words::kFiles) specs += " \\\n        '*:file:_files'";
  if (command.words == Words::kProgram) {
    specs += " \\\n        '(-)1:program:_command_names -e' '*::arguments:_normal'";
  }
  if (command.words == Words::kCommand) specs += " \\\n        '1:command:(" + terms + ")'";
  if (command.words == Words::kProcess) {
    specs += " \\\n        '1:process:_pids'";
    if (!terms.empty()) specs += " '*:word:(" + terms + ")'";
  }
  return specs;
}

std::string Zsh(const ProgramText& program) {
  std::string text = "#compdef " + program.name + "\n# Completion of " + program.name +
                     " in zsh.  Written by " + program.name + " help --completion=zsh.\n_" +
                     program.name + "() {\n  local -a commands\n  commands=(\n";
  for (const CommandText* command : program.commands) {
    text += "    " + Quoted(command->name + ":" + ZshText(command->summary)) + "\n";
  }
  text +=
      "  )\n"
      "  if (( CURRENT == 2 )); then\n"
      "    _describe command commands\n"
      "    return\n"
      "  fi\n"
      "  shift words\n"
      "  (( CURRENT-- ))\n"
      "  case $words[1] in\n";
  for (const CommandText* command : program.commands) {
    text += "    " + command->name + ")\n      _arguments -S" + ZshSpecs(*command, program) +
            "\n      ;;\n";
  }
  text += "  esac\n}\n";
  return text + "_" + program.name + " \"$@\"\n";
}

// --- fish

std::string FishOption(const std::string& start, const OptionText& option) {
  std::string line = start;
  for (const std::string& name : option.names) {
    line += IsLong(name) ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  if (HasValue(option)) {
    if (IsPath(option)) {
      line += " -rF";
    } else if (IsFolder(option)) {
      line += " -xa '(__fish_complete_directories)'";
    } else {
      line += " -x";
      if (!option.argument.choices.empty()) {
        line += " -a " + Quoted(Joined(option.argument.choices));
      }
    }
  }
  return line + " -d " + Quoted(Brief(option)) + "\n";
}

std::string Fish(const ProgramText& program) {
  std::string text = "# Completion of " + program.name + " in fish.  Written by " + program.name +
                     " help --completion=fish.\n";
  const std::string complete = "complete -c " + program.name;
  for (const CommandText* command : program.commands) {
    text += complete + " -n __fish_use_subcommand -f -a " + command->name + " -d " +
            Quoted(command->summary) + "\n";
  }
  for (const CommandText* command : program.commands) {
    const std::string start = complete + " -n '__fish_seen_subcommand_from " + command->name + "'";
    ForEachOption(*command, [&](const OptionText& option) { text += FishOption(start, option); });
    const std::string terms = TermsOf(*command, program);
    if (command->words == Words::kNone) text += start + " -f\n";
    if (command->words == Words::kProcess) {
      text += start + " -f -a '(__fish_complete_pids)" + (terms.empty() ? "" : " ") + terms + "'\n";
    }
    if (command->words == Words::kCommand) text += start + " -f -a '" + terms + "'\n";
    if (command->words == Words::kProgram) {
      text += start + " -a '(__fish_complete_command)'\n";
    }
  }
  return text;
}

}  // namespace

std::string CompletionOf(const ProgramText& program, Shell shell) {
  if (shell == Shell::kBash) return Bash(program);
  return shell == Shell::kZsh ? Zsh(program) : Fish(program);
}

}  // namespace allomon::options
