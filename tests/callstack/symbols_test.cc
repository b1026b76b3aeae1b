#include "tracker/symbols/symbols.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <time.h>

#include <string>

#include "tracker/callstack/cfi_entry.h"
#include "tracker/symbols/elf_file.h"
#include "tracker/symbols/function_table.h"
#include "tracker/symbols/memory_map.h"

namespace allomon {
namespace symbols_test {

__attribute__((noinline)) int Named(int x) {  // line kLineOfNamed
  return x + 1;
}
constexpr int kLineOfNamed = 20;

}  // namespace symbols_test

namespace {

template <typename T>
uintptr_t AddressOf(T* function) {
  return reinterpret_cast<uintptr_t>(function);
}

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

Symbol ResolveNow(uintptr_t pc) { return ProcessSymbols::Load()->Resolve(pc); }

// A library of this package, loaded while this object lives.
class Library {
 public:
  explicit Library(const std::string& name)
      : handle_(dlopen((Folder() + name).c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) ADD_FAILURE() << dlerror();
  }
  ~Library() { dlclose(handle_); }

  uintptr_t Find(const char* name) const { return AddressOf(dlsym(handle_, name)); }

 private:
  static std::string Folder() {
    return std::string(getenv("TEST_SRCDIR")) + "/" + getenv("TEST_WORKSPACE") +
           "/tests/callstack/";
  }

  void* const handle_;
};

TEST(Symbols, OwnFunctionWithNameAndLine) {
  const uintptr_t start = AddressOf(&symbols_test::Named);
  const Symbol symbol = ResolveNow(start + 1);
  EXPECT_EQ(symbol.name, "allomon::symbols_test::Named(int)");
  EXPECT_TRUE(symbol.named);
  EXPECT_EQ(symbol.position,
            "tests/callstack/symbols_test.cc: " + std::to_string(symbols_test::kLineOfNamed));
  EXPECT_EQ(symbol.function_start, start);
  EXPECT_EQ(BaseName(symbol.module), "symbols_test");
}

TEST(Symbols, FunctionOfLibc) {
  // The address of qsort may be that of an interceptor in a sanitizer's build.
  const uintptr_t pc = AddressOf(dlsym(RTLD_NEXT, "qsort"));
  const Symbol symbol = ResolveNow(pc);
  EXPECT_EQ(symbol.name.substr(symbol.name.size() - 5), "qsort");
  EXPECT_TRUE(symbol.named);
  EXPECT_EQ(symbol.function_start, pc);
}

TEST(Symbols, LibcsQsortItself) {
  void* libc = dlopen("libc.so.6", RTLD_NOW);
  const uintptr_t pc = AddressOf(dlsym(libc, "qsort"));
  const Symbol symbol = ResolveNow(pc + 2);
  EXPECT_EQ(symbol.name, "qsort");
  EXPECT_EQ(symbol.function_start, pc);
  EXPECT_EQ(BaseName(symbol.module), "libc.so.6");
  dlclose(libc);
}

class Library5And4 : public ::testing::TestWithParam<const char*> {};

TEST_P(Library5And4, NamesAndLines) {
  Library library(GetParam());
  const Symbol plain = ResolveNow(library.Find("fixture_plain"));
  EXPECT_EQ(plain.name, "fixture_plain");
  EXPECT_EQ(plain.position, "tests/callstack/fixture.cc: 16");
  const Symbol original = ResolveNow(library.Find("fixture_original"));
  EXPECT_EQ(original.position, "tests/callstack/fixture.cc: 19");
}
INSTANTIATE_TEST_SUITE_P(Dwarf, Library5And4,
                         ::testing::Values("libfixture.so", "libfixture_dwarf4.so"));

TEST(Symbols, AliasIsChosenByRule) {
  Library library("libfixture.so");
  EXPECT_EQ(ResolveNow(library.Find("fixture_original")).name, "fixture_a");
  EXPECT_EQ(ResolveNow(library.Find("__fixture_alias")).name, "fixture_a");
}

uintptr_t HiddenFunction(const Library& library) {
  const auto get = reinterpret_cast<void* (*)()>(library.Find("fixture_hidden"));
  return AddressOf(get());
}

TEST(Symbols, StaticFunctionOfStrippedLibraryIsNamedByOffset) {
  Library library("libfixture_bare.so");
  const uintptr_t hidden = HiddenFunction(library);
  const Symbol symbol = ResolveNow(hidden + 1);
  EXPECT_FALSE(symbol.named);
  EXPECT_EQ(symbol.function_start, hidden);
  Dl_info info;
  ASSERT_NE(dladdr(reinterpret_cast<void*>(hidden), &info), 0);
  char offset[32];
  snprintf(offset, sizeof(offset), "0x%zx", hidden - AddressOf(info.dli_fbase));
  EXPECT_EQ(symbol.name, std::string("libfixture_bare.so+") + offset);
  EXPECT_EQ(symbol.position, std::string("libfixture_bare.so: ") + offset);
  EXPECT_EQ(BaseName(symbol.module), "libfixture_bare.so");
  // The names that the dynamic linker needs are still present.
  EXPECT_EQ(ResolveNow(library.Find("fixture_plain")).name, "fixture_plain");
}

TEST(Symbols, NamesAndLinesFromDebugLink) {
  Library library("libfixture_linked.so");
  const Symbol symbol = ResolveNow(HiddenFunction(library));
  EXPECT_EQ(symbol.name, "(anonymous namespace)::Hidden(int)");
  EXPECT_EQ(symbol.position, "tests/callstack/fixture.cc: 4");
}

TEST(Symbols, DebugFileOfAnotherBuildIsRejected) {
  Library library("libfixture_mislinked.so");
  EXPECT_FALSE(ResolveNow(HiddenFunction(library)).named);
}

TEST(Symbols, FunctionStart) {
  const auto symbols = ProcessSymbols::Load();
  const uintptr_t start = AddressOf(&symbols_test::Named);
  EXPECT_EQ(symbols->FunctionStart(start), start);
  EXPECT_EQ(symbols->FunctionStart(start + 1), start);
  EXPECT_EQ(symbols->FunctionStart(0), 0u);
  EXPECT_EQ(symbols->FunctionStart(AddressOf(&symbols)), 0u);
}

TEST(Symbols, Vdso) {
  if (getauxval(AT_SYSINFO_EHDR) == 0) GTEST_SKIP() << "this kernel has no vDSO";
  void* vdso = dlopen("linux-vdso.so.1", RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(vdso, nullptr);
  const Symbol symbol = ResolveNow(AddressOf(dlsym(vdso, "__vdso_gettimeofday")));
  // The weak symbol at the same address has the better name.
  EXPECT_EQ(symbol.name, "gettimeofday");
  EXPECT_EQ(symbol.module, "[vdso]");
  dlclose(vdso);
}

TEST(Symbols, GeneratedCode) {
  void* code = mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(code, MAP_FAILED);
  const Symbol symbol = ResolveNow(AddressOf(code) + 100);
  EXPECT_EQ(symbol.name, "[anon]+0x0");
  EXPECT_EQ(symbol.module, "[anon]");
  EXPECT_FALSE(symbol.named);
  munmap(code, 4096);
}

TEST(Symbols, NoCodeAtAll) {
  const int on_stack = 0;
  for (uintptr_t pc : {uintptr_t{0}, uintptr_t{1}, ~uintptr_t{0}, AddressOf(&on_stack)}) {
    const Symbol symbol = ResolveNow(pc);
    EXPECT_EQ(symbol.name, "[unknown]");
    EXPECT_EQ(symbol.function_start, 0u);
  }
}

// The linker's table leads to the same extents as reading every record.
TEST(FdeTable, FindsEveryFunctionOfThisProgram) {
  const auto file = internal::ElfFile::Open("/proc/self/exe");
  ASSERT_NE(file, nullptr);
  const internal::FdeTable table(*file);
  const auto frames = file->FindSection(".eh_frame");
  ASSERT_TRUE(frames.has_value());
  const uint8_t* record = frames->data.position();
  const internal::CfiBytes bytes = {record, record + frames->data.remaining(), frames->address};
  int functions = 0;
  do {
    internal::CfiEntry entry;
    if (!ParseFde(bytes, record, &entry) || entry.pc_begin == entry.pc_end) continue;
    ++functions;
    for (const uintptr_t pc : {entry.pc_begin, entry.pc_end - 1}) {
      const auto range = table.Find(pc);
      ASSERT_TRUE(range.has_value()) << pc;
      EXPECT_EQ(range->begin, entry.pc_begin);
      EXPECT_EQ(range->end, entry.pc_end);
    }
  } while (NextCfiRecord(bytes, &record));
  EXPECT_GT(functions, 100);
  EXPECT_FALSE(table.Find(1).has_value());
  EXPECT_FALSE(table.Find(UINTPTR_MAX / 2).has_value());
}

TEST(MemoryMap, ParsesExecutableLinesOnly) {
  const auto mappings = internal::ParseMaps(
      "00400000-00452000 r-xp 00001000 08:02 173521      /usr/bin/dbus daemon\n"
      "00651000-00652000 r--p 00051000 08:02 173521      /usr/bin/dbus daemon\n"
      "7f00-7e00 r-xp 0 0:0 0\n"
      "nonsense\n"
      "7ffff000-80000000 r-xp 00000000 00:00 0 \n");
  ASSERT_EQ(mappings.size(), 2u);
  EXPECT_EQ(mappings[0].begin, 0x400000u);
  EXPECT_EQ(mappings[0].end, 0x452000u);
  EXPECT_EQ(mappings[0].offset, 0x1000u);
  EXPECT_EQ(mappings[0].path, "/usr/bin/dbus daemon");
  EXPECT_EQ(mappings[1].path, "[anon]");
  EXPECT_EQ(internal::FindMapping(mappings, 0x451fff), &mappings[0]);
  EXPECT_EQ(internal::FindMapping(mappings, 0x452000), nullptr);
  EXPECT_EQ(internal::FindMapping(mappings, 0x3fffff), nullptr);
}

}  // namespace
}  // namespace allomon
