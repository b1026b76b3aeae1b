// Command lines of all commands: the first line of an input is the command's name, and each other
// line is an argument.  A refusal comes with one line of text.
#include "tools/control/options.h"

#include <optional>

#include "tests/fuzz/target.h"
#include "tools/export/export_command.h"
#include "tools/flame/flame.h"
#include "tools/gate/gate.h"
#include "tools/mlprof/mlprof.h"
#include "tools/prof/prof.h"
#include "tools/report/table/options.h"
#include "tools/run/options.h"
#include "tools/serve/address.h"
#include "tools/serve/serve.h"
#include "tools/snapshot/heap_command.h"

namespace allomon::fuzz {
namespace {

using Arguments = std::vector<std::string>;

template <typename Options>
bool IsAccepted(const absl::StatusOr<Options>& options) {
  if (!options.ok()) Require(!options.status().message().empty(), "a refusal has a reason");
  return options.ok();
}

template <typename Options>
bool IsAccepted(bool (*parse)(const Arguments&, Options*, std::string*), const Arguments& args) {
  Options options;
  std::string error;
  const bool is_accepted = parse(args, &options, &error);
  Require(is_accepted || !error.empty(), "a refusal has a reason");
  return is_accepted;
}

bool Serve(const Arguments& args) {
  const auto options = serve::ParseOptions(args);
  if (options.ok()) IsAccepted(serve::ParseAddress(options->listen));
  return IsAccepted(options);
}

bool Report(const Arguments& args) {
  const auto options = views::ParseOptions(args, views::Command::kReport);
  if (options.ok()) {
    for (const unsigned kind : {views::kWithStacks, views::kOfMlmon}) {
      const absl::Status status = views::CheckInputs(*options, kind, "x");
      Require(status.ok() || !status.message().empty(), "a refusal has a reason");
    }
  }
  return IsAccepted(options);
}

struct Command {
  std::string_view name;
  bool (*parse)(const Arguments& args);
};

constexpr Command kCommands[] = {
    {"ctl", [](const Arguments& args) { return IsAccepted(control::ParseCtlOptions(args)); }},
    {"diff",
     [](const Arguments& args) {
       return IsAccepted(views::ParseOptions(args, views::Command::kDiff));
     }},
    {"export",
     [](const Arguments& args) { return IsAccepted(interchange::ParseExportOptions(args)); }},
    {"flame", [](const Arguments& args) { return IsAccepted(flame::ParseOptions(args)); }},
    {"gate", [](const Arguments& args) { return IsAccepted(gate::ParseOptions(args)); }},
    {"heap", [](const Arguments& args) { return IsAccepted(snapshot::ParseOptions(args)); }},
    {"list", [](const Arguments& args) { return IsAccepted(control::ParseListOptions(args)); }},
    {"mlprof", [](const Arguments& args) { return IsAccepted(mlprof::ParseOptions, args); }},
    {"prof", [](const Arguments& args) { return IsAccepted(prof::ParseOptions, args); }},
    {"report", Report},
    {"run", [](const Arguments& args) { return IsAccepted(run::ParseOptions(args)); }},
    {"save", [](const Arguments& args) { return IsAccepted(control::ParseSaveOptions(args)); }},
    {"serve", Serve},
    {"top", [](const Arguments& args) { return IsAccepted(control::ParseTopOptions(args)); }},
};

// Cuts an argument at a zero, as execve does.
std::string WithoutZero(std::string_view line) {
  return std::string(line.substr(0, line.find('\0')));
}

bool CheckCommandLine(std::string_view input) {
  Arguments words;
  for (size_t begin = 0; begin <= input.size();) {
    const size_t end = std::min(input.find('\n', begin), input.size());
    words.push_back(WithoutZero(input.substr(begin, end - begin)));
    begin = end + 1;
  }
  for (const Command& command : kCommands) {
    if (words[0] == command.name) return command.parse({words.begin() + 1, words.end()});
  }
  return false;
}

}  // namespace

std::vector<std::string> Seeds() {
  return {
      "ctl\n4711\nstart\n--every=64k\n--limit=1g\n--record=/tmp/x.rec\n--wait=3",
      "ctl\n4711\nrate\n--rate=1e-3\n--all-children",
      "diff\n--view=tree\n--metric=peak\n--fail-on-growth\na.pb.gz\nb.pb.gz",
      "export\n--format=collapsed\n--metric=alloc\n-o\nx\nin.rec",
      "flame\n--diff=a\n--metric=live\n--title=T\n--focus-label=tenant=7\n-o\nx.html\nb",
      "gate\n--baseline=a.json\n--current=b.json\n--max-growth=5%\n--junit=x.xml",
      "heap\n--paths=cell\n--top=5\n--width=80\nx.heapsnapshot",
      "heap\n--object=17\nx.heapsnapshot",
      "list\n--clean",
      "report\n--sort=stack\n--top=5\n--width=100\n--color=never\n--picture=x.svg\nmlmon.out",
      "mlprof\n-keep\n(and (from \"f\") (not (thresh 5.0)))\n-raw\ntrue\n-split\na|b*\nprog\nm.out",
      "prof\n-tgx\n-m\nmon.out\n--mlmon=x\n--counts\na.out",
      "report\n--view=callers\n--focus=f\n--ignore=g\n--exclude=x+\n--top=3\n--\nfile",
      "report\n--by=label:tenant\n--leaks\n--json\nfile",
      "run\n--every=8k\n--seed=5\n--limit=64m\n--guard=100\n-o\nx.pb.gz\n--\nprog\n-x",
      "save\n4711\n-o\nx.pb.gz",
      "serve\n--listen=[::1]:6060\n--pid=5\n--token-file=t",
      "serve\n--listen=localhost:0\n--dir=/tmp",
      "top\n4711\n--every=2.5\n-n\n3\n--metric=live"};
}

}  // namespace allomon::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace allomon::fuzz;
  return Done(CheckCommandLine(TextOf(data, size)));
}
