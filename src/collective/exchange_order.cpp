#include "tessera/collective/exchange_order.hpp"

#include <cstddef>
#include <numeric>

namespace tessera::collective {

std::uint32_t block_on_servers(std::span<const std::uint32_t> servers) {
  std::uint32_t block = 0;
  std::size_t begin = 0;
  for (std::size_t at = 1; at <= servers.size(); ++at) {
    if (at == servers.size() || servers[at] != servers[begin]) {
      block = std::gcd(block, static_cast<std::uint32_t>(at - begin));
      begin = at;
    }
  }
  return block;
}

}  // namespace tessera::collective
