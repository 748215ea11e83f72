// Addresses that a process may have.
#include "tessera/core/address_space.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace tessera::address_space_test {
namespace {

// `bytes` above what is mapped now, while it lives.
class Limit {
 public:
  explicit Limit(std::uint64_t bytes) {
    getrlimit(RLIMIT_AS, &before_);
    rlimit limit = before_;
    limit.rlim_cur = mapped_bytes() + bytes;
    setrlimit(RLIMIT_AS, &limit);
  }
  ~Limit() { setrlimit(RLIMIT_AS, &before_); }
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;

 private:
  rlimit before_{};
};

constexpr std::uint64_t mebibyte = 1U << 20U;

TEST(AddressSpace, OfAProcessThatRunsIsPartlyMapped) {
  EXPECT_GT(mapped_bytes(), mebibyte);
}

TEST(AddressSpace, HasWhatTheLimitLeaves) {
  const Limit limit(64 * mebibyte);
  EXPECT_GT(address_space_limit(), 64 * mebibyte);
  EXPECT_TRUE(has_addresses(32 * mebibyte));
  EXPECT_FALSE(has_addresses(1024 * mebibyte));
}

TEST(AddressSpace, TakesNothing) {
  const Limit limit(64 * mebibyte);
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(has_addresses(32 * mebibyte));
  }
}

}  // namespace
}  // namespace tessera::address_space_test
