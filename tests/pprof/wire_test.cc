// The wire format, byte by byte.
#include "tools/pprof/wire.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace allomon::pprof {
namespace {

std::string VarintOf(uint64_t value) {
  std::string bytes;
  WireWriter(&bytes).Varint(value);
  return bytes;
}

// Whether all of the bytes are valid fields.
bool IsMessage(std::string_view bytes) {
  WireReader reader(bytes);
  while (reader.Next()) {
  }
  return !reader.failed();
}

TEST(WireTest, VarintsOfTheEncodingGuide) {
  EXPECT_EQ(VarintOf(0), std::string(1, '\0'));
  EXPECT_EQ(VarintOf(1), "\x01");
  EXPECT_EQ(VarintOf(127), "\x7f");
  EXPECT_EQ(VarintOf(150), "\x96\x01");
  EXPECT_EQ(VarintOf(UINT64_MAX), "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
}

TEST(WireTest, VarintsComeBackAndHaveTheirSize) {
  for (int shift = 0; shift < 64; ++shift) {
    for (uint64_t value : {uint64_t{1} << shift, (uint64_t{1} << shift) - 1}) {
      const std::string bytes = VarintOf(value);
      EXPECT_EQ(bytes.size(), VarintSize(value));
      std::string_view rest = bytes;
      uint64_t back = 0;
      ASSERT_TRUE(TakeVarint(&rest, &back));
      EXPECT_EQ(back, value);
      EXPECT_TRUE(rest.empty());
    }
  }
}

TEST(WireTest, NumberHasItsTagAndZeroIsLeftOut) {
  std::string bytes;
  WireWriter writer(&bytes);
  writer.Number(1, 150);
  writer.Number(2, 0);
  EXPECT_EQ(bytes, "\x08\x96\x01");
}

TEST(WireTest, ChosenZeroIsThere) {
  std::string bytes;
  WireWriter writer(&bytes);
  writer.Chosen(3, 0);
  writer.Chosen(1, 150);
  EXPECT_EQ(bytes, std::string("\x18\x00\x08\x96\x01", 5));
}

TEST(WireTest, FixedNumbersComeBack) {
  std::string bytes;
  WireWriter writer(&bytes);
  writer.Fixed64(3, 0);
  EXPECT_EQ(bytes, "");
  writer.Fixed64(3, 0xfedcba9876543210);
  EXPECT_EQ(bytes, "\x19\x10\x32\x54\x76\x98\xba\xdc\xfe");
  writer.Number(1, 5);
  WireReader reader(bytes);
  ASSERT_TRUE(reader.Next());
  EXPECT_EQ(reader.fixed64(), 0xfedcba9876543210);
  EXPECT_EQ(reader.number(), 0u);
  ASSERT_TRUE(reader.Next());
  EXPECT_EQ(reader.fixed64(), 0u);
  EXPECT_EQ(reader.number(), 5u);
  EXPECT_FALSE(IsMessage(bytes.substr(0, 8)));
}

TEST(WireTest, StringHasItsLength) {
  std::string bytes;
  WireWriter(&bytes).Bytes(2, "testing");
  EXPECT_EQ(bytes, "\x12\x07testing");
}

TEST(WireTest, NegativeNumbersTakeTenBytes) {
  std::string bytes;
  WireWriter(&bytes).Signed(1, -2);
  EXPECT_EQ(bytes, "\x08\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01");
}

TEST(WireTest, PackedAndSingleNumbersAreTheSame) {
  std::vector<uint64_t> numbers;
  WireReader reader("\x32\x06\x03\x8e\x02\x9e\xa7\x05\x30\x07");
  while (reader.Next()) ASSERT_TRUE(reader.AppendNumbers(&numbers));
  EXPECT_FALSE(reader.failed());
  EXPECT_EQ(numbers, (std::vector<uint64_t>{3, 270, 86942, 7}));
}

TEST(WireTest, PackedNumbersThatEndEarlyAreDamaged) {
  std::vector<uint64_t> numbers;
  WireReader reader("\x32\x02\x03\x8e");
  ASSERT_TRUE(reader.Next());
  EXPECT_FALSE(reader.AppendNumbers(&numbers));
}

TEST(WireTest, FixedNumbersAreSkipped) {
  WireReader reader("\x09_8bytes_\x0d_4b_\x08\x05");
  ASSERT_TRUE(reader.Next());
  ASSERT_TRUE(reader.Next());
  ASSERT_TRUE(reader.Next());
  EXPECT_EQ(reader.number(), 5u);
  EXPECT_FALSE(reader.Next());
  EXPECT_FALSE(reader.failed());
}

TEST(WireTest, WhatIsNoMessage) {
  EXPECT_TRUE(IsMessage(""));
  EXPECT_FALSE(IsMessage("\x08"));      // lacks its number
  EXPECT_FALSE(IsMessage("\x08\x80"));  // ends inside a number
  EXPECT_FALSE(
      IsMessage("\x12\x05"
                "four"));  // one byte too long
  EXPECT_FALSE(IsMessage("\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"));
  EXPECT_FALSE(
      IsMessage("\x09"
                "7bytes_"));
  EXPECT_FALSE(
      IsMessage("\x0d"
                "3b_"));
  EXPECT_FALSE(IsMessage("\x0b"));                // a group
  EXPECT_FALSE(IsMessage("\x0e"));                // a type that does not exist
  EXPECT_FALSE(IsMessage(std::string(2, '\0')));  // field 0
  EXPECT_FALSE(IsMessage("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"));  // 11 bytes
}

}  // namespace
}  // namespace allomon::pprof
