#include "tools/pack/symbols_command.h"

#include <cstdio>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/load/load.h"
#include "tools/load/profile_options.h"
#include "tools/options/command_line.h"
#include "tools/options/documents.h"
#include "tools/options/values.h"
#include "tools/pprof/gzip.h"
#include "tools/symbols/name_sources.h"
#include "tools/text/plain_text.h"
#include "tracker/formats/write_file.h"

namespace allomon::pack {
namespace {

using options::Bad;

constexpr char kPreset[] = "allomon.symbols";

struct Options : options::Common {
  std::string verb;
  std::string output;  // empty: kPreset
  NameSources name_sources;
  std::vector<std::string> files;
};

absl::Status AddWord(const std::string& word, Options* options) {
  if (!options->verb.empty()) {
    options->files.push_back(word);
    return absl::OkStatus();
  }
  options->verb = word;
  if (word == "pack" || word == "show") return absl::OkStatus();
  return Bad("\"" + word + "\" is neither pack nor show");
}

absl::Status Check(const Options& options) {
  if (options.verb.empty()) return Bad("say what to do: pack FILE... or show FILE...");
  if (options.files.empty()) {
    return Bad(options.verb == "pack" ? "name the heap profile with code to name"
                                      : "name the pack of symbols to show");
  }
  if (options.verb == "show" && !options.output.empty()) return Bad("-o: show writes no file");
  const NameSources& names = options.name_sources;
  if (options.verb == "show" && (names.AreTold() || !names.debug_dir.empty())) {
    return Bad("--symbols, --debuginfod and --debug-dir are of pack: show looks nothing up");
  }
  return absl::OkStatus();
}

options::CommandText Text() {
  options::CommandText text;
  text.name = "symbols";
  text.summary = "write the names of code into a file, for reports on another machine";
  text.usages = {"pack [options] FILE...", "show FILE..."};
  text.description = {
      "Looks up the addresses in heap profiles where the program's files are, and writes a file "
      "with their functions, source files, lines and inlined calls.  Elsewhere report, diff, "
      "flame, export, leaks and serve read it with --symbols=FILE, and show what they would show "
      "here."};
  text.words = options::Words::kFiles;
  text.terms = {{"pack", "FILE is a recording, or a pprof file with build ids"},
                {"show", "FILE is a pack: what code it has names of"}};
  text.statuses = {{"0", "written or shown"},
                   {"2",
                    "bad input, or no file of that code is here: one line on standard error "
                    "says which"}};
  text.examples = {
      {"allomon symbols pack -o shop.symbols shop.alr", "on the machine of the program"},
      {"allomon report --symbols=shop.symbols shop.alr", "on another one"}};
  text.manual = "tools/pack/README.md";
  return text;
}

const options::Command<Options>& SymbolsCommand() {
  static const options::Command<Options> command(
      Text(),
      {{"",
        {{"-o, --output", "FILE", kPreset, "the pack that is written; replaced if it exists.",
          &Options::output}}},
       {"", load::NameOptions(&Options::name_sources)}},
      AddWord, Check);
  return command;
}

std::string OneLine(const std::string& text) { return Printable(text, Charset::kUtf8); }

std::string SizeText(size_t bytes) {
  char text[24];
  std::snprintf(text, sizeof(text), "%.1f KiB", static_cast<double>(bytes) / 1024);
  return text;
}

std::string CountText(size_t count, const char* one, const char* many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

absl::StatusOr<CommandResult> Pack(const Options& options) {
  CommandResult result;
  load::LoadOptions reading;
  reading.name_sources = options.name_sources;
  const auto collected = std::make_shared<SymbolPackWriter>();
  reading.name_sources.collected = collected;
  for (const std::string& file : options.files) {
    const auto profile = load::LoadHeapProfile(file, reading);
    if (!profile.ok()) return profile.status();
  }
  if (collected->addresses() == 0) {
    return Bad(options.files[0] +
               ": no file of its code is here, or its code has no build ids: run this where the "
               "program is");
  }
  const std::string output = options.output.empty() ? kPreset : options.output;
  const std::string bytes = pprof::Gzip(collected->Text());
  std::string error;
  if (!WriteFileAtomically(output, bytes, kPrivateMode, &error)) return Bad(error);
  for (const std::string& path : collected->missing()) {
    result.err += "allomon symbols: note: nothing of " + OneLine(path) + ": its file is not here\n";
  }
  result.out = OneLine(output) + ": " + SizeText(bytes.size()) + ", " +
               CountText(collected->addresses(), "address", "addresses") + " of " +
               CountText(collected->codes(), "file", "files") + ", " +
               std::to_string(collected->named()) + " with names\n";
  return result;
}

absl::StatusOr<CommandResult> Show(const Options& options) {
  CommandResult result;
  for (const std::string& file : options.files) {
    NameSources sources;
    const absl::Status status = load::AddSymbols(file, &sources);
    if (!status.ok()) return status;
    for (const auto& [key, code] : sources.packs.front().pack->code()) {
      result.out += CountText(code.addresses.size(), "address", "addresses") + "  " +
                    OneLine(code.path) + "  " + OneLine(key) + "\n";
    }
  }
  return result;
}

}  // namespace

const options::CommandText& SymbolsText() { return SymbolsCommand().Text(); }

CommandResult RunSymbols(const std::vector<std::string>& args, const report::Terminal& terminal) {
  const auto bad = [charset = terminal.charset](const absl::Status& status) {
    return CommandResult{
        2, "", "allomon symbols: " + Printable(std::string(status.message()), charset) + "\n"};
  };
  const auto options = SymbolsCommand().Parse(args);
  if (!options.ok()) return bad(options.status());
  const auto answer = options::AnswerTo(*options, SymbolsText());
  if (answer.has_value()) return *answer;
  const auto result = options->verb == "pack" ? Pack(*options) : Show(*options);
  return result.ok() ? *result : bad(result.status());
}

}  // namespace allomon::pack
