// Names in reports, which are found without malloc.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "allocator/guard/code_place.h"
#include "allocator/guard/report_text.h"
#include "gtest/gtest.h"

extern "C" const char __ehdr_start;

namespace allomon::internal {

__attribute__((noinline)) int FunctionOfThisTest(int value) { return value * 3; }

namespace {

std::string Short(const std::string& symbol, size_t room = 256) {
  std::string out(room, '\0');
  out.resize(ShortName(symbol, out.data(), room));
  return out;
}

TEST(ShortName, ReadsWhatMostFunctionsAreCalled) {
  EXPECT_EQ(Short("main"), "main");
  EXPECT_EQ(Short("_Z4Mainv"), "Main");
  EXPECT_EQ(Short("_ZL6HiddenPKc"), "Hidden");
  EXPECT_EQ(Short("_ZN5Cache5TouchEi"), "Cache::Touch");
  EXPECT_EQ(Short("_ZNK5Cache5TouchEv"), "Cache::Touch");
  EXPECT_EQ(Short("_ZN5CacheC2ERKS_"), "Cache::Cache");
  EXPECT_EQ(Short("_ZN3app5CacheD0Ev"), "app::Cache::~Cache");
  EXPECT_EQ(Short("_ZN12_GLOBAL__N_15TouchEv"), "(anonymous namespace)::Touch");
  EXPECT_EQ(Short("_ZN1AclEv"), "A::operator()");
  EXPECT_EQ(Short("_ZSt4sortIPiEvT_S1_"), "std::sort");
  EXPECT_EQ(Short("_ZNSt6vectorIiSaIiEE9push_backEOi"), "std::vector::push_back");
  EXPECT_EQ(Short("_ZNSt6vectorISt4pairISsN3app1AEESaIS3_EE5beginEv"), "std::vector::begin");
  EXPECT_EQ(Short("_ZNSt5arrayIiLm16EE2atEm"), "std::array::at");
  EXPECT_EQ(Short("_ZN7allomon8internal18FunctionOfThisTestEi"),
            "allomon::internal::FunctionOfThisTest");
}

TEST(ShortName, CopiesAndPartsAreTheFunction) {
  EXPECT_EQ(Short("parse.constprop.0"), "parse");
  EXPECT_EQ(Short("parse.isra.0.cold"), "parse");
  EXPECT_EQ(Short("_ZN5Cache5TouchEi.part.0"), "Cache::Touch");
  EXPECT_EQ(Short("_ZN5alloc7raw_vec11finish_grow17h0123456789abcdefE"),
            "alloc::raw_vec::finish_grow");
  for (const char* symbol :
       {"main.parse", ".cold", "memcpy.avx2", "a.colder", "a::h0123456789ab"}) {
    EXPECT_EQ(Short(symbol), symbol);
  }
}

TEST(ShortName, LeavesAloneWhatItDoesNotUnderstand) {
  for (const char* symbol :
       {"", "_Z", "_ZN", "_ZNE", "_Z99Short", "_ZN5Cache", "_ZZ4mainENKUlvE_clEv", "_ZTV5Cache",
        "_Z99999999999999999999999999v", "_ZN1AIXsrSt1BIT_E5valueEE1CEv", "_ZN1AI"}) {
    EXPECT_EQ(Short(symbol), symbol);
  }
}

TEST(ShortName, NestingWithoutEndIsNotFollowed) {
  const std::string deep = "_ZN1A" + std::string(100000, 'I');
  EXPECT_EQ(Short(deep), deep.substr(0, 256));
}

TEST(ShortName, IsCutAtTheRoom) {
  EXPECT_EQ(Short("_ZN5Cache5TouchEi", 8), "Cache::T");
  EXPECT_EQ(Short("unmangled", 4), "unma");
}

TEST(CodePlace, FunctionOfTheExecutable) {
  CodePlace place;
  const uintptr_t function = reinterpret_cast<uintptr_t>(&FunctionOfThisTest);
  FindCodePlace(function + 1, &place);
  EXPECT_STREQ(place.symbol, "_ZN7allomon8internal18FunctionOfThisTestEi");
  EXPECT_EQ(place.offset, function + 1 - reinterpret_cast<uintptr_t>(&__ehdr_start));
  char* executable = realpath("/proc/self/exe", nullptr);
  EXPECT_STREQ(place.module, executable);
  free(executable);
}

TEST(CodePlace, FunctionOfASharedLibrary) {
  CodePlace place;
  // hcreate is a function that no sanitizer replaces.
  FindCodePlace(reinterpret_cast<uintptr_t>(dlsym(RTLD_DEFAULT, "hcreate")), &place);
  EXPECT_EQ(std::string(place.symbol).substr(0, 7), "hcreate");
  EXPECT_NE(std::string(place.module).find("/libc.so"), std::string::npos) << place.module;
}

// The kernel shows "PATH (deleted)" for a file that is gone; another file may have that name.
TEST(CodePlace, AnotherFileGivesNoNames) {
  const std::string path = std::filesystem::canonical(testing::TempDir()) / "mapped";
  std::filesystem::remove(path);
  std::filesystem::copy_file("/proc/self/exe", path);
  const size_t size = std::filesystem::file_size(path);
  const int fd = open(path.c_str(), O_RDONLY);
  void* const code = mmap(nullptr, size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
  ASSERT_NE(code, MAP_FAILED);
  close(fd);
  CodePlace place = {};
  uintptr_t pc = reinterpret_cast<uintptr_t>(code);
  const uintptr_t end = pc + size;
  for (; pc < end && place.symbol[0] == '\0'; pc += 16) FindCodePlace(pc, &place);
  pc -= 16;
  ASSERT_STRNE(place.symbol, "");
  std::filesystem::rename(path, path + " (deleted)");
  FindCodePlace(pc, &place);
  EXPECT_STRNE(place.symbol, "") << "it is the same file";
  std::filesystem::copy_file(path + " (deleted)", path);
  std::filesystem::remove(path + " (deleted)");
  std::filesystem::rename(path, path + " (deleted) (deleted)");
  FindCodePlace(pc, &place);
  EXPECT_STREQ(place.symbol, "") << place.module;
  std::filesystem::remove(path + " (deleted) (deleted)");
  munmap(code, size);
}

TEST(CodePlace, AddressOfNothing) {
  CodePlace place;
  FindCodePlace(1, &place);
  EXPECT_STREQ(place.module, "");
  EXPECT_STREQ(place.symbol, "");
  EXPECT_EQ(place.offset, 1u);
}

TEST(ReportText, NumbersAndForeignText) {
  static ReportText text;
  text << "a " << uint64_t{0} << " " << uint64_t{18446744073709551615u} << " ";
  text.Hex(0xdeadbeef).Foreign("x\ny\x7f");
  EXPECT_EQ(text.view(), "a 0 18446744073709551615 0xdeadbeefx?y?");
}

}  // namespace
}  // namespace allomon::internal
