#include "tools/options/documents.h"
#include "tracker/formats/version.h"

namespace allomon::options {
namespace {

// A line of text.  A hyphen of a name is a minus and a backtick none of a pair of quotes, since
// people copy them.  A point or an apostrophe at the start would be a request.
std::string Escaped(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else if (c == '\'') {
      escaped += "\\(aq";
    } else if (c == '`') {
      escaped += "\\(ga";
    } else if (c == '|') {
      escaped += "|\\:";  // a long list of choices may be broken there
    } else {
      escaped += c;
    }
  }
  return escaped.empty() || escaped[0] != '.' ? escaped : "\\&" + escaped;
}

std::string Line(const std::string& text) { return Escaped(text) + "\n"; }

std::string Bold(const std::string& text) { return "\\fB" + Escaped(text) + "\\fR"; }
std::string Italic(const std::string& text) { return "\\fI" + Escaped(text) + "\\fR"; }

// Lines are not spread to one width, since a broken list of choices has no blanks.  The date is
// left out: the same sources give the same bytes.
std::string Head(const std::string& title) {
  std::string upper;
  for (const char c : title) {
    upper += 'a' <= c && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return ".TH \"" + Escaped(upper) + "\" 1 \"\" \"allomon " + Escaped(kVersion) +
         "\" \"Allomon\"\n.ad l\n";
}

std::string PageName(const ProgramText& program, const CommandText& command) {
  return program.name + "-" + command.name;
}

std::string Term1(const std::string& shown, const std::string& text) {
  return ".TP\n" + shown + "\n" + (text.empty() ? "\\&\n" : Line(text));
}

// "-o FILE, --output=FILE", names bold and arguments italic.
std::string ShownOption(const OptionText& option) {
  std::string shown;
  for (const std::string& name : option.names) {
    if (!shown.empty()) shown += ", ";
    shown += Bold(name);
    if (option.argument.name.empty() || &name != &option.names.back()) continue;
    const std::string value =
        (name.compare(0, 2, "--") == 0 ? "=" : " ") + Italic(option.argument.name);
    shown += option.argument.is_optional ? "[" + value + "]" : value;
  }
  return shown;
}

std::string OptionsOf(const CommandText& command) {
  std::string text = ".SH OPTIONS\n";
  bool has_title = false;
  for (const GroupText& group : command.groups) {
    const bool ends_title = has_title && group.title.empty();
    has_title = !group.title.empty();
    if (has_title || ends_title) {
      text += ".SS \"" + Escaped(has_title ? group.title : "Other") + "\"\n";
    }
    for (const OptionText& option : group.options) {
      if (option.is_hidden) continue;
      text += Term1(ShownOption(option), Explained(option));
      std::string choices;
      for (const Term& choice : option.argument.choices) {
        if (!choice.text.empty()) choices += Term1(Bold(choice.word), choice.text);
      }
      if (!choices.empty()) text += ".RS\n" + choices + ".RE\n";
    }
  }
  return text;
}

std::string Terms(const std::string& title, const std::vector<Term>& terms) {
  if (terms.empty()) return "";
  std::string text = ".SH \"" + title + "\"\n";
  for (const Term& term : terms) text += Term1(Bold(term.word), term.text);
  return text;
}

std::string Paragraphs(const std::vector<std::string>& paragraphs) {
  std::string text = ".SH DESCRIPTION\n";
  for (const std::string& paragraph : paragraphs) {
    text += (&paragraph == &paragraphs.front() ? "" : ".PP\n") + Line(paragraph);
  }
  return text;
}

std::string Name(const std::string& name, const std::string& summary) {
  return ".SH NAME\n" + Escaped(name) + " \\- " + Escaped(summary) + "\n";
}

std::string SeeAlso(const ProgramText& program, const CommandText& command) {
  std::string text = ".SH SEE ALSO\n.BR " + Escaped(program.name) + " (1)";
  for (const CommandText* other : program.commands) {
    if (other->name == command.name) continue;
    text += ",\n.BR " + Escaped(PageName(program, *other)) + " (1)";
  }
  return text + "\n";
}

}  // namespace

std::string ManPageOf(const CommandText& command, const ProgramText& program) {
  const std::string name = PageName(program, command);
  std::string text = Head(name) + Name(name, command.summary) + ".SH SYNOPSIS\n";
  for (const std::string& usage : command.usages) {
    text += (&usage == &command.usages.front() ? "" : ".br\n") +
            Bold(program.name + " " + command.name) + " " + Escaped(usage) + "\n";
  }
  text += Paragraphs(command.description) + Terms("WORDS", command.terms) + OptionsOf(command);
  text += Terms("EXIT STATUS", command.statuses);
  if (!command.examples.empty()) {
    text += ".SH EXAMPLES\n";
    for (const Term& example : command.examples) {
      text += Term1(Bold(example.word), example.text);
    }
  }
  return text + SeeAlso(program, command);
}

std::string ManPageOf(const ProgramText& program) {
  std::string text = Head(program.name) + Name(program.name, program.summary) + ".SH SYNOPSIS\n" +
                     Bold(program.name) + " " + Italic("COMMAND") + " [options] [arguments]\n" +
                     Paragraphs(program.description) + ".SH COMMANDS\n";
  for (const CommandText* command : program.commands) {
    text += ".TP\n.BR " + Escaped(PageName(program, *command)) + " (1)\n" + Line(command->summary);
  }
  return text;
}

}  // namespace allomon::options
