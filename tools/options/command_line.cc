#include "tools/options/command_line.h"

namespace allomon::options {
namespace {

// "-" alone is standard input.
bool IsOption(const std::string& word) { return word.size() > 1 && word[0] == '-'; }

class Parser {
 public:
  Parser(const std::vector<std::string>& args, const Grammar& grammar)
      : args_(args), grammar_(grammar) {}

  absl::Status Parse() {
    while (at_ < args_.size()) {
      const std::string& word = args_[at_];
      if (word == "--") {
        ++at_;
        return AddRest();
      }
      if (!IsOption(word) && grammar_.order == Order::kBeforeWords) return AddRest();
      ++at_;
      const absl::Status status = IsOption(word) ? SetOption(word) : grammar_.add_word(word);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

 private:
  absl::Status AddRest() {
    for (; at_ < args_.size(); ++at_) {
      const absl::Status status = grammar_.add_word(args_[at_]);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  absl::Status SetOption(const std::string& word) {
    if (grammar_.set_flag(word)) return absl::OkStatus();
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const auto set = grammar_.find_value_option(name);
    if (set == nullptr) {
      return absl::InvalidArgumentError("unknown option " + word + "; --help lists them");
    }
    if (equals != std::string::npos) return set(word.substr(equals + 1));
    if (at_ == args_.size()) return absl::InvalidArgumentError(name + " needs a value");
    return set(args_[at_++]);
  }

  const std::vector<std::string>& args_;
  const Grammar& grammar_;
  size_t at_ = 0;
};

}  // namespace

absl::Status ParseWords(const std::vector<std::string>& args, const Grammar& grammar) {
  return Parser(args, grammar).Parse();
}

}  // namespace allomon::options
