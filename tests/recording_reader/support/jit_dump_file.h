// A jit-PID.dump, as programs write it for perf.
#ifndef ALLOMON_TESTS_RECORDING_READER_SUPPORT_JIT_DUMP_FILE_H_
#define ALLOMON_TESTS_RECORDING_READER_SUPPORT_JIT_DUMP_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace allomon::recording {

class JitDumpFile {
 public:
  struct Place {
    uint64_t address;
    uint32_t line;
    std::string file;
  };

  explicit JitDumpFile(uint32_t pid) {
    for (const uint32_t word : {0x4A695444u, 1u, 40u, 62u, 0u, pid}) Put(&text_, word);
    Put(&text_, uint64_t{1});
    Put(&text_, uint64_t{0});
  }

  // The bytes of the code are there, too, if they are few.
  void AddLoad(uint64_t begin, uint64_t bytes, uint64_t number, const std::string& name) {
    std::string record = Ids(begin);
    for (const uint64_t value : {begin, bytes, number}) Put(&record, value);
    record += name + '\0' + std::string(bytes < 1000 ? bytes : 0, '\xcc');
    Add(0, record);
  }

  void AddMove(uint64_t old_begin, uint64_t begin, uint64_t bytes, uint64_t number) {
    std::string record = Ids(begin);
    for (const uint64_t value : {old_begin, begin, bytes, number}) Put(&record, value);
    Add(1, record);
  }

  void AddPlaces(uint64_t begin, const std::vector<Place>& places) {
    std::string record;
    Put(&record, begin);
    Put(&record, uint64_t{places.size()});
    for (const Place& place : places) {
      Put(&record, place.address);
      Put(&record, place.line);
      Put(&record, uint32_t{0});
      record += place.file + '\0';
    }
    Add(2, record);
  }

  const std::string& text() const { return text_; }

 private:
  template <typename Number>
  static void Put(std::string* text, Number value) {
    text->append(reinterpret_cast<const char*>(&value), sizeof(value));
  }

  static std::string Ids(uint64_t virtual_address) {
    std::string ids;
    Put(&ids, uint32_t{7});
    Put(&ids, uint32_t{7});
    Put(&ids, virtual_address);
    return ids;
  }

  void Add(uint32_t kind, const std::string& record) {
    Put(&text_, kind);
    Put(&text_, static_cast<uint32_t>(16 + record.size()));
    Put(&text_, uint64_t{1});
    text_ += record;
  }

  std::string text_;
};

}  // namespace allomon::recording

#endif  // ALLOMON_TESTS_RECORDING_READER_SUPPORT_JIT_DUMP_FILE_H_
