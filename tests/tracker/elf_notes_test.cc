// The notes of a module: what is not whole is none, and the last need not be padded.
#include "tracker/base/elf_notes.h"

#include <cstring>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace allomon::internal {
namespace {

constexpr std::string_view kGnu("GNU\0", 4);

struct Notes {
  std::string bytes;

  // Without the padding of the description.
  Notes& Add(std::string_view name, uint32_t type, std::string_view description) {
    const Elf64_Nhdr header = {static_cast<uint32_t>(name.size()),
                               static_cast<uint32_t>(description.size()), type};
    bytes.append(reinterpret_cast<const char*>(&header), sizeof(header)).append(name);
    Pad();
    bytes.append(description);
    return *this;
  }
  Notes& Pad() {
    bytes.append(-bytes.size() % 4, '\0');
    return *this;
  }
  // Of memory that ends with them, so that checkers see a read beyond.
  template <typename Use>
  void Read(Use use) const {
    const std::vector<uint8_t> exact(bytes.begin(), bytes.end());
    use(ByteReader(exact.data(), exact.data() + exact.size()));
  }
  std::vector<uint32_t> Types() const {
    std::vector<uint32_t> types;
    Read([&](ByteReader notes) {
      for (ElfNote note; TakeNote(&notes, &note);) types.push_back(note.type);
    });
    return types;
  }
  std::string BuildId() const {
    std::string id;
    Read([&](ByteReader notes) {
      const ByteReader found = FindBuildId(notes);
      id.assign(found.position(), found.position() + found.remaining());
    });
    return id;
  }
};

TEST(ElfNotesTest, LastNeedNotBePadded) {
  const Notes notes = Notes().Add("Go", 7, "four").Pad().Add(kGnu, 5, "seven b");
  EXPECT_EQ(notes.Types(), std::vector<uint32_t>({7, 5}));
  EXPECT_EQ(Notes(notes).Pad().Types(), notes.Types());
  EXPECT_EQ(Notes(notes).Pad().Add("", 9, "").Types(), std::vector<uint32_t>({7, 5, 9}));
}

TEST(ElfNotesTest, NoteThatIsNotWholeIsNone) {
  const Notes first = Notes().Add(kGnu, 1, "abcd");
  const Notes both = Notes(first).Add(kGnu, 2, "efghi");
  for (size_t size = 0; size < both.bytes.size(); ++size) {
    const size_t whole = size < first.bytes.size() ? 0 : 1;
    EXPECT_EQ(Notes{both.bytes.substr(0, size)}.Types().size(), whole) << size;
  }
  for (const size_t field : {size_t{0}, sizeof(uint32_t)}) {
    Notes hostile = first;
    memset(&hostile.bytes[field], 0xff, sizeof(uint32_t));
    EXPECT_TRUE(hostile.Types().empty()) << field;
  }
}

TEST(ElfNotesTest, BuildIdIsThatOfGnu) {
  EXPECT_EQ(Notes().Add("Go\0\0", 3, "go").Pad().Add(kGnu, 1, "abi").Pad().BuildId(), "");
  EXPECT_EQ(Notes().Add("Go", 3, "go").Pad().Add(kGnu, 3, "odd").BuildId(), "odd");
}

}  // namespace
}  // namespace allomon::internal
