#include <link.h>
#include <sys/auxv.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tracker/base/check.h"
#include "tracker/base/large_object.h"
#include "tracker/base/sys/raw_calls.h"
#include "tracker/callstack/file_names.h"
#include "tracker/callstack/mapped_files.h"
#include "tracker/callstack/unloaded_code.h"

namespace allomon::internal {
namespace {

// A module that has code in [begin, end).
struct NotedModule {
  uintptr_t begin = 0;
  uintptr_t end = 0;
};

// In a program with more modules without build ids, the others are queried again each time.
constexpr size_t kMostNoted = 256;

// Initialised at link time, since constructors run later.
ALLOMON_LARGE_ZEROS NotedModule g_noted[kMostNoted];
ALLOMON_LARGE_ZEROS MappedFileQuery g_files[kMostNoted];
size_t g_noted_count = 0;
ALLOMON_LARGE_ZEROS char g_program[PATH_MAX];

// The first module of the loader's list.
int BeginOfProgram(dl_phdr_info* info, size_t, void* begin) {
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    if (header.p_type != PT_LOAD) continue;
    *static_cast<uintptr_t*>(begin) = info->dlpi_addr + header.p_vaddr;
    break;
  }
  return 1;
}

bool ReadExe(char* path, size_t room_bytes) {
  // Tools that run programs themselves (valgrind) emulate the first path. It does not exist once
  // the first thread has ended.
  ssize_t length = sys::Readlink("/proc/self/exe", path, room_bytes - 1);
  if (length <= 0) length = sys::Readlink("/proc/thread-self/exe", path, room_bytes - 1);
  if (length <= 0) return false;
  path[length] = '\0';
  path[LengthOfName(path)] = '\0';
  return true;
}

// A fallback for the program's path: relative to the current folder if the program was started with
// a relative path.
void ReadAuxiliary(char* path, size_t room_bytes) {
  const auto* const name = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  if (name == nullptr) return;
  std::string_view rest(name);
  while (rest.substr(0, 2) == "./") rest.remove_prefix(2);
  if (name[0] != '/' && sys::Getcwd(path, room_bytes) > 1 && path[0] == '/') {
    return AppendToFolder(rest, path, room_bytes);
  }
  const size_t length = std::min(rest.size(), room_bytes - 1);
  memcpy(path, rest.data(), length);
  path[length] = '\0';
}

void FindProgramPath(char* path, size_t room_bytes) {
  // If the kernel was given the loader as the program, it has not loaded another loader for it.
  const bool is_by_kernel = getauxval(AT_BASE) != 0;
  if (is_by_kernel && ReadExe(path, room_bytes)) return;
  uintptr_t begin = 0;
  dl_iterate_phdr(BeginOfProgram, &begin);
  if (!PathOfMapping(begin, path, room_bytes)) ReadAuxiliary(path, room_bytes);
}

int NoteModule(dl_phdr_info* info, size_t, void* is_first) {
  const bool is_program = std::exchange(*static_cast<bool*>(is_first), false);
  const char* const path = is_program ? g_program : info->dlpi_name;
  uint8_t build_id[kMostBuildIdBytes];
  if (!IsFileName(path) || ReadBuildId(info->dlpi_phdr, info->dlpi_phnum, info->dlpi_addr, build_id,
                                       sizeof(build_id)) != 0) {
    return 0;
  }
  NotedModule noted;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
    const uintptr_t begin = info->dlpi_addr + header.p_vaddr;
    if (noted.begin == 0) noted.begin = begin;
    noted.end = begin + header.p_memsz;
  }
  if (noted.end == 0) return 0;
  ALLOMON_DCHECK("inv.code.noted", g_noted_count < kMostNoted && noted.begin <= noted.end);
  g_noted[g_noted_count] = noted;
  // Modules from the start of a program stay loaded, and so do their names.
  g_files[g_noted_count] = {path, noted.begin, {}};
  return ++g_noted_count == kMostNoted;
}

// Priority 101 is before the constructor that starts a profile from the environment.
__attribute__((constructor(101))) void NoteCodeFiles() {
  NoteProcessBegin();
  FindProgramPath(g_program, sizeof(g_program));
  bool is_first = true;
  dl_iterate_phdr(NoteModule, &is_first);
  if (g_noted_count != 0) FindMappedFiles(g_files, g_noted_count);
}

}  // namespace

const char* ProgramPath() { return g_program; }

bool FindNotedFile(uintptr_t address, MappedFile* file) {
  for (size_t i = 0; i < g_noted_count; ++i) {
    if (address < g_noted[i].begin || address >= g_noted[i].end) continue;
    *file = g_files[i].found;
    return file->state != FileState::kUnknown;
  }
  return false;
}

void IdentifyModules(std::vector<LoadedModule>* modules) {
  std::vector<MappedFileQuery> queries;
  std::vector<LoadedModule*> asked;
  for (LoadedModule& module : *modules) {
    const bool is_program = module.path.empty() && &module == modules->data();
    const char* const path = is_program ? ProgramPath() : module.path.c_str();
    if (!module.build_id.empty() || module.code.empty() || !IsFileName(path)) continue;
    if (module.file.state != FileState::kUnknown) continue;
    const uintptr_t begin = module.code.front().begin;
    if (FindNotedFile(begin, &module.file)) continue;
    queries.push_back({path, begin, {}});
    asked.push_back(&module);
  }
  if (queries.empty()) return;
  FindMappedFiles(queries.data(), queries.size());
  for (size_t i = 0; i < asked.size(); ++i) asked[i]->file = queries[i].found;
}

}  // namespace allomon::internal
