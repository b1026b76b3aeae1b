// The file from which code is mapped, and the information in its pages when the file is gone.
#include "tracker/callstack/mapped_files.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>

#include "tracker/callstack/file_names.h"
#include "tracker/callstack/maps_line.h"
#include "tracker/callstack/unloaded_code.h"
#include "tracker/symbols/elf_functions.h"
#include "tracker/symbols/module_file.h"
#include "tracker/symbols/module_symbols.h"

namespace allomon::internal {
namespace {

namespace fs = std::filesystem;

TEST(MapsLine, HasWhatTheKernelWrites) {
  MapsLine line;
  ASSERT_TRUE(ParseMapsLine(
      "7f12a000-7f12b000 r-xp 0002a000 fe:01 10978502                  /a b/c (deleted)", &line));
  EXPECT_EQ(line.begin, 0x7f12a000u);
  EXPECT_EQ(line.end, 0x7f12b000u);
  EXPECT_TRUE(line.executable);
  EXPECT_EQ(line.offset, 0x2a000u);
  EXPECT_EQ(line.device, makedev(0xfe, 1));
  EXPECT_EQ(line.inode, 10978502u);
  EXPECT_EQ(line.path, "/a b/c (deleted)");
  EXPECT_TRUE(EndsWithDeleted(line.path));
  ASSERT_TRUE(ParseMapsLine("7000-8000 rw-p 00000000 00:00 0 ", &line));
  EXPECT_FALSE(line.executable);
  EXPECT_EQ(line.path, "");
  ASSERT_TRUE(ParseMapsLine("7000-8000 rw-p 00000000 00:00 0", &line));
  EXPECT_EQ(line.inode, 0u);
}

TEST(MapsLine, WithoutSenseIsNone) {
  MapsLine line;
  for (const char* const text :
       {"", "7000", "7000-8000", "8000-7000 r-xp 0 0:0 0", "7000-8000 r-x 0 0:0 0",
        "7000-8000 r-xp g 0:0 0", "7000-8000 r-xp 0 0 0", "7000-8000 r-xp 0 0:0 a",
        "123456789012345678901-8000 r-xp 0 0:0 0"}) {
    EXPECT_FALSE(ParseMapsLine(text, &line)) << text;
  }
}

std::string Fixture(const std::string& name) {
  return std::string(getenv("TEST_SRCDIR")) + "/" + getenv("TEST_WORKSPACE") + "/tests/callstack/" +
         name;
}

// A copy of a library, loaded while this object lives.
class Copy {
 public:
  explicit Copy(const std::string& folder) {
    const std::string root = testing::TempDir() + "/mapped_files";
    fs::remove_all(root);
    fs::create_directories(root + folder);
    path_ = fs::canonical(root).string() + folder + "/libcopy.so";
    fs::copy_file(Fixture("libfixture.so"), path_);
    // The loader accepts no longer name than PATH_MAX, and needs none.
    handle_ = dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) ADD_FAILURE() << dlerror();
  }
  ~Copy() { dlclose(handle_); }

  const std::string& path() const { return path_; }
  uintptr_t Find(const char* name) const {
    return reinterpret_cast<uintptr_t>(dlsym(handle_, name));
  }
  uintptr_t address() const { return Find("fixture_plain"); }

  MappedFile Ask() const {
    MappedFileQuery query = {path_.c_str(), address(), {}};
    FindMappedFiles(&query, 1);
    return query.found;
  }

 private:
  std::string path_;
  void* handle_ = nullptr;
};

FileIdentity IdentityAt(const std::string& path) {
  struct stat status = {};
  EXPECT_EQ(stat(path.c_str(), &status), 0);
  return IdentityOf(status);
}

TEST(MappedFiles, FileAtItsPathIsTheMappedOne) {
  const Copy copy("");
  const MappedFile found = copy.Ask();
  EXPECT_EQ(found.state, FileState::kAtPath);
  EXPECT_TRUE(found.identity == IdentityAt(copy.path()));
}

TEST(MappedFiles, AnotherFileAtThePathIsNotTheMappedOne) {
  const Copy copy("");
  fs::copy_file(Fixture("libfixture_dwarf4.so"), copy.path() + ".new");
  fs::rename(copy.path() + ".new", copy.path());
  EXPECT_EQ(copy.Ask().state, FileState::kElsewhere);
  EXPECT_FALSE(copy.Ask().identity.is_known());
  fs::remove(copy.path());
  EXPECT_EQ(copy.Ask().state, FileState::kElsewhere);
}

TEST(MappedFiles, AddressInNoMappingIsOfNoFile) {
  MappedFileQuery query = {"/proc/self/exe", 8, {}};
  FindMappedFiles(&query, 1);
  EXPECT_EQ(query.found.state, FileState::kUnknown);
}

// Several queries in one pass, and lines longer than the read buffer.
TEST(MappedFiles, LongPathsAreReadToTheirEnds) {
  std::string folder;
  for (int i = 0; i < 12; ++i) folder += "/" + std::string(200, static_cast<char>('a' + i));
  const Copy copy(folder);
  MappedFileQuery queries[] = {
      {copy.path().c_str(), copy.address(), {}},
      {ProgramPath(), reinterpret_cast<uintptr_t>(&IdentityAt), {}},
      {ProgramPath(), copy.address(), {}},
  };
  FindMappedFiles(queries, 3);
  EXPECT_EQ(queries[0].found.state, FileState::kAtPath);
  EXPECT_EQ(queries[1].found.state, FileState::kAtPath);
  EXPECT_EQ(queries[2].found.state, FileState::kElsewhere);
}

TEST(MappedFiles, PathThatIsNotReadWholeIsNone) {
  char path[4096];
  std::string folder;
  // The test's own folder, which comes before, may have 500 bytes.
  while (folder.size() < 200) folder += "/" + std::string(99, 'a');
  EXPECT_TRUE(PathOfMapping(Copy(folder).address(), path, sizeof(path)));
  while (folder.size() < 1200) folder += "/" + std::string(199, 'a');
  EXPECT_FALSE(PathOfMapping(Copy(folder).address(), path, sizeof(path)));
}

TEST(MappedFiles, PathOfAMappingIsTheKernels) {
  const Copy copy("");
  char path[4096];
  ASSERT_TRUE(PathOfMapping(copy.address(), path, sizeof(path)));
  EXPECT_EQ(path, copy.path());
  fs::remove(copy.path());
  ASSERT_TRUE(PathOfMapping(copy.address(), path, sizeof(path)));
  EXPECT_EQ(path, copy.path()) << "without (deleted)";
  int local = 0;
  EXPECT_FALSE(PathOfMapping(reinterpret_cast<uintptr_t>(&local), path, sizeof(path)));
  ASSERT_TRUE(PathOfMapping(copy.address(), path, 8));
  EXPECT_EQ(path, copy.path().substr(0, 7));
}

TEST(MappedFiles, NameThatEndsInDeletedStays) {
  const Copy copy("/folder (deleted)");
  const std::string renamed = copy.path() + " (deleted)";
  fs::rename(copy.path(), renamed);
  char path[4096];
  ASSERT_TRUE(PathOfMapping(copy.address(), path, sizeof(path)));
  EXPECT_EQ(path, renamed);
}

TEST(MappedFiles, TwoMappingsOfAFileAreOfTheSame) {
  const Copy copy("");
  const auto file = ElfFile::Open(copy.path());
  const auto other = ElfFile::Open(Fixture("libfixture.so"));
  ASSERT_TRUE(file != nullptr && other != nullptr);
  EXPECT_TRUE(IsSameMappedFile(copy.address(), reinterpret_cast<uintptr_t>(file->data())));
  EXPECT_FALSE(IsSameMappedFile(copy.address(), reinterpret_cast<uintptr_t>(other->data())));
}

TEST(FileNames, NameInAFolderKeepsToItsRoom) {
  constexpr size_t kRoomBytes = 10;
  const auto joined = [](const char* folder, std::string_view name) {
    char path[2 * kRoomBytes] = {};
    strcpy(path, folder);
    memset(path + kRoomBytes, '#', kRoomBytes);
    AppendToFolder(name, path, kRoomBytes);
    EXPECT_EQ(std::string(path + kRoomBytes, kRoomBytes), std::string(kRoomBytes, '#'));
    return std::string(path);
  };
  EXPECT_EQ(joined("/", "a"), "/a");
  EXPECT_EQ(joined("/a", "b"), "/a/b");
  EXPECT_EQ(joined("/2345", "789"), "/2345/789");
  EXPECT_EQ(joined("/2345", "7890"), "");
  EXPECT_EQ(joined("/23456789", "host"), "") << "the folder alone fills it";
  EXPECT_EQ(joined("/2345678", "host"), "");
}

TEST(CodeFiles, ProgramIsThisOne) {
  EXPECT_TRUE(fs::equivalent(ProgramPath(), "/proc/self/exe"));
  EXPECT_EQ(ProgramPath()[0], '/');
}

// The mapped pages of a module agree with its file about its exported functions, and about the
// beginnings of functions.
TEST(MappedImage, SaysOfFunctionsWhatTheFileSays) {
  for (const char* const name : {"libfixture.so", "libfixture_bare.so"}) {
    const std::string path = Fixture(name);
    void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(handle, nullptr) << dlerror();
    const auto address = reinterpret_cast<uintptr_t>(dlsym(handle, "fixture_plain"));
    auto image = MappedImage::CopyOf(address);
    ASSERT_NE(image, nullptr);
    const ModuleSymbols of_image(std::move(image), "");
    dlclose(handle);  // the copy stays
    const auto file = ElfFile::Open(path);
    const ModuleSymbols of_file(ElfFile::Open(path), "");
    int functions = 0;
    ForEachFunction(*file, [&](const Elf64_Sym& symbol, std::string_view) {
      const uint64_t place = symbol.st_value;
      const auto wanted = of_file.FindFde(place);
      const auto found = of_image.FindFde(place);
      ASSERT_EQ(found.has_value(), wanted.has_value());
      if (!wanted) return;
      EXPECT_EQ(found->begin, wanted->begin);
      EXPECT_EQ(found->end, wanted->end);
    });
    const auto exported = file->FindSection(".dynsym");
    ASSERT_TRUE(exported);
    ForEachFunctionIn(exported->data, file->Section(exported->link).data,
                      [&](const Elf64_Sym& symbol, std::string_view) {
                        ++functions;
                        const FunctionSymbol* const found = of_image.FindSymbol(symbol.st_value);
                        ASSERT_NE(found, nullptr);
                        EXPECT_EQ(found->name, of_file.FindSymbol(symbol.st_value)->name);
                        EXPECT_EQ(found->range.end, symbol.st_value + symbol.st_size);
                      });
    EXPECT_GT(functions, 3) << name;
  }
}

TEST(MappedImage, OfTheCLibrary) {
  const auto address = reinterpret_cast<uintptr_t>(dlsym(RTLD_NEXT, "qsort"));
  const auto module = FindLoadedModule(address);
  ASSERT_TRUE(module);
  EXPECT_FALSE(module->is_program);
  auto image = MappedImage::CopyOf(address);
  ASSERT_NE(image, nullptr);
  const ModuleSymbols symbols(std::move(image), module->module.build_id);
  const uint64_t place = address - module->module.bias;
  ASSERT_NE(symbols.FindSymbol(place + 2), nullptr);
  EXPECT_EQ(symbols.FindSymbol(place + 2)->name, "qsort");
  EXPECT_EQ(symbols.FindFde(place + 2)->begin, place);
}

TEST(MappedImage, OfNoModuleIsNone) {
  EXPECT_EQ(MappedImage::CopyOf(8), nullptr);
  EXPECT_FALSE(FindLoadedModule(8).has_value());
}

}  // namespace
}  // namespace allomon::internal
