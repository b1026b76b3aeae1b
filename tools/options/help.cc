#include <algorithm>
#include <cstddef>
#include <vector>

#include "tools/options/documents.h"
#include "tracker/formats/version.h"

namespace allomon::options {
namespace {

constexpr size_t kColumns = 80;
constexpr size_t kIndent = 2;
constexpr size_t kMostLeftColumns = 20;  // a longer name has its text on the next lines
constexpr size_t kGap = 2;

// The text in lines that begin with `indent` blanks; the first goes on behind `used` columns.
std::string Wrapped(const std::string& text, size_t indent, size_t used) {
  std::string lines, line;
  size_t left = kColumns - std::max(indent, used);
  for (size_t at = 0; at < text.size();) {
    const size_t blanks = std::min(text.find_first_not_of(' ', at), text.size());
    const size_t end = std::min(text.find(' ', blanks), text.size());
    if (!line.empty() && line.size() + end - at > left) {
      lines += line + "\n" + std::string(indent, ' ');
      left = kColumns - indent;
      line.clear();
    }
    line += line.empty() ? text.substr(blanks, end - blanks) : text.substr(at, end - at);
    at = end;
  }
  return lines + line + "\n";
}

std::string Paragraph(const std::string& text) {
  return std::string(kIndent, ' ') + Wrapped(text, kIndent, kIndent);
}

class Table {
 public:
  explicit Table(const std::vector<Term>& rows) {
    for (const Term& row : rows) {
      if (row.word.size() <= kMostLeftColumns) left_ = std::max(left_, row.word.size());
    }
  }
  std::string Row(const Term& row) const {
    const size_t column = kIndent + left_ + kGap;
    std::string head = std::string(kIndent, ' ') + row.word;
    if (head.size() + kGap > column) {
      head += "\n" + std::string(column, ' ');
    } else {
      head.resize(column, ' ');
    }
    return head + Wrapped(row.text, column, column);
  }
  // Words of a list, beneath their option.
  std::string SubRow(const Term& word, size_t widest) const {
    std::string head = std::string(kIndent + left_ + kGap, ' ') + word.word;
    head.resize(kIndent + left_ + kGap + widest + kGap, ' ');
    return head + Wrapped(word.text, head.size(), head.size());
  }

 private:
  size_t left_ = 0;
};

std::vector<Term> RowsOf(const CommandText& command) {
  std::vector<Term> rows = command.terms;
  for (const GroupText& group : command.groups) {
    for (const OptionText& option : group.options) {
      if (!option.is_hidden) rows.push_back({Shown(option), Explained(option)});
    }
  }
  return rows;
}

std::string Usage(const CommandText& command) {
  std::string usage;
  for (const std::string& one : command.usages) {
    const std::string head =
        std::string(usage.empty() ? "usage: " : "       ") + "allomon " + command.name + " ";
    usage += head + Wrapped(one, head.size(), head.size());
  }
  return usage;
}

std::string ChoicesOf(const OptionText& option, const Table& table) {
  std::string lines;
  size_t widest = 0;
  for (const Term& choice : option.argument.choices) widest = std::max(widest, choice.word.size());
  for (const Term& choice : option.argument.choices) {
    if (!choice.text.empty()) lines += table.SubRow(choice, widest);
  }
  return lines;
}

std::string Options(const CommandText& command) {
  const Table table(RowsOf(command));
  std::string text;
  for (const Term& term : command.terms) text += table.Row(term);
  if (!text.empty()) text += "\n";
  for (const GroupText& group : command.groups) {
    if (&group != &command.groups.front()) text += "\n";
    if (!group.title.empty()) text += Paragraph(group.title + ":");
    for (const OptionText& option : group.options) {
      if (option.is_hidden) continue;
      text += table.Row({Shown(option), Explained(option)}) + ChoicesOf(option, table);
    }
  }
  return text;
}

std::string Statuses(const CommandText& command) {
  std::string text;
  for (const Term& status : command.statuses) {
    text += (text.empty() ? "Status " : "; ") + status.word + ": " + status.text;
  }
  return text.empty() ? "" : Paragraph(text + ".");
}

std::string Examples(const CommandText& command) {
  std::string text;
  for (const Term& example : command.examples) {
    text += "  $ " + example.word + "\n" + std::string(2 * kIndent + kGap, ' ') +
            Wrapped(example.text, 2 * kIndent + kGap, 2 * kIndent + kGap);
  }
  return text.empty() ? "" : "\n" + text;
}

}  // namespace

std::string HelpOf(const CommandText& command) {
  std::string text = Usage(command);
  for (const std::string& paragraph : command.description) text += Paragraph(paragraph);
  text += "\n" + Options(command) + Examples(command) + "\n" + Statuses(command);
  if (!command.manual.empty()) text += Paragraph("More: " + command.manual);
  return text;
}

std::string VersionLine() { return std::string("allomon ") + kVersion + "\n"; }

std::optional<CommandResult> AnswerTo(const Common& options, const CommandText& command) {
  if (options.help) return CommandResult{0, HelpOf(command), ""};
  if (options.version) return CommandResult{0, VersionLine(), ""};
  return std::nullopt;
}

}  // namespace allomon::options
