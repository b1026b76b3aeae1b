// Names of real code: each test compiles the same source in another way, and asks for the names of
// an instruction in a function that was inlined into another.

#include "tools/load/recording/code_names.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tracker/gates/source_frames.h"

namespace allomon::recording {
namespace {

constexpr char kSource[] = R"(namespace shop {
inline __attribute__((always_inline)) int Inner(int value) {
  asm volatile("the_place: nop");
  return value + 1;
}
class Counter {
 public:
  int Outer(int value);
};
int Counter::Outer(int value) {
  return Inner(value);
}
}  // namespace shop
)";
constexpr int kInnerLine = 3;
constexpr int kOuterLine = 11;
constexpr uint64_t kLongAfter = UINT64_MAX / 2;

void Shell(const std::string& command) { ASSERT_EQ(std::system(command.c_str()), 0) << command; }

std::string OutputOf(const std::string& command) {
  std::FILE* const pipe = popen(command.c_str(), "r");
  std::string output;
  for (int next = std::fgetc(pipe); next != EOF; next = std::fgetc(pipe)) {
    output += static_cast<char>(next);
  }
  pclose(pipe);
  return output;
}

// The library stays loaded.
uintptr_t LoadedAt(const std::string& path) {
  void* const library = dlopen(path.c_str(), RTLD_NOW);
  link_map* map = nullptr;
  EXPECT_TRUE(library != nullptr && dlinfo(library, RTLD_DI_LINKMAP, &map) == 0) << dlerror();
  return map == nullptr ? 0 : map->l_addr;
}

class CodeNamesTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "/code_names_" +
              testing::UnitTest::GetInstance()->current_test_info()->name();
    Shell("rm -rf " + folder_ + " && mkdir -p " + folder_ + "/debug");
    std::ofstream(folder_ + "/shop.cc") << kSource;
  }

  // Compiles in the folder, as people do.
  void Compile(const std::string& options) {
    Shell(
        "cd " + folder_ + " && g++ -O1 -fPIC " + options + " -c shop.cc -o shop.o && g++ -shared " +
        (options.find("build-id") == std::string::npos ? "-Wl,--build-id" : "-Wl,--build-id=none") +
        " shop.o -o libshop.so");
    const std::string symbols = OutputOf("nm " + folder_ + "/libshop.so");
    place_ = AddressIn(symbols, " the_place");
    outer_ = AddressIn(symbols, " _ZN4shop7Counter5OuterEi");
    code_.path = folder_ + "/libshop.so";
    code_.build_id = CodeFile::Open(code_.path, "")->BuildId();
    code_.start_nanos = kLongAfter;
  }

  void Tool(const std::string& command) { Shell("cd " + folder_ + " && " + command); }

  // "name file:line", innermost first, with a space between.
  std::string Names(const std::string& debug_folder = "") {
    sources_.debug_dir = debug_folder;
    CodeNames names(sources_);
    const uint32_t file = names.AddFile(code_);
    names.Ask(file, place_);
    names.LookUp();
    note_ = names.note(file);
    std::ostringstream text;
    for (const heap::Line& line : names.At(file, place_)) {
      const heap::Function& function = names.functions()[line.function];
      text << function.name << ' ' << function.file << ':' << line.line << ' ';
      linker_names_.push_back(function.linker_name);
      start_lines_.push_back(function.start_line);
      columns_.push_back(line.column);
    }
    return text.str();
  }

  static std::string InlinedNames() {
    return "shop::Inner(int) shop.cc:" + std::to_string(kInnerLine) +
           " shop::Counter::Outer(int) shop.cc:" + std::to_string(kOuterLine) + " ";
  }

  static uint64_t AddressIn(const std::string& symbols, const std::string& name) {
    const size_t at = symbols.find(name);
    const size_t line = at == std::string::npos ? 0 : symbols.rfind('\n', at) + 1;
    EXPECT_NE(at, std::string::npos) << name;
    return std::strtoull(symbols.c_str() + line, nullptr, 16);
  }

  // Behind the name of the file.
  std::string NameOfPlace() const {
    char name[40];
    std::snprintf(name, sizeof(name), "0x%zx :0 ", static_cast<size_t>(place_));
    return name;
  }

  std::string NameOfStart() const {
    char name[40];
    std::snprintf(name, sizeof(name), "libshop.so+0x%zx :0 ", static_cast<size_t>(outer_));
    return name;
  }

  // Collects the names into a pack, which is what other machines have of the code.
  std::string Packed() {
    sources_.collected = std::make_shared<SymbolPackWriter>();
    Names();
    return std::exchange(sources_.collected, nullptr)->Text();
  }

  void TakePack(const std::string& text) {
    auto pack = std::make_shared<SymbolPack>();
    std::string why;
    ASSERT_TRUE(SymbolPack::Parse(text, pack.get(), &why)) << why << "\n" << text;
    sources_.packs = {{"pack", std::move(pack)}};
  }

  std::string folder_;
  NameSources sources_;
  CodeIdentity code_;
  uint64_t place_ = 0;
  uint64_t outer_ = 0;
  std::string note_;
  std::vector<std::string> linker_names_;
  std::vector<uint32_t> start_lines_;
  std::vector<uint32_t> columns_;
};

TEST_F(CodeNamesTest, InlinedCallsHaveTheirLines) {
  Compile("-g");
  EXPECT_EQ(Names(), InlinedNames());
  EXPECT_EQ(note_, "");
  EXPECT_EQ(linker_names_.back(), "_ZN4shop7Counter5OuterEi");
  EXPECT_EQ(start_lines_, (std::vector<uint32_t>{2, 10}));
  EXPECT_EQ(columns_, (std::vector<uint32_t>{3, 15})) << "of asm, and of the call";
}

TEST_F(CodeNamesTest, FunctionsOfOneUnitHaveTheirScopes) {
  for (const char* const options : {"-g", "-gdwarf-4 -gsplit-dwarf"}) {
    Tool(
        "sed -e 's/^inline/namespace { class Till { public: static inline/' "
        "-e 's/^class Counter/}; } class Counter/' -e 's/return Inner/return Till::Inner/' "
        "shop.cc > till.cc && mv till.cc shop.cc");
    Compile(options);
    EXPECT_EQ(Names().substr(0, Names().find(' ', 60)),
              "shop::(anonymous namespace)::Till::Inner shop.cc:3 shop::Counter::Outer(int)");
    SetUp();
  }
}

// A template of C++ with a symbol as Rust's older mangling makes it, which has no types.
TEST_F(CodeNamesTest, FunctionsOfRustHaveTheTypesThatTheyAreMadeFor) {
  std::ofstream(folder_ + "/shop.cc", std::ios::app) << R"(
struct Order { int id; };
template <typename T> int Push(T value);
template <> int Push<Order>(Order value) __asm__("_ZN5alloc3vec4Push17h0123456789abcdefE");
template <> __attribute__((noinline)) int Push<Order>(Order value) {
  asm volatile("the_push: nop");
  return value.id;
}
)";
  Compile("-g");
  place_ = AddressIn(OutputOf("nm " + folder_ + "/libshop.so"), " the_push");
  EXPECT_EQ(Names(), "alloc::vec::Push<Order> shop.cc:19 ");
  EXPECT_EQ(linker_names_.back(), "_ZN5alloc3vec4Push17h0123456789abcdefE");
  Tool("strip -g libshop.so");
  EXPECT_EQ(Names(), "alloc::vec::Push :0 ");
}

TEST_F(CodeNamesTest, OlderDwarf) {
  Compile("-gdwarf-4");
  EXPECT_EQ(Names(), InlinedNames());
}

// A function that the linker drops leaves its lines, from address 0 on.  This one is so long that
// its lines, and its range, reach beyond the others.
TEST_F(CodeNamesTest, FunctionsThatTheLinkerDroppedHaveNoLines) {
  std::ofstream(folder_ + "/shop.cc", std::ios::app) << R"(
__attribute__((visibility("hidden"))) int Dropped(int value) {
  volatile int sum = value;
#define TEN(twice) twice twice twice twice twice twice twice twice twice twice
  TEN(TEN(TEN(sum = sum + shop::Inner(sum);)))
  return sum;
}
)";
  Tool("sed -i 's/the_place: //' shop.cc");
  Tool(
      "sed -i 's/return Inner(value)/asm volatile(\"the_call: nop\"); return Inner(value)/' "
      "shop.cc");
  Tool(
      "echo 'extern \"C\" int Bare(int value) { asm volatile(\"the_bare: nop\"); return value; }' "
      "> bare.cc && g++ -O1 -fPIC -c bare.cc");
  for (const char* const version : {"-gdwarf-5", "-gdwarf-4"}) {
    for (const char* const linker : {"bfd", "gold", "lld"}) {
      if (std::system(("ld." + std::string(linker) + " -v > /dev/null").c_str()) != 0) continue;
      Tool("g++ -O1 -fPIC -ffunction-sections -g " + std::string(version) + " -c shop.cc");
      Tool("g++ -shared -Wl,--gc-sections,--build-id -fuse-ld=" + std::string(linker) +
           " bare.o shop.o -o libshop.so");
      const std::string symbols = OutputOf("nm " + folder_ + "/libshop.so");
      EXPECT_EQ(symbols.find("Dropped"), std::string::npos) << linker;
      code_.path = folder_ + "/libshop.so";
      code_.build_id = CodeFile::Open(code_.path, "")->BuildId();
      code_.start_nanos = kLongAfter;
      place_ = AddressIn(symbols, " the_call");
      EXPECT_EQ(Names(), "shop::Counter::Outer(int) shop.cc:11 ") << version << linker;
      place_ = AddressIn(symbols, " the_bare");
      EXPECT_EQ(Names(), "Bare :0 ") << version << linker;
      // Allocation gates look in their own process.
      const std::string own = folder_ + "/lib" + linker + version + ".so";
      Tool("cp libshop.so " + own);
      const uintptr_t call = LoadedAt(own) + AddressIn(symbols, " the_call");
      EXPECT_EQ(ToString(internal::FramesOfCall(call + 1).back()),
                "shop::Counter::Outer(int)  shop.cc:11")
          << version << linker;
    }
  }
}

TEST_F(CodeNamesTest, UnitsThatNoTableOfAddressesLists) {
  Compile("-g");
  Tool("objcopy --remove-section=.debug_aranges libshop.so");
  EXPECT_EQ(Names(), InlinedNames());
}

TEST_F(CodeNamesTest, SplitDebugFile) {
  for (const char* const version : {"-gdwarf-5", "-gdwarf-4"}) {
    Compile(std::string("-gsplit-dwarf ") + version);
    EXPECT_EQ(Names(), InlinedNames()) << version;
  }
}

TEST_F(CodeNamesTest, SplitDebugFileThatIsGoneLeavesSymbolsAndLines) {
  Compile("-g -gsplit-dwarf");
  Tool("rm *.dwo");
  EXPECT_EQ(Names(), "shop::Counter::Outer(int) shop.cc:3 ");
}

TEST_F(CodeNamesTest, CompressedSections) {
  Compile("-g -gz");
  EXPECT_EQ(Names(), InlinedNames());
}

TEST_F(CodeNamesTest, DebugFileThatTheLinkNames) {
  Compile("-g");
  Tool(
      "objcopy --only-keep-debug libshop.so libshop.debug && strip libshop.so && "
      "objcopy --add-gnu-debuglink=libshop.debug libshop.so");
  EXPECT_EQ(Names(), InlinedNames());
}

TEST_F(CodeNamesTest, DebugFileOfTheFolderThatWasGiven) {
  Compile("-g");
  const std::string name =
      "debug/.build-id/" + code_.build_id.substr(0, 2) + "/" + code_.build_id.substr(2) + ".debug";
  Tool("mkdir -p $(dirname " + name + ") && objcopy --only-keep-debug libshop.so " + name +
       " && strip libshop.so");
  // The code itself may be gone, too.
  Tool("rm libshop.so");
  EXPECT_EQ(Names(folder_ + "/debug"), InlinedNames());
  EXPECT_EQ(note_, "");
}

TEST_F(CodeNamesTest, StrippedCodeIsNamedByTheStartOfItsFunction) {
  Compile("-g -fvisibility=hidden");
  Tool("strip libshop.so");
  EXPECT_EQ(Names(), NameOfStart());
}

TEST_F(CodeNamesTest, CodeThatChangedHasNoNamesOfAnother) {
  Compile("-g");
  code_.build_id[0] = code_.build_id[0] == '0' ? '1' : '0';
  char name[40];
  std::snprintf(name, sizeof(name), "libshop.so+0x%zx :0 ", static_cast<size_t>(place_));
  EXPECT_EQ(Names(), name);
  EXPECT_EQ(note_, code_.path +
                       " has changed since (other build id); its functions are named by "
                       "their addresses");
}

TEST_F(CodeNamesTest, CodeWithoutBuildIdIsTheSameIfItIsOlderThanTheProcess) {
  Compile("-g -Wl,--build-id=none");
  EXPECT_EQ(code_.build_id, "");
  EXPECT_EQ(Names(), InlinedNames());
  code_.start_nanos = 1000;
  EXPECT_NE(Names(), InlinedNames());
  EXPECT_EQ(note_, code_.path + " has changed since; its functions are named by their addresses");
}

TEST_F(CodeNamesTest, CodeWithoutBuildIdIsKnownByItsFile) {
  Compile("-g -Wl,--build-id=none");
  code_.start_nanos = 0;
  code_.file_known = FileState::kAtPath;
  code_.file = CodeFile::Open(code_.path, "")->identity();
  EXPECT_EQ(Names(), InlinedNames());
  EXPECT_EQ(note_, "");
  code_.file_known = FileState::kElsewhere;
  EXPECT_NE(Names(), InlinedNames());
  code_.file_known = FileState::kAtPath;
  Tool("cp -p libshop.so copy && mv copy libshop.so");
  EXPECT_NE(Names(), InlinedNames());
  EXPECT_EQ(note_, code_.path + " has changed since; its functions are named by their addresses");
  Tool("rm libshop.so");
  EXPECT_NE(Names(), InlinedNames());
  EXPECT_NE(note_.find(" is not there any more"), std::string::npos);
}

// Tests a recording without the file's identity.  The time of modification proves nothing, since
// every copy of a file may set it.
TEST_F(CodeNamesTest, TimesOfModificationDoNotCount) {
  Compile("-g -Wl,--build-id=none");
  Tool("touch -d 2100-01-01 libshop.so");
  code_.start_nanos = CodeFile::Open(code_.path, "")->identity().change_nanos;
  EXPECT_EQ(Names(), InlinedNames());
  Tool("cp libshop.so copy && touch -d 1999-01-01 copy && mv copy libshop.so");
  EXPECT_NE(Names(), InlinedNames());
}

TEST_F(CodeNamesTest, FilesOfOnePathAreTwo) {
  CodeNames names({});
  code_.path = "/a";
  code_.file_known = FileState::kAtPath;
  code_.file = {1, 2, 3, 4};
  const uint32_t one = names.AddFile(code_);
  EXPECT_EQ(names.AddFile(code_), one);
  code_.file.inode = 5;
  EXPECT_NE(names.AddFile(code_), one);
  code_.build_id = "0123";
  const uint32_t other = names.AddFile(code_);
  code_.start_nanos = 7;
  EXPECT_EQ(names.AddFile(code_), other);
}

TEST_F(CodeNamesTest, PipesAndFoldersAreNoCode) {
  Compile("-g");
  for (const char* const kind : {"mkfifo", "mkdir"}) {
    Tool(std::string("rm -rf libshop.so && ") + kind + " libshop.so");
    EXPECT_NE(Names(), InlinedNames());
    EXPECT_NE(note_.find("is not there any more"), std::string::npos);
  }
}

TEST_F(CodeNamesTest, DamagedCodeFilesAreSurvived) {
  Compile("-g");
  std::ifstream file(code_.path, std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  for (size_t cut = 0; cut < whole.size(); cut += whole.size() / 23) {
    std::ofstream(code_.path, std::ios::binary) << whole.substr(0, cut);
    EXPECT_NE(Names(), "");
  }
}

// ---- Packs of symbols.

TEST_F(CodeNamesTest, PackNamesCodeThatIsGone) {
  Compile("-g");
  const std::string text = Packed();
  Tool("rm libshop.so");
  EXPECT_EQ(Names(), "libshop.so+" + NameOfPlace());
  EXPECT_NE(note_, "");
  TakePack(text);
  linker_names_.clear();
  start_lines_.clear();
  EXPECT_EQ(Names(), InlinedNames());
  EXPECT_EQ(note_, "");
  EXPECT_EQ(linker_names_.back(), "_ZN4shop7Counter5OuterEi");
  EXPECT_EQ(start_lines_, (std::vector<uint32_t>{2, 10}));
  EXPECT_EQ(Packed(), text) << "a pack of a pack is the pack";
}

TEST_F(CodeNamesTest, PackOfStrippedCodeHasNoNameAndTheStart) {
  Compile("-g -fvisibility=hidden");
  Tool("cp libshop.so named.so && strip libshop.so");
  TakePack(Packed());
  Tool("mv libshop.so stripped.so");
  EXPECT_EQ(Names(), NameOfStart());
  EXPECT_EQ(note_, "");
  // A name that is known here counts more than a pack without one.
  Tool("mv named.so libshop.so");
  EXPECT_EQ(Names(), InlinedNames());
}

TEST_F(CodeNamesTest, PackOfAnotherBuildNamesNothing) {
  Compile("-g");
  const std::string text = Packed();
  Tool("rm libshop.so");
  TakePack(text);
  code_.build_id[0] = code_.build_id[0] == '0' ? '1' : '0';
  EXPECT_EQ(Names(), "libshop.so+" + NameOfPlace());
  EXPECT_NE(note_, "");
}

TEST_F(CodeNamesTest, PackKnowsCodeWithoutBuildIdByItsFile) {
  Compile("-g -Wl,--build-id=none");
  code_.file_known = FileState::kAtPath;
  code_.file = CodeFile::Open(code_.path, "")->identity();
  TakePack(Packed());
  Tool("rm libshop.so");
  EXPECT_EQ(Names(), InlinedNames());
  ++code_.file.change_nanos;
  EXPECT_NE(Names(), InlinedNames());
  // Neither a build id nor a file: a pack cannot tell such code from other code.
  code_.file_known = FileState::kUnknown;
  EXPECT_NE(Names(), InlinedNames());
}

SymbolPackWriter OddPack() {
  SymbolPackWriter pack;
  pack.AddCode("build-id aa", "/b\tin\n\\x", true, {{0, 0x1000, 16, 32, true}});
  pack.AddCode("build-id aa", "/a", false, {});
  pack.AddAddress("build-id aa", 0x20, 0x10, {{"f(\t)", "f\\.cc", 7, true, "_f\n", 3, 0, ""}});
  pack.AddAddress("build-id aa", 0x10, 0x10, {{"x+0x10", "", 0, false, "", 0, 0, ""}});
  pack.AddAddress("build-id bb", 0x10, 0x10, {{"never", "", 0, true, "", 0, 0, ""}});
  pack.AddCode("", "/nobody", true, {});
  pack.AddCode(PackKeyOfProcess(7, 8), "[generated]", false, {});
  pack.AddAddress(PackKeyOfProcess(7, 8), 0x30, 0x30, {{"js", "a.js", 1, true, "", 0, 12, ""}});
  return pack;
}

TEST(SymbolPackTest, IsTheTextThatTheReadmeStates) {
  const SymbolPackWriter written = OddPack();
  EXPECT_EQ(written.Text(),
            "allomon symbols 1\n"
            "F\t\t\t\t0\n"
            "F\tf(\\t)\t_f\\n\tf\\\\.cc\t3\n"
            "F\tjs\t\ta.js\t0\n"
            "C\tbuild-id aa\t/a\tprogram\n"
            "S\t0\t1000\t10\t20\tcode\n"
            "A\t10\t10\t0:0:0\n"
            "A\t20\t10\t1:7:0\n"
            "C\tprocess 7 8\t[generated]\tlibrary\n"
            "A\t30\t30\t2:1:12\n"
            "end\n");
  EXPECT_EQ(written.addresses(), 3u);
  EXPECT_EQ(written.named(), 2u);
  EXPECT_EQ(written.codes(), 2u);
  SymbolPack pack;
  std::string why;
  ASSERT_TRUE(SymbolPack::Parse(written.Text(), &pack, &why)) << why;
  const PackedCode* const code = pack.Find("build-id aa");
  ASSERT_NE(code, nullptr);
  uint64_t start = 0;
  std::vector<CodeFrame> frames;
  ASSERT_TRUE(pack.FramesAt(*code, 0x20, "/b", &start, &frames));
  EXPECT_EQ(start, 0x10u);
  EXPECT_EQ(frames[0].name, "f(\t)");
  EXPECT_EQ(frames[0].symbol, "_f\n");
  EXPECT_EQ(frames[0].file, "f\\.cc");
  ASSERT_TRUE(pack.FramesAt(*code, 0x10, "/b", &start, &frames));
  EXPECT_EQ(frames[0].name, "b+0x10");
  EXPECT_FALSE(frames[0].named);
  EXPECT_FALSE(pack.FramesAt(*code, 0x18, "/b", &start, &frames));
  EXPECT_EQ(pack.Find(""), nullptr);
}

// Checks that a refusal has a reason, and that each address of an accepted pack has frames.
bool IsAccepted(const std::string& text) {
  SymbolPack pack;
  std::string why;
  if (!SymbolPack::Parse(text, &pack, &why)) {
    EXPECT_NE(why, "");
    EXPECT_EQ(why.find('\n'), std::string::npos);
    return false;
  }
  for (const auto& [key, code] : pack.code()) {
    for (const PackedAddress& address : code.addresses) {
      uint64_t start = 0;
      std::vector<CodeFrame> frames;
      EXPECT_TRUE(pack.FramesAt(code, address.address, code.path, &start, &frames));
      EXPECT_FALSE(frames.empty());
    }
  }
  return true;
}

TEST(SymbolPackTest, WhatIsCutShortIsRefused) {
  const std::string text = OddPack().Text();
  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(IsAccepted(text.substr(0, size))) << size;
  }
  EXPECT_FALSE(IsAccepted(text + "more\n"));
  EXPECT_FALSE(IsAccepted("allomon symbols 2\nend\n"));
  EXPECT_TRUE(IsAccepted("allomon symbols 1\nend\n"));
}

// A small pack may name an address by text without end.
TEST(SymbolPackTest, TextOfAnAddressIsBounded) {
  const std::string name(100'000, 'n');
  const std::string head = "allomon symbols 1\nF\t" + name + "\t\t\t0\nC\tk\t/p\tlibrary\n";
  std::string frames = "0:1:0";
  for (int i = 1; i < 10; ++i) frames += " 0:1:0";
  EXPECT_TRUE(IsAccepted(head + "A\t1\t1\t" + frames + "\nend\n"));
  EXPECT_FALSE(IsAccepted(head + "A\t1\t1\t" + frames + " 0:1:0\nend\n"));
  // Writers leave out what readers refuse.
  SymbolPackWriter writer;
  writer.AddCode("build-id aa", "/a", true, {});
  const CodeFrame small = {"f", "", 1, true, "", 0, 0, ""};
  const CodeFrame frame = {name, "", 1, true, "", 0, 0, ""};
  writer.AddAddress("build-id aa", 1, 1, std::vector<CodeFrame>(10, frame));
  writer.AddAddress("build-id aa", 2, 2, std::vector<CodeFrame>(11, frame));
  writer.AddAddress("build-id aa", 3, 3, std::vector<CodeFrame>(5000, small));
  EXPECT_EQ(writer.addresses(), 1u);
  EXPECT_TRUE(IsAccepted(writer.Text()));
}

TEST(SymbolPackTest, NumbersThatAreNoneAreRefused) {
  const std::string head = "allomon symbols 1\nF\tf\t\t\t0\nC\tk\t/p\tlibrary\n";
  EXPECT_TRUE(IsAccepted(head + "A\t1\t1\t0:1:0\nA\t2\t1\t0:1:0 0:2:9\nend\n"));
  for (const char* const line : {"A\t1\t1\t1:1:0",
                                 "A\t1\t1\t0:-1:0",
                                 "A\t1\t1\t0:1:-1",
                                 "A\t1\t1\t0:1",
                                 "A\t1\t1\t0",
                                 "A\t1\t1\t0::1",
                                 "A\t1\t1\t",
                                 "A\t1\t1",
                                 "A\t1\t1\t0:1:0\t",
                                 "A\t-1\t1\t0:1:0",
                                 "A\t11111111111111111\t1\t0:1:0",
                                 "A\t1\t1\t0:4294967296:0",
                                 "A\t1\t1\t4294967296:0:0",
                                 "A\t1\t1\t0:0:4294967296",
                                 "C\tk\t/p\tlibrary",
                                 "C\t\t/p\tlibrary",
                                 "C\tq\t/p\tother",
                                 "F\tf\t\t\t-1",
                                 "F\tf\\x\t\t\t0",
                                 "F\tf\\\t\t\t0",
                                 "S\t0\t0\t0\t0",
                                 "X",
                                 ""}) {
    EXPECT_FALSE(IsAccepted(head + line + "\nend\n")) << line;
  }
  EXPECT_FALSE(IsAccepted(head + "A\t2\t1\t0:1:0\nA\t2\t1\t0:1:0\nend\n")) << "twice";
  EXPECT_FALSE(IsAccepted("allomon symbols 1\nF\tf\t\t\t0\nA\t1\t1\t0:1:0\nend\n")) << "no code";
}

}  // namespace
}  // namespace allomon::recording
