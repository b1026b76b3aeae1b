// Runs a target without libFuzzer: on its seeds and the inputs of its archive, on truncations of
// each, and on some thousand damaged inputs.  The damage is the same each time.
//
//   replay --archive=X.tgz --corpus=FOLDER --dictionary=words.dict --rounds=N --accepted=PERCENT
//                            the test, which keeps a fatal input; FOLDER is one in the archive
//   replay --seeds=FOLDER    writes the target's own seeds
//   replay FILE...           the inputs kept by libFuzzer
#include <algorithm>
#include <cinttypes>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>

#include "tests/fuzz/target.h"
#include "tests/profile/mutator.h"
#include "tests/support/sanitizers.h"
#include "tools/pprof/gzip.h"

extern "C" __attribute__((weak)) size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size,
                                                                size_t max_size, unsigned seed);

namespace allomon::fuzz {
namespace {

constexpr size_t kMostAdded = size_t{1} << 18;  // bytes added by one damage
constexpr size_t kMostCuts = 64;                // truncations of one input

// A sanitizer is slower by this factor, so it gets fewer inputs by this factor.
constexpr uint64_t kSlower = testing::kHasSanitizer ? 8 : 1;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  Require(file.is_open(), "a file can be read", path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// The regular files of a folder in a tar archive.
std::vector<std::string> Unpack(const std::string& path, const std::string& folder) {
  constexpr size_t kBlock = 512;
  constexpr size_t kNameBytes = 100;
  constexpr size_t kSizeAt = 124;
  constexpr size_t kTypeAt = 156;
  const auto tar = pprof::Gunzip(ReadFile(path));
  Require(tar.ok(), "an archive can be unpacked", path);
  std::vector<std::string> files;
  for (size_t at = 0; at + kBlock <= tar->size() && (*tar)[at] != '\0';) {
    const size_t size = strtoull(tar->substr(at + kSizeAt, 12).c_str(), nullptr, 8);
    const std::string name = tar->substr(at, kNameBytes);
    if ((*tar)[at + kTypeAt] == '0' && name.compare(0, folder.size() + 1, folder + "/") == 0) {
      files.push_back(tar->substr(at + kBlock, size));
    }
    at += kBlock + (size + kBlock - 1) / kBlock * kBlock;
  }
  Require(!files.empty(), "an archive has inputs", folder);
  return files;
}

// Returns the word of a line of a dictionary; the line may begin with "name=".
std::optional<std::string> WordOf(const std::string& line) {
  const size_t begin = line.find('"');
  const size_t end = line.rfind('"');
  if (line.empty() || line[0] == '#' || begin == end) return std::nullopt;
  std::string word;
  for (size_t i = begin + 1; i < end; ++i) {
    if (line[i] != '\\') {
      word += line[i];
    } else if (line[++i] == 'x') {
      word += static_cast<char>(std::stoi(line.substr(i + 1, 2), nullptr, 16));
      i += 2;
    } else {
      word += line[i];
    }
  }
  return word;
}

// Reads the words of a target, which "## TARGET" begins.
std::vector<std::string> ReadDictionary(const std::string& path, const std::string& target) {
  std::ifstream file(path);
  std::vector<std::string> words;
  bool is_of_target = false;
  for (std::string line; std::getline(file, line);) {
    if (line.compare(0, 3, "## ") == 0) is_of_target = line.substr(3) == target;
    if (!is_of_target) continue;
    if (const auto word = WordOf(line)) words.push_back(*word);
  }
  Require(!words.empty(), "a dictionary has words", path);
  return words;
}

std::string_view running;

// Bazel keeps the contents of that folder, in test.outputs.
void KeepInput(int) {
  const char* const folder = getenv("TEST_UNDECLARED_OUTPUTS_DIR");
  const std::string path = std::string(folder == nullptr ? "." : folder) + "/finding";
  std::ofstream(path, std::ios::binary) << running;
  fprintf(stderr, "the input is in %s\n", path.c_str());
}

// An exact copy, so that the address sanitizer sees a read just past its end.
void Run(std::string_view input) {
  running = input;
  const std::unique_ptr<uint8_t[]> copy(new uint8_t[input.size()]);
  memcpy(copy.get(), input.data(), input.size());
  LLVMFuzzerTestOneInput(copy.get(), input.size());
}

testing::Mutator* mutator = nullptr;

std::string Damaged(const std::string& input) {
  if (LLVMFuzzerCustomMutator == nullptr) return mutator->Mutate(input);
  std::string buffer = input;
  buffer.resize(input.size() + kMostAdded);
  const auto data = reinterpret_cast<uint8_t*>(buffer.data());
  const auto seed = static_cast<unsigned>(mutator->Below(1u << 30));
  buffer.resize(LLVMFuzzerCustomMutator(data, input.size(), buffer.size(), seed));
  return buffer;
}

struct Arguments {
  std::string archive;
  std::string corpus;
  std::string dictionary;
  std::string seeds;
  uint64_t rounds = 0;
  uint64_t accepted_percent = 1;  // of the damaged inputs, at least
  std::vector<std::string> files;
};

// Returns false if the arguments have no form above.
bool Parse(int argc, char** argv, Arguments* args) {
  std::string rounds;
  std::string accepted;
  const std::pair<std::string_view, std::string*> options[] = {{"--archive=", &args->archive},
                                                               {"--corpus=", &args->corpus},
                                                               {"--dictionary=", &args->dictionary},
                                                               {"--seeds=", &args->seeds},
                                                               {"--rounds=", &rounds},
                                                               {"--accepted=", &accepted}};
  for (int i = 1; i < argc; ++i) {
    const std::string_view arg = argv[i];
    const auto option = std::find_if(std::begin(options), std::end(options), [arg](const auto& o) {
      return arg.substr(0, o.first.size()) == o.first;
    });
    if (option != std::end(options)) {
      *option->second = arg.substr(option->first.size());
    } else if (!arg.empty() && arg[0] != '-') {
      args->files.emplace_back(arg);
    } else {
      return false;
    }
  }
  args->rounds = strtoull(rounds.c_str(), nullptr, 10);
  if (!accepted.empty()) args->accepted_percent = strtoull(accepted.c_str(), nullptr, 10);
  return argc > 1;
}

void WriteSeeds(const std::string& folder) {
  int number = 0;
  for (const std::string& seed : Seeds()) {
    std::ofstream(folder + "/seed" + std::to_string(++number), std::ios::binary) << seed;
  }
}

void RunCuts(const std::string& input) {
  const size_t step = 1 + input.size() / kMostCuts;
  for (size_t size = 0; size < input.size(); size += step) Run(input.substr(0, size));
}

// An input that is meant to be refused belongs into the archive: a seed that is refused is one of
// another version of the reader.
void RequireAccepted(const std::vector<std::string>& seeds) {
  for (const std::string& seed : seeds) {
    const uint64_t before = accepted_inputs;
    Run(seed);
    Require(accepted_inputs > before, "a seed is accepted", seed);
  }
}

// If few damaged inputs are accepted, the damage is too strong; if none is refused, too weak.
int Test(const Arguments& args) {
  std::vector<std::string> inputs = Seeds();
  RequireAccepted(inputs);
  for (std::string& input : Unpack(args.archive, args.corpus)) inputs.push_back(std::move(input));
  testing::Mutator damage(testing::kFuzzSeed, args.dictionary.empty()
                                                  ? std::vector<std::string>{std::string(1, '\0')}
                                                  : ReadDictionary(args.dictionary, args.corpus));
  mutator = &damage;
  std::signal(SIGABRT, KeepInput);
  std::vector<std::string> readable;
  for (const std::string& input : inputs) {
    const uint64_t before = accepted_inputs;
    Run(input);
    if (accepted_inputs > before) readable.push_back(input);
  }
  Require(!readable.empty(), "some inputs are accepted");
  for (const std::string& input : inputs) RunCuts(input);
  accepted_inputs = 0;
  const uint64_t rounds = args.rounds / kSlower;
  for (uint64_t i = 0; i < rounds; ++i) {
    // Inputs that are refused even undamaged seldom exercise much code.
    const std::vector<std::string>& from = damage.Below(4) == 0 ? inputs : readable;
    Run(Damaged(from[damage.Below(from.size())]));
  }
  printf("%zu inputs, %zu accepted; %" PRIu64 " damaged, %" PRIu64 " accepted\n", inputs.size(),
         readable.size(), rounds, accepted_inputs);
  Require(accepted_inputs > rounds * args.accepted_percent / 100,
          "the target's share of damaged inputs is accepted");
  Require(accepted_inputs < rounds, "damage is noticed");
  return 0;
}

int Main(int argc, char** argv) {
  Arguments args;
  if (!Parse(argc, argv, &args)) {
    fprintf(stderr,
            "usage: replay --archive=X.tgz --corpus=FOLDER [--dictionary=words.dict] --rounds=N\n"
            "              [--accepted=PERCENT]\n"
            "       replay --seeds=FOLDER\n"
            "       replay FILE...\n");
    return 2;
  }
  if (!args.seeds.empty()) {
    WriteSeeds(args.seeds);
    return 0;
  }
  for (const std::string& file : args.files) Run(ReadFile(file));
  return args.archive.empty() ? 0 : Test(args);
}

}  // namespace
}  // namespace allomon::fuzz

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size) {
  using namespace allomon::fuzz;
  return PutBack(mutator->Mutate(std::string(TextOf(data, size))), data, max_size);
}

int main(int argc, char** argv) { return allomon::fuzz::Main(argc, argv); }
