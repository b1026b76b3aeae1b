// Marshalled graphs with a matching header, as an attacker would send them: the graph of accepted
// bytes passes the heap's verifier, and marshalling it again gives its only encoding.
//
// An input is the bytes after the header, or a whole file, whose header is corrected.
#include "runtime/marshal.h"

#include <cstring>
#include <random>

#include "runtime/heap.h"
#include "runtime/internal/marshal/marshal_format.h"
#include "tests/fuzz/target.h"
#include "tests/runtime/marshal_graphs.h"

namespace allomon::fuzz {
namespace {

using gc::internal::MarshalChecksum;
using gc::internal::MarshalHeader;
using gc::testing::Node;

constexpr size_t kHeadBytes = sizeof(MarshalHeader);
constexpr int kInputsPerCollection = 64;

class Checker {
 public:
  bool Check(std::string_view input) {
    const std::string bytes = Sealed(input);
    const std::string written = ReadAndWrite(bytes);
    if (!written.empty()) Require(ReadAndWrite(written) == written, "a graph has one text");
    if (++inputs_ % kInputsPerCollection == 0) heap_->Collect(gc::CollectionKind::kMinor);
    return !written.empty();
  }

 private:
  static gc::HeapOptions Options() {
    gc::HeapOptions options;
    options.nursery_bytes = 64 << 10;
    options.growth_floor_bytes = 256 << 10;
    options.verify = true;
    return options;
  }

  // Header and contents agree.
  std::string Sealed(std::string_view input) const {
    const std::string_view magic(gc::internal::kMarshalMagic, sizeof(gc::internal::kMarshalMagic));
    const bool is_whole = input.size() >= kHeadBytes && input.substr(0, magic.size()) == magic;
    std::string bytes = is_whole ? std::string(input) : head_ + std::string(input);
    MarshalHeader header;
    memcpy(&header, bytes.data(), kHeadBytes);
    header.length_bytes = bytes.size();
    header.checksum = MarshalChecksum(std::string_view(bytes).substr(kHeadBytes));
    memcpy(bytes.data(), &header, kHeadBytes);
    return bytes;
  }

  // Returns an empty string if the bytes are refused, otherwise the encoding of the graph.
  std::string ReadAndWrite(const std::string& bytes) {
    const uint64_t before = heap_->statistics().allocated_words;
    const auto graph = gc::unmarshal<Node>(bytes, types_);
    const uint64_t words = heap_->statistics().allocated_words - before;
    if (!graph.ok()) {
      Require(words == 0, "nothing is made of bad bytes");
      RequireOneLine(graph.status().message());
      return "";
    }
    Require(words * 8 <= bytes.size() * 40, "memory is in proportion to the bytes");
    return gc::marshal<Node>(*graph, types_).value();
  }

  std::unique_ptr<gc::Heap> heap_ = gc::Heap::Create(Options()).value();
  gc::Mutator mutator_{*heap_};
  const gc::MarshalTypes types_ = gc::testing::NodeTypes();
  const std::string head_ = gc::marshal<Node>(gc::make<Node>(), types_)->substr(0, kHeadBytes);
  int inputs_ = 0;
};

}  // namespace

std::vector<std::string> Seeds() {
  auto heap = gc::Heap::Create().value();
  const gc::Mutator mutator(*heap);
  const gc::MarshalTypes types = gc::testing::NodeTypes();
  std::mt19937_64 random(1);
  std::vector<std::string> seeds;
  for (const size_t size : {1, 2, 3, 5, 8, 13, 30}) {
    for (int i = 0; i < 3; ++i) {
      const auto graph = gc::testing::RandomGraph(random, size);
      seeds.push_back(gc::marshal<Node>(graph, types)->substr(kHeadBytes));
    }
  }
  return seeds;
}

}  // namespace allomon::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace allomon::fuzz;
  static Checker& checker = *new Checker;
  return Done(checker.Check(TextOf(data, size)));
}
