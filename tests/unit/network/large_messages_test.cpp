// Messages that are larger than a network can carry end the run with an error of the model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "harness.hpp"
#include "tessera/core/error.hpp"

namespace tessera::network::large_messages_test {
namespace {

using testing::carry;
using ::testing::HasSubstr;
using testing::mesh;
using testing::network_of;

std::string problem_of(const std::string& network, std::uint64_t bytes) {
  try {
    carry(network_of(mesh(1, 2), network), {{0, 0, 1, bytes}});
  } catch (const ModelError& error) {
    return error.what();
  }
  return "";
}

TEST(LargeMessages, AreRefusedByPacket) {
  EXPECT_EQ(problem_of("model: packet", std::uint64_t{1} << 40U), "");
  for (const std::uint64_t bytes : {std::uint64_t{1} << 60U, ~std::uint64_t{0}}) {
    EXPECT_THAT(problem_of("model: packet", bytes), HasSubstr("more than 2^22 packets"));
  }
}

TEST(LargeMessages, AreRefusedByFlow) {
  EXPECT_EQ(problem_of("model: flow", (std::uint64_t{1} << 56U) - 1), "");
  EXPECT_THAT(problem_of("model: flow", std::uint64_t{1} << 56U), HasSubstr("at most 2^56 B"));
}

}  // namespace
}  // namespace tessera::network::large_messages_test
