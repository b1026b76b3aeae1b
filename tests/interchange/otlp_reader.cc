#include "tests/interchange/otlp_reader.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <utility>

namespace allomon::interchange::testing {
namespace {

uint64_t VarintAt(const std::string& bytes, size_t* at) {
  uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.at((*at)++));
    value |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
}

std::vector<uint64_t> Varints(const std::string& bytes) {
  std::vector<uint64_t> numbers;
  for (size_t at = 0; at < bytes.size();) numbers.push_back(VarintAt(bytes, &at));
  return numbers;
}

std::string AnyValue(const Message& value) {
  if (value.Has(1)) return value.Bytes(1);
  EXPECT_TRUE(value.Has(3));
  return std::to_string(static_cast<int64_t>(value.Number(3)));
}

// Counts uses of the items of a table.
class Uses {
 public:
  explicit Uses(const std::vector<Message::Value>& table) : count_(table.size()) {
    EXPECT_FALSE(table.empty()) << "the item 0 is missing";
    std::set<std::string> items;
    for (const Message::Value& item : table)
      EXPECT_TRUE(items.insert(item.bytes).second) << "twice";
  }

  void Add(uint64_t index) {
    ASSERT_LT(index, count_.size());
    ++count_[index];
  }
  void Add(const std::vector<uint64_t>& indices) {
    for (const uint64_t index : indices) {
      EXPECT_NE(index, 0u) << "nothing in a list";
      Add(index);
    }
  }
  void ExpectNoOrphans(const char* table) const {
    for (size_t i = 1; i < count_.size(); ++i) EXPECT_GT(count_[i], 0) << table << " " << i;
  }

 private:
  std::vector<int> count_;
};

}  // namespace

Message::Message(const std::string& bytes) {
  for (size_t at = 0; at < bytes.size();) {
    const uint64_t tag = VarintAt(bytes, &at);
    Value value;
    if ((tag & 7) == 0) {
      value.number = VarintAt(bytes, &at);
    } else {
      EXPECT_TRUE((tag & 7) == 1 || (tag & 7) == 2) << tag;
      const size_t size = (tag & 7) == 1 ? 8 : VarintAt(bytes, &at);
      value.bytes = bytes.substr(at, size);
      EXPECT_EQ(value.bytes.size(), size);
      at += size;
      if ((tag & 7) == 1) memcpy(&value.number, value.bytes.data(), 8);
    }
    fields_[tag >> 3].push_back(value);
  }
}

std::vector<Message> Message::Subs(uint64_t field) const {
  std::vector<Message> messages;
  for (const Value& value : All(field)) messages.emplace_back(value.bytes);
  return messages;
}

std::vector<uint64_t> Message::List(uint64_t field) const { return Varints(Bytes(field)); }

Otlp::Otlp(const std::string& bytes)
    : data_(bytes),
      dictionary_(data_.Sub(2)),
      strings_(dictionary_.All(5)),
      attributes_(dictionary_.Subs(6)) {}

Attributes Otlp::Resource() const {
  Attributes attributes;
  for (const Message& attribute : data_.Sub(1).Sub(1).Subs(1)) {
    attributes[attribute.Bytes(1)] = AnyValue(attribute.Sub(2));
  }
  return attributes;
}

Message Otlp::Profile(const std::string& type) const {
  for (const Message& profile : Profiles()) {
    if (Type(profile) == type) return profile;
  }
  ADD_FAILURE() << "no profile " << type;
  return Message("");
}

Attributes Otlp::AttributesOf(const std::vector<uint64_t>& indices) const {
  Attributes attributes;
  for (const uint64_t index : indices) {
    const Message& attribute = attributes_.at(index);
    const std::string unit = Text(attribute.Number(3));
    const std::string value = AnyValue(attribute.Sub(2)) + (unit.empty() ? "" : " " + unit);
    EXPECT_TRUE(attributes.emplace(Text(attribute.Number(1)), value).second) << "a key twice";
  }
  return attributes;
}

std::vector<std::string> Otlp::NamesOf(const Message& sample) const {
  std::vector<std::string> names;
  const auto stacks = dictionary_.Subs(7), locations = dictionary_.Subs(2),
             functions = dictionary_.Subs(3);
  for (const uint64_t location : stacks.at(sample.Number(1)).List(1)) {
    for (const Message& line : locations.at(location).Subs(3)) {
      names.push_back(Text(functions.at(line.Number(1)).Number(1)));
    }
  }
  return names;
}

double TotalOf(const Message& profile) {
  double total = 0;
  for (const Message& sample : profile.Subs(2)) {
    for (const uint64_t value : sample.List(4)) total += static_cast<int64_t>(value);
  }
  return total;
}

void CheckRules(const Otlp& otlp) {
  const Message& tables = otlp.Dictionary();
  for (const uint64_t table : {1, 2, 3, 5, 6, 7}) {
    ASSERT_TRUE(tables.Has(table)) << table;
    EXPECT_EQ(tables.All(table)[0].bytes, "") << table;
  }
  ASSERT_EQ(tables.All(4).size(), 1u);
  EXPECT_EQ(tables.Subs(4)[0].Bytes(1), std::string(16, '\0'));
  EXPECT_EQ(tables.Subs(4)[0].Bytes(2), std::string(8, '\0'));
  Uses mappings(tables.All(1)), locations(tables.All(2)), functions(tables.All(3)),
      strings(tables.All(5)), attributes(tables.All(6)), stacks(tables.All(7));
  for (const Message& profile : otlp.Profiles()) {
    for (const uint64_t type : {1, 5}) {
      strings.Add(profile.Sub(type).Number(1));
      strings.Add(profile.Sub(type).Number(2));
    }
    attributes.Add(profile.List(11));
    otlp.AttributesOf(profile.List(11));
    std::set<std::pair<uint64_t, Attributes>> identities;
    for (const Message& sample : profile.Subs(2)) {
      EXPECT_EQ(sample.List(4).size(), 1u);
      stacks.Add(sample.Number(1));
      attributes.Add(sample.List(2));
      const Attributes own = otlp.AttributesOf(sample.List(2));
      EXPECT_TRUE(identities.emplace(sample.Number(1), own).second) << "an identity twice";
    }
  }
  for (const Message& stack : tables.Subs(7)) locations.Add(stack.List(1));
  for (const Message& location : tables.Subs(2)) {
    mappings.Add(location.Number(1));
    for (const Message& line : location.Subs(3)) functions.Add({line.Number(1)});
  }
  for (const Message& mapping : tables.Subs(1)) {
    strings.Add(mapping.Number(4));
    attributes.Add(mapping.List(5));
  }
  for (const Message& function : tables.Subs(3)) {
    for (const uint64_t text : {1, 2, 3}) strings.Add(function.Number(text));
  }
  for (const Message& attribute : tables.Subs(6)) {
    strings.Add(attribute.Number(1));
    strings.Add(attribute.Number(3));
  }
  mappings.ExpectNoOrphans("mapping");
  locations.ExpectNoOrphans("location");
  functions.ExpectNoOrphans("function");
  strings.ExpectNoOrphans("string");
  attributes.ExpectNoOrphans("attribute");
  stacks.ExpectNoOrphans("stack");
}

}  // namespace allomon::interchange::testing
