// The command lines of all commands: --name, --name=value, --name value, and words that are no
// options.
//
//   struct Options { bool quiet; std::string out; std::vector<std::string> files; };
//   constexpr Flag<Options> kFlags[] = {{"--quiet", [](Options* o) { o->quiet = true; }}};
//   constexpr ValueOption<Options> kValues[] = {{"-o", SetOut}};
//   ParseCommandLine(args, {kFlags, kValues, AddFile}, &options)
//
// An error is one line that names the option and the remedy.  Pure functions.
#ifndef ALLOMON_TOOLS_OPTIONS_COMMAND_LINE_H_
#define ALLOMON_TOOLS_OPTIONS_COMMAND_LINE_H_

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace allomon::options {

template <typename Options>
struct Flag {
  std::string_view name;
  void (*set)(Options* options);
};

template <typename Options>
struct ValueOption {
  std::string_view name;
  absl::Status (*set)(const std::string& value, Options* options);
};

// Where options may stand.
enum class Order {
  kAnywhere,    // among the words, until "--"
  kBeforeWords  // the first word that is none ends them: the rest is another program's
};

// What a command line may have, without types.
struct Grammar {
  std::function<bool(const std::string& name)> set_flag;  // false: no such flag
  // nullptr: no such option.
  using SetValue = std::function<absl::Status(const std::string& value)>;
  std::function<SetValue(const std::string& name)> find_value_option;
  std::function<absl::Status(const std::string& word)> add_word;
  Order order = Order::kAnywhere;
};
absl::Status ParseWords(const std::vector<std::string>& args, const Grammar& grammar);

// The tables of a command, which must outlive the call.
template <typename Options>
struct Tables {
  template <size_t kFlags, size_t kValues>
  Tables(const Flag<Options> (&flag_table)[kFlags], const ValueOption<Options> (&table)[kValues],
         absl::Status (*word)(const std::string& word, Options* options))
      : flags(flag_table, flag_table + kFlags), values(table, table + kValues), add_word(word) {}
  template <size_t kFlags>
  Tables(const Flag<Options> (&flag_table)[kFlags],
         absl::Status (*word)(const std::string& word, Options* options))
      : flags(flag_table, flag_table + kFlags), add_word(word) {}

  std::vector<Flag<Options>> flags;
  std::vector<ValueOption<Options>> values;
  absl::Status (*add_word)(const std::string& word, Options* options);
};

template <typename Options>
absl::Status ParseCommandLine(const std::vector<std::string>& args, const Tables<Options>& tables,
                              Options* options, Order order = Order::kAnywhere) {
  Grammar grammar;
  grammar.order = order;
  grammar.set_flag = [&tables, options](const std::string& name) {
    for (const Flag<Options>& flag : tables.flags) {
      if (flag.name != name) continue;
      flag.set(options);
      return true;
    }
    return false;
  };
  grammar.find_value_option = [&tables, options](const std::string& name) -> Grammar::SetValue {
    for (const ValueOption<Options>& option : tables.values) {
      if (option.name != name) continue;
      return [set = option.set, options](const std::string& value) { return set(value, options); };
    }
    return nullptr;
  };
  grammar.add_word = [&tables, options](const std::string& word) {
    return tables.add_word(word, options);
  };
  return ParseWords(args, grammar);
}

}  // namespace allomon::options

#endif  // ALLOMON_TOOLS_OPTIONS_COMMAND_LINE_H_
