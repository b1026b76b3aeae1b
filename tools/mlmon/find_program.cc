#include "tools/mlmon/find_program.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>

#include "tools/mlmon/load_profile.h"
#include "tracker/formats/scan.h"
#include "tracker/formats/source_table.h"

namespace allomon::report {
namespace {

namespace fs = std::filesystem;
using mlprof::Program;

constexpr size_t kMostRun = 16;
constexpr off_t kMostBytes = off_t{256} << 20;

std::string Hex(uint32_t magic) {
  std::string text;
  internal::AppendHexWord(magic, &text);
  return text;
}

bool IsOursAlone(const struct stat& file) {
  return file.st_uid == geteuid() && (file.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool MayRun(const fs::path& path) {
  struct stat file = {};
  return stat(path.c_str(), &file) == 0 && S_ISREG(file.st_mode) && IsOursAlone(file) &&
         file.st_size <= kMostBytes && access(path.c_str(), X_OK) == 0;
}

enum class Kind { kAnswers, kDoesNotAnswer, kOther };

// Recognizes executables that do not know the question.  They must not run: instead of answering
// they would do their work.
Kind KindOf(const fs::path& path) {
  std::string contents;
  mlprof::ReadFailure failure;
  if (!mlprof::ReadFile(path, &contents, &failure)) return Kind::kOther;
  if (contents.substr(0, 4) != "\177ELF") return Kind::kOther;
  const bool knows = contents.find("@MLton") != std::string::npos &&
                     contents.find("show-sources") != std::string::npos;
  return knows ? Kind::kAnswers : Kind::kDoesNotAnswer;
}

std::vector<std::string> ProgramsIn(const fs::path& directory) {
  struct stat folder = {};
  if (stat(directory.c_str(), &folder) != 0 || !IsOursAlone(folder)) return {};
  std::vector<std::string> programs;
  std::error_code error;
  for (fs::directory_iterator file(directory, error), end; !error && file != end;
       file.increment(error)) {
    if (MayRun(file->path()) && KindOf(file->path()) == Kind::kAnswers)
      programs.push_back(file->path());
  }
  std::sort(programs.begin(), programs.end());
  if (programs.size() > kMostRun) programs.resize(kMostRun);
  return programs;
}

class Finder {
 public:
  Finder(const std::string& profile, uint32_t magic) : profile_(profile), magic_(magic) {}

  absl::StatusOr<Program> AmongNamed(const std::vector<std::string>& named) {
    for (const std::string& file : named) {
      if (KindOf(file) != Kind::kDoesNotAnswer && Ask(file)) return std::move(program_);
    }
    // The names beside the profile explain two cases.  The program was profiled by the preloaded
    // library.  Or the profile counts live memory, which is charged to other functions than those
    // that the program answers with.
    if (ReadStub(profile_ + ".sources")) return std::move(program_);
    return absl::InvalidArgumentError(tried_ + "; name the program that wrote " + profile_ +
                                      ", or profile this build of it again");
  }

  absl::StatusOr<Program> ByItself() {
    if (ReadStub(profile_ + ".sources")) return std::move(program_);
    const fs::path parent = fs::path(profile_).parent_path();
    for (const std::string& file : ProgramsIn(parent.empty() ? "." : parent)) {
      if (Ask(file)) return std::move(program_);
    }
    return absl::InvalidArgumentError(
        tried_ + "; name the program before the profile: allomon report PROGRAM " + profile_);
  }

 private:
  // Remembers the first reason only, because it is about the file that the user meant.
  bool Because(const std::string& reason) {
    if (tried_.empty()) tried_ = reason;
    return false;
  }

  bool Accept(bool loaded, const std::string& file, const std::string& error) {
    if (!loaded) return Because(file + " does not say its functions: " + error);
    if (program_.table.magic == magic_) return true;
    return Because(file + " is of another build than " + profile_ + " (magic " +
                   Hex(program_.table.magic) + ", not " + Hex(magic_) + ")");
  }

  bool Ask(const std::string& file) {
    std::string error;
    program_ = Program();
    const bool loaded = mlprof::LoadProgram(file, /*long_names=*/true, {}, &program_, &error);
    return Accept(loaded, file, error);
  }

  bool ReadStub(const std::string& file) {
    std::string script, error;
    mlprof::ReadFailure failure;
    if (!mlprof::ReadFile(file, &script, &failure)) {
      return Because(profile_ + " has no names of functions, and there is no " + file);
    }
    const std::string_view answer = AnswerOfStub(script);
    if (answer.empty()) return Because(file + " was not written by Allomon");
    program_ = Program();
    const bool loaded = mlprof::ProgramFromAnswer(file, answer, true, {}, &program_, &error);
    return Accept(loaded, file, error);
  }

  const std::string& profile_;
  const uint32_t magic_;
  Program program_;
  std::string tried_;
};

}  // namespace

absl::StatusOr<Program> FindProgram(const std::string& profile, uint32_t magic,
                                    const std::vector<std::string>& named) {
  Finder finder(profile, magic);
  return named.empty() ? finder.ByItself() : finder.AmongNamed(named);
}

}  // namespace allomon::report
