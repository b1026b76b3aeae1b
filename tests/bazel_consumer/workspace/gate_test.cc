#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tracker/gates/gtest.h"

TEST(Gate, ReservedRoomIsNotAllocatedAgain) {
  std::vector<int> numbers;
  numbers.reserve(100);
  ALLOMON_EXPECT_ALLOCATIONS_LE(0) {
    for (int i = 0; i < 100; ++i) numbers.push_back(i);
  }
}

TEST(Gate, ExactlyOneAllocationForALongString) {
  ALLOMON_EXPECT_ALLOCATIONS_LE(1) { std::string(100, 'x').clear(); }
}
