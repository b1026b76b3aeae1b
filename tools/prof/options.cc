#include "tools/prof/options.h"

#include <optional>
#include <string_view>

namespace allomon::prof {
namespace {

bool Fail(const std::string& what, std::string* error) {
  *error = what + "; " + kUsage;
  return false;
}

class Parser {
 public:
  Parser(const std::vector<std::string>& args, Options* options, std::string* error)
      : args_(args), options_(options), error_(error) {}

  bool Parse() {
    while (next_ < args_.size() && args_[next_].size() > 1 && args_[next_][0] == '-') {
      const std::string& arg = args_[next_++];
      if (arg == "--") break;
      if (!(arg[1] == '-' ? ParseLong(arg) : ParseLetters(arg))) return false;
    }
    options_->programs.assign(args_.begin() + static_cast<std::ptrdiff_t>(next_), args_.end());
    if (options_->programs.empty()) options_->programs.push_back("a.out");
    if (options_->mlmon_counts && options_->mlmon_file.empty()) {
      return Fail("--counts belongs to --mlmon=FILE", error_);
    }
    return true;
  }

 private:
  bool ParseLong(const std::string& arg) {
    constexpr std::string_view kMlmon = "--mlmon=";
    if (arg.compare(0, kMlmon.size(), kMlmon) == 0 && arg.size() > kMlmon.size()) {
      options_->mlmon_file = arg.substr(kMlmon.size());
      return true;
    }
    if (arg == "--counts") return options_->mlmon_counts = true;
    return Fail("unknown option " + arg, error_);
  }

  bool ParseLetters(const std::string& arg) {
    for (size_t i = 1; i < arg.size(); ++i) {
      if (arg[i] == 'm') return TakeMonFile(arg.substr(i + 1));
      if (!ParseLetter(arg[i])) return false;
    }
    return true;
  }

  bool TakeMonFile(std::string rest) {
    if (rest.empty() && next_ < args_.size()) rest = args_[next_++];
    if (rest.empty()) return Fail("-m needs the name of a file", error_);
    options_->mon_file = rest;
    return true;
  }

  bool ParseLetter(char letter) {
    switch (letter) {
      case 't':
        return SetOrder(Order::kTime, letter);
      case 'c':
        return SetOrder(Order::kCalls, letter);
      case 'a':
        return SetOrder(Order::kAddress, letter);
      case 'n':
        return SetOrder(Order::kName, letter);
      case 'o':
        return SetBase(AddressBase::kOctal);
      case 'x':
        return SetBase(AddressBase::kHexadecimal);
      case 'g':
        return options_->statics = true;
      case 'z':
        return options_->zeros = true;
      case 's':
        return options_->summary = true;
      case 'h':
        options_->heading = false;
        return true;
      default:
        return Fail(std::string("unknown option -") + letter, error_);
    }
  }

  bool SetOrder(Order order, char letter) {
    if (order_letter_ && *order_letter_ != letter) {
      return Fail(std::string("-") + *order_letter_ + " and -" + letter + " exclude each other",
                  error_);
    }
    order_letter_ = letter;
    options_->order = order;
    return true;
  }

  bool SetBase(AddressBase base) {
    if (options_->address != AddressBase::kNone && options_->address != base) {
      return Fail("-o and -x exclude each other", error_);
    }
    options_->address = base;
    return true;
  }

  const std::vector<std::string>& args_;
  Options* const options_;
  std::string* const error_;
  size_t next_ = 0;
  std::optional<char> order_letter_;
};

}  // namespace

bool ParseOptions(const std::vector<std::string>& args, Options* options, std::string* error) {
  return Parser(args, options, error).Parse();
}

}  // namespace allomon::prof
