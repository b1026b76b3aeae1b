#include "tracker/symbols/module_file.h"

#include <link.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cinttypes>
#include <climits>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string_view>
#include <utility>

#include "tracker/base/check.h"
#include "tracker/callstack/file_names.h"
#include "tracker/callstack/mapped_files.h"
#include "tracker/callstack/unloaded_code.h"

namespace allomon::internal {
namespace {

constexpr size_t kMostCodeRanges = 8;

// Has a fixed size, since a writer that finds no memory leaves at the allocation and releases no
// lock (allocator/host/writing_reserve.h).
struct Search {
  uintptr_t address;
  bool is_first = true;
  bool is_found = false;
  bool is_program = false;
  uintptr_t bias = 0;
  std::array<uint8_t, kMostBuildIdBytes> build_id;
  size_t build_id_bytes = 0;
  std::array<CodeRange, kMostCodeRanges> code;
  size_t code_count = 0;
  char path[PATH_MAX];
};

int FindByAddress(dl_phdr_info* info, size_t, void* pointer) {
  auto* const search = static_cast<Search*>(pointer);
  search->is_program = std::exchange(search->is_first, false);
  search->code_count = 0;
  for (int i = 0; i < info->dlpi_phnum && search->code_count < kMostCodeRanges; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
    const uintptr_t begin = info->dlpi_addr + header.p_vaddr;
    search->code[search->code_count++] = {begin, begin + header.p_memsz};
    search->is_found |= search->address - begin < header.p_memsz;
  }
  if (!search->is_found) return 0;
  search->bias = info->dlpi_addr;
  search->build_id_bytes = ReadBuildId(info->dlpi_phdr, info->dlpi_phnum, info->dlpi_addr,
                                       search->build_id.data(), search->build_id.size());
  ALLOMON_DCHECK_LE("inv.symbols.bounded", search->build_id_bytes, search->build_id.size());
  strncpy(search->path, info->dlpi_name, sizeof(search->path) - 1);
  search->path[sizeof(search->path) - 1] = '\0';
  return 1;
}

// `error` is that of ElfFile::Open.
std::string WhyNot(const std::string& path, int error) {
  if (error == 0 || error == ENOEXEC) return path + " has changed since it was loaded";
  if (error == ENOMEM) return "no memory is left to read " + path;
  if (error == ENOENT || error == ENOTDIR) return path + " is not there any more";
  return path + " cannot be read (" + strerror(error) + ")";
}

// Opens the first of some paths that leads to the requested file.
class Opener {
 public:
  using IsIt = std::function<bool(const ElfFile& file)>;

  explicit Opener(IsIt is_it) : is_it_(std::move(is_it)) {}

  void Try(const std::string& path) {
    if (result_.file != nullptr) return;
    // The loader may have the name that dlopen() was given while another folder was current.
    if (path[0] != '/') return Say(path + " is no whole path");
    int error = 0;
    std::unique_ptr<ElfFile> file = ElfFile::Open(path, &error);
    const bool is_it = file != nullptr && is_it_(*file);
    has_other_contents_ |= error == ENOEXEC;
    if (!is_it) return Say(WhyNot(path, error));
    result_.file = std::move(file);
  }

  // Whether a path leads to a file that is no ELF file.
  bool has_other_contents() const { return has_other_contents_; }

  OpenedFile Finish() { return std::move(result_); }

 private:
  // Only the first reason counts, which is that of the module's own path.
  void Say(std::string why) {
    if (result_.why.empty()) result_.why = std::move(why);
  }

  const IsIt is_it_;
  bool has_other_contents_ = false;
  OpenedFile result_;
};

bool IsMappedFrom(const ElfFile& file, const Mapping& mapping) {
  const FileIdentity& identity = file.identity();
  if (identity.device == mapping.device && identity.inode == mapping.inode) return true;
  return IsSameMappedFile(mapping.begin, reinterpret_cast<uintptr_t>(file.data()));
}

bool IsOfModule(const ElfFile& file, const LoadedModule& module, const Mapping* mapping) {
  if (!module.build_id.empty()) return file.BuildId() == module.build_id;
  if (mapping != nullptr && mapping->inode != 0) return IsMappedFrom(file, *mapping);
  MappedFile noted;
  return FindNotedFile(module.code.front().begin, &noted) && noted.state == FileState::kAtPath &&
         noted.identity == file.identity();
}

// The kernel names memory that has no file as if it had one.
bool IsNameOfMemory(std::string_view path) {
  for (const std::string_view name : {"/memfd:", "/dev/zero", "/SYSV", "/anon_hugepage"}) {
    if (path.substr(0, name.size()) == name) return true;
  }
  return false;
}

// Returns a link to the mapped file itself, which mostly only root may follow.
std::string LinkOf(const Mapping& mapping) {
  char path[80];
  std::snprintf(path, sizeof(path), "/proc/self/map_files/%" PRIxPTR "-%" PRIxPTR, mapping.begin,
                mapping.end);
  return path;
}

}  // namespace

std::optional<FoundModule> FindLoadedModule(uintptr_t address) {
  Search search;
  search.address = address;
  dl_iterate_phdr(FindByAddress, &search);
  if (!search.is_found) return std::nullopt;
  ALLOMON_DCHECK_NE("inv.symbols.code", search.code_count, 0u);
  FoundModule found;
  found.is_program = search.is_program;
  found.module.path = search.path;
  found.module.build_id = ToHex(search.build_id.data(), search.build_id_bytes);
  found.module.bias = search.bias;
  found.module.code.assign(search.code.begin(), search.code.begin() + search.code_count);
  return found;
}

std::string PathOf(const Mapping& mapping) {
  return mapping.path.substr(0, LengthOfName(mapping.path.c_str()));
}

OpenedFile OpenModule(const FoundModule& found, const std::string& path, const Mapping* mapping) {
  Opener opener([&](const ElfFile& file) { return IsOfModule(file, found.module, mapping); });
  opener.Try(path);
  if (found.is_program) opener.Try("/proc/thread-self/exe");
  return opener.Finish();
}

OpenedFile OpenMapping(const Mapping& mapping) {
  if (mapping.inode == 0) return {};
  Opener opener([&](const ElfFile& file) { return IsMappedFrom(file, mapping); });
  opener.Try(PathOf(mapping));
  opener.Try("/proc/thread-self/exe");
  opener.Try(LinkOf(mapping));
  OpenedFile opened = opener.Finish();
  if (IsNameOfMemory(mapping.path) || opener.has_other_contents()) opened.why.clear();
  return opened;
}

OpenedFile OpenUnloaded(const UnloadedModule& module) {
  Opener opener([&](const ElfFile& file) {
    return IsFileOf(module, module.build_id.empty() ? "" : file.BuildId(), file.identity());
  });
  opener.Try(module.path);
  return opener.Finish();
}

}  // namespace allomon::internal
