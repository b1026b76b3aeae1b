#include "tools/load/profile_options.h"

#include <sys/stat.h>

#include <cstdlib>
#include <memory>
#include <utility>

#include "tools/load/read_bytes.h"
#include "tools/pprof/gzip.h"
#include "tools/symbols/debuginfod.h"

namespace allomon::load {
namespace {

bool AreOneFile(const std::string& a, const std::string& b) {
  struct stat of_a = {}, of_b = {};
  return stat(a.c_str(), &of_a) == 0 && stat(b.c_str(), &of_b) == 0 && S_ISREG(of_a.st_mode) &&
         of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
}

}  // namespace

absl::Status CheckOutput(const std::string& option, const std::string& output,
                         const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    if (AreOneFile(output, file)) {
      return options::Bad(option + ": " + output + " is a profile that is read: name another file");
    }
  }
  return absl::OkStatus();
}

absl::Status AddSymbols(const std::string& file, NameSources* sources) {
  if (file.empty()) return options::Bad("--symbols needs a value");
  if (file == "-") return options::Bad("--symbols: name a file: - is the profile's place");
  const auto is_bad = [&file](const std::string& why) {
    return absl::InvalidArgumentError(file + " " + why);
  };
  auto bytes = ReadBytes(file, kMostPackBytes);
  if (!bytes.ok()) return bytes.status();
  if (!pprof::IsGzip(*bytes)) {
    return is_bad("is no pack of symbols: allomon symbols pack writes them");
  }
  const auto text = pprof::Gunzip(*bytes, kMostPackBytes);
  if (!text.ok()) return is_bad(std::string(text.status().message()));
  auto pack = std::make_shared<SymbolPack>();
  std::string why;
  if (!SymbolPack::Parse(*text, pack.get(), &why)) return is_bad(why);
  sources->packs.push_back({file, std::move(pack)});
  return absl::OkStatus();
}

absl::Status SetDebuginfod(const std::string& urls, NameSources* sources) {
  const char* const variable = std::getenv("DEBUGINFOD_URLS");
  const std::string named = !urls.empty() ? urls : variable == nullptr ? "" : variable;
  if (named.empty()) {
    return options::Bad(
        "--debuginfod: name a server, such as --debuginfod=http://127.0.0.1:8002, "
        "or set DEBUGINFOD_URLS");
  }
  std::string why;
  auto server = Debuginfod::Make(named, &why);
  if (server == nullptr) return options::Bad("--debuginfod: " + why);
  sources->server = std::move(server);
  return absl::OkStatus();
}

}  // namespace allomon::load
