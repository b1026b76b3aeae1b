#include "tools/options/command_text.h"

#include <algorithm>

namespace allomon::options {

const OptionText* FindOption(const CommandText& command, const std::string& name) {
  for (const GroupText& group : command.groups) {
    for (const OptionText& option : group.options) {
      if (std::count(option.names.begin(), option.names.end(), name) > 0) return &option;
    }
  }
  return nullptr;
}

std::string Shown(const OptionText& option) {
  std::string shown;
  for (const std::string& name : option.names) {
    const bool is_last = &name == &option.names.back();
    shown += (shown.empty() ? "" : ", ") + name;
    if (option.argument.name.empty() || !is_last) continue;
    const std::string value = (name.compare(0, 2, "--") == 0 ? "=" : " ") + option.argument.name;
    shown += option.argument.is_optional ? "[" + value + "]" : value;
  }
  return shown;
}

std::string Explained(const OptionText& option) {
  return option.preset.empty() ? option.text : option.text + "  Default " + option.preset + ".";
}

}  // namespace allomon::options
