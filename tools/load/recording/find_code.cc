#include "tools/load/recording/find_code.h"

#include <cstring>
#include <tuple>
#include <utility>

#include "tools/process/places.h"
#include "tools/symbols/symbol_pack.h"

namespace allomon::recording {
namespace {

// Compares the time of change, not that of modification, because programs that replace files may
// set the latter.
bool IsSame(const CodeFile& file, const CodeIdentity& code) {
  if (!code.build_id.empty()) return file.BuildId() == code.build_id;
  switch (code.file_known) {
    case FileState::kAtPath:
      return file.identity() == code.file;
    case FileState::kElsewhere:
      return false;
    case FileState::kUnknown:
      break;
  }
  return file.identity().change_nanos <= code.start_nanos;
}

std::string HexOf(const uint8_t* bytes, size_t count) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (size_t i = 0; i < count; ++i) {
    hex += kDigits[bytes[i] / 16];
    hex += kDigits[bytes[i] % 16];
  }
  return hex;
}

FileState StateOf(uint8_t value) {
  return value <= static_cast<uint8_t>(FileState::kElsewhere) ? static_cast<FileState>(value)
                                                              : FileState::kUnknown;
}

// Debuggers keep a file with the build id abcdef as .build-id/ab/cdef, and its debug file as
// cdef.debug.
std::unique_ptr<CodeFile> OpenByBuildId(const CodeIdentity& code, const std::string& debug_folder) {
  // It becomes a part of paths, and may be a file's word.
  const bool is_hex = code.build_id.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (code.build_id.size() < 3 || !is_hex) return nullptr;
  const std::string name =
      "/.build-id/" + code.build_id.substr(0, 2) + "/" + code.build_id.substr(2);
  for (const std::string& folder : {debug_folder, std::string("/usr/lib/debug")}) {
    if (folder.empty()) continue;
    for (const char* const suffix : {"", ".debug"}) {
      auto file = CodeFile::Open(folder + name + suffix, debug_folder);
      if (file != nullptr && file->BuildId() == code.build_id) return file;
    }
  }
  for (const char* const name_in_cache : {"/executable", "/debuginfo"}) {
    const std::string path = DebugCacheFolder() + "/" + code.build_id + name_in_cache;
    auto file = CodeFile::Open(path, debug_folder);
    if (file != nullptr && file->BuildId() == code.build_id) return file;
  }
  return nullptr;
}

// Opens the file that the process has mapped.
std::unique_ptr<CodeFile> OpenMapped(const CodeIdentity& code, const std::string& debug_folder) {
  if (code.mapped_by == 0) return nullptr;
  const process::MappedPaths paths =
      process::PathsOfMapped(code.mapped_by, code.mapped_at, code.path);
  for (const std::string& path : paths.by_name) {
    auto file = CodeFile::Open(path, debug_folder);
    if (file != nullptr && IsSame(*file, code)) return file;
  }
  if (paths.by_address.empty()) return nullptr;
  auto file = CodeFile::Open(paths.by_address, debug_folder);
  return file != nullptr && file->BuildId() == code.build_id ? std::move(file) : nullptr;
}

}  // namespace

CodeIdentity IdentityOf(const Module& module, const std::string& path, uint64_t start_nanos) {
  CodeIdentity code;
  code.path = path;
  code.build_id = HexOf(module.build_id, module.build_id_bytes);
  code.start_nanos = start_nanos;
  code.is_program = module.path.length_bytes == 0;
  if (module.build_id_bytes != 0) return code;
  code.file_known = StateOf(module.file_known);
  if (code.file_known == FileState::kAtPath) {
    std::memcpy(&code.file, module.build_id, sizeof(code.file));
  }
  return code;
}

std::string PackKeyOf(const CodeIdentity& code) {
  const bool has_file = code.file_known == FileState::kAtPath;
  return PackKey(code.build_id, has_file ? code.file : FileIdentity());
}

bool operator<(const CodeIdentity& a, const CodeIdentity& b) {
  const auto key = [](const CodeIdentity& code) {
    return std::tie(code.path, code.build_id, code.file_known, code.file.device, code.file.inode,
                    code.file.size_bytes, code.file.change_nanos);
  };
  return key(a) < key(b);
}

FoundCode FindCode(const CodeIdentity& code, const std::string& debug_folder) {
  auto file = CodeFile::Open(code.path, debug_folder);
  if (file != nullptr && IsSame(*file, code)) return {std::move(file), ""};
  const bool is_there = file != nullptr;
  if (auto mapped = OpenMapped(code, debug_folder)) return {std::move(mapped), ""};
  if (auto other = OpenByBuildId(code, debug_folder)) return {std::move(other), ""};
  const std::string by_address = "; its functions are named by their addresses";
  const std::string how = code.build_id.empty() ? "" : " (other build id)";
  // Some code is in no file, as the kernel's own.
  if (code.path.find('/') == std::string::npos) return {nullptr, ""};
  if (is_there) return {nullptr, code.path + " has changed since" + how + by_address};
  return {nullptr, code.path + " is not there any more" + by_address};
}

}  // namespace allomon::recording
