// The dictionary of an OTLP message: tables of what its profiles refer to by index.
#ifndef ALLOMON_TOOLS_EXPORT_OTLP_DICTIONARY_H_
#define ALLOMON_TOOLS_EXPORT_OTLP_DICTIONARY_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tools/heap/heap_profile.h"
#include "tools/pprof/wire.h"

namespace allomon::interchange::otlp {

// Returns the text with U+FFFD for each byte that is not UTF-8, which readers of strings refuse.
std::string Utf8(std::string_view text);

// Writes a list of indices, or nothing for an empty list.
void AddPacked(uint32_t field, const std::vector<uint32_t>& numbers, pprof::WireWriter* out);

// The message AnyValue of a text or of a number.
std::string TextValue(std::string_view text);
std::string NumberValue(int64_t number);

// Items as encoded bytes, each once, in the order of first use.  The item 0 is the one that means
// "not set".
class Table {
 public:
  explicit Table(std::string zero = "") { Add(std::move(zero)); }

  uint32_t Add(std::string item) {
    const auto [at, is_new] = numbers_.try_emplace(std::move(item), Size());
    if (is_new) items_.push_back(&at->first);
    return at->second;
  }
  uint32_t Size() const { return static_cast<uint32_t>(items_.size()); }
  void Write(uint32_t field, pprof::WireWriter* out) const {
    for (const std::string* item : items_) out->Bytes(field, *item);
  }

 private:
  std::unordered_map<std::string, uint32_t> numbers_;
  std::vector<const std::string*> items_;
};

// Has only items that were asked for, so that something refers to each.
class Dictionary {
 public:
  // The profile must outlive the dictionary.
  explicit Dictionary(const heap::HeapProfile& profile);

  uint32_t Text(std::string_view text) { return strings_.Add(Utf8(text)); }
  // `value` is an AnyValue; `unit` is one of UCUM, or empty.
  uint32_t Attribute(std::string_view key, const std::string& value, std::string_view unit = "");
  uint32_t Stack(const heap::Sample& sample);

  std::string Encode() const;

 private:
  uint32_t Mapping(uint32_t number);
  uint32_t Function(const heap::Function& function);
  std::string Line(uint32_t function, uint32_t line);
  uint32_t Location(uint32_t number);

  const heap::HeapProfile& profile_;
  Table mappings_, locations_, functions_, links_, strings_, attributes_, stacks_;
  std::vector<uint32_t> location_numbers_;  // in the table, by the profile's; kNone: not there yet
};

}  // namespace allomon::interchange::otlp

#endif  // ALLOMON_TOOLS_EXPORT_OTLP_DICTIONARY_H_
