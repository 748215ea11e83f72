#include "results/conservation.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "results/moved_bytes.hpp"
#include "tessera/core/error.hpp"

namespace tessera::sim {
namespace {

void require(bool holds, const std::string& what, std::uint64_t one, std::uint64_t other) {
  if (!holds) {
    throw InternalError("conservation: " + what + ": " + std::to_string(one) + " and " +
                        std::to_string(other));
  }
}

void check_balances(const RankModels& models) {
  std::vector<Balance> balances = models.executor->balances();
  for (Balance& balance : models.memory->balances()) {
    balances.push_back(std::move(balance));
  }
  const network::Carried carried = models.network->carried();
  balances.push_back({"messages that the network took and delivered", carried.messages_taken,
                      carried.messages_delivered});
  balances.push_back(
      {"bytes that the network took and delivered", carried.bytes_taken, carried.bytes_delivered});
  std::vector<std::uint64_t> sums;
  for (const Balance& balance : balances) {
    sums.push_back(balance.out);
    sums.push_back(balance.in);
  }
  models.communicator.reduce_sum(sums);
  for (std::size_t i = 0; i < balances.size(); ++i) {
    require(sums[2 * i] == sums[2 * i + 1], balances[i].what, sums[2 * i], sums[2 * i + 1]);
  }
}

void check_instructions(const RankModels& models) {
  std::array<std::uint64_t, 1> done{models.executor->instructions_done()};
  models.communicator.reduce_sum(done);
  const std::uint64_t wanted = models.work->instructions() * models.work->iterations();
  require(done[0] == wanted, "instructions of the work and done", wanted, done[0]);
}

void check_coherent(const RankModels& models) {
  if (!models.coherent) {
    return;
  }
  const memory::CoherentTotals totals = models.coherent->totals();
  std::array<std::uint64_t, 6> sums{totals.lines_asked,    totals.lines_delivered,
                                    totals.bytes_to_read,  totals.bytes_read,
                                    totals.bytes_to_write, totals.bytes_written};
  models.communicator.reduce_sum(sums);
  require(sums[0] == sums[1], "coherent lines asked for and delivered", sums[0], sums[1]);
  require(sums[2] == sums[3], "coherent bytes to read and read", sums[2], sums[3]);
  require(sums[4] == sums[5], "coherent bytes to write and written", sums[4], sums[5]);
}

// As accesses have them. Whole bursts are more by rounding and less by what queues answer, so that
// the memory counts both apart.
std::optional<Work::Accessed> bytes_of_accesses(const RankModels& models) {
  if (models.experiment.memory->account() != memory::MemoryModel::Account::bursts) {
    return bytes_moved(models);
  }
  const std::optional<memory::AskedBytes> counted = models.memory->asked();
  if (!counted) {
    return std::nullopt;
  }
  std::array<std::uint64_t, 2> sums{counted->read, counted->written};
  models.communicator.reduce_sum(sums);
  return Work::Accessed{sums[0], sums[1]};
}

void check_accesses(const RankModels& models) {
  const std::optional<Work::Accessed> accessed = bytes_of_accesses(models);
  const std::optional<Work::Accessed> asked = bytes_asked_for(models, Of::simulated);
  if (!accessed || !asked) {
    return;
  }
  require(asked->read == accessed->read, "bytes of memory asked for and read", asked->read,
          accessed->read);
  require(asked->written == accessed->written, "bytes of memory to write and written",
          asked->written, accessed->written);
}

// Every rank throws, or none.
void check_times(const RankModels& models) {
  std::array<std::uint64_t, 3> wrong{};  // tiles; of one of them, both times
  models.executor->visit_results([&](const executor::TileResult& result) {
    SimTime sum;
    for (const SimTime time : result.time) {
      sum += time;
    }
    if (result.finished && sum != result.end) {
      wrong = {wrong[0] + 1, static_cast<std::uint64_t>(sum.ps()),
               static_cast<std::uint64_t>(result.end.ps())};
    }
  });
  models.communicator.reduce_max(wrong);
  require(wrong[0] == 0, "times of a tile [ps] in all and its end", wrong[1], wrong[2]);
}

}  // namespace

void check_conservation(const RankModels& models) {
  check_balances(models);
  check_instructions(models);
  check_accesses(models);
  check_coherent(models);
  check_times(models);
}

void check_traffic(const SyntheticTraffic& traffic, const network::Carried& carried,
                   comm::Communicator& communicator) {
  std::array<std::uint64_t, 6> sums{traffic.sent,           traffic.come,
                                    carried.messages_taken, carried.messages_delivered,
                                    carried.bytes_taken,    carried.bytes_delivered};
  communicator.reduce_sum(sums);
  const auto [sent, come, taken, delivered, bytes_taken, bytes_delivered] = sums;
  const auto held = [&](const char* what, std::uint64_t out, std::uint64_t in) {
    require(traffic.all_came ? out == in : out >= in, what, out, in);
  };
  held("messages sent and delivered", sent, come);
  held("messages sent and taken by the network", sent, taken);
  held("messages that the network took and delivered", taken, delivered);
  held("bytes that the network took and delivered", bytes_taken, bytes_delivered);
  require(come <= delivered, "messages that the network delivered and that came", delivered, come);
  if (traffic.message.count() % traffic.unit.count() == 0) {
    const std::uint64_t bytes = taken * traffic.message.count();
    require(bytes == bytes_taken, "bytes of the messages taken and as the network counts them",
            bytes, bytes_taken);
  }
}

}  // namespace tessera::sim
