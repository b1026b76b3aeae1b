// Reads OTLP with its own numbers of fields, so that a wrong one in the exports is seen.
#ifndef ALLOMON_TESTS_INTERCHANGE_OTLP_READER_H_
#define ALLOMON_TESTS_INTERCHANGE_OTLP_READER_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace allomon::interchange::testing {

// A message of protocol buffers.
class Message {
 public:
  explicit Message(const std::string& bytes);

  struct Value {
    uint64_t number = 0;
    std::string bytes;
  };

  bool Has(uint64_t field) const { return fields_.count(field) != 0; }
  std::vector<Value> All(uint64_t field) const {
    return Has(field) ? fields_.at(field) : std::vector<Value>();
  }
  // The last value, or that of a field that is not there.
  uint64_t Number(uint64_t field) const { return Has(field) ? All(field).back().number : 0; }
  std::string Bytes(uint64_t field) const { return Has(field) ? All(field).back().bytes : ""; }
  Message Sub(uint64_t field) const { return Message(Bytes(field)); }
  std::vector<Message> Subs(uint64_t field) const;
  std::vector<uint64_t> List(uint64_t field) const;  // packed

 private:
  std::map<uint64_t, std::vector<Value>> fields_;
};

using Attributes = std::map<std::string, std::string>;  // "64 By": a value with its unit

// A message ProfilesData with one resource and one scope.
class Otlp {
 public:
  explicit Otlp(const std::string& bytes);

  Attributes Resource() const;
  Message ScopeProfiles() const { return data_.Sub(1).Sub(2); }
  std::vector<Message> Profiles() const { return ScopeProfiles().Subs(2); }
  Message Profile(const std::string& type) const;
  std::string Type(const Message& profile) const { return Text(profile.Sub(1).Number(1)); }
  const Message& Dictionary() const { return dictionary_; }
  std::string Text(uint64_t index) const { return strings_.at(index).bytes; }
  Attributes AttributesOf(const std::vector<uint64_t>& indices) const;
  // Names of functions, innermost first.
  std::vector<std::string> NamesOf(const Message& sample) const;

 private:
  const Message data_, dictionary_;
  const std::vector<Message::Value> strings_;
  const std::vector<Message> attributes_;
};

double TotalOf(const Message& profile);

// Fails the test if an index of the dictionary is out of range, an item 0 is not the empty one,
// an item is there twice or nothing refers to it, or if two samples have one identity.
void CheckRules(const Otlp& otlp);

}  // namespace allomon::interchange::testing

#endif  // ALLOMON_TESTS_INTERCHANGE_OTLP_READER_H_
