// Sums that must come out even at the end of a run: that they do, and that one that does not is an
// error which names it.
#include "results/conservation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "files.hpp"

namespace tessera::sim::conservation_test {
namespace {

using ::testing::HasSubstr;

// An executor whose run is over, with one of its sums off by one.
class OffExecutor final : public executor::Executor {
 public:
  OffExecutor(std::unique_ptr<Executor> right, std::size_t place)
      : right_(std::move(right)), place_(place) {}
  void handle(pdes::Context&, const pdes::Event&) override {}
  void visit_results(const std::function<void(const executor::TileResult&)>& visit) const override {
    right_->visit_results(visit);
  }
  std::uint64_t unfinished() const override { return 0; }
  std::vector<std::string> waiting(std::size_t) const override { return {}; }
  std::uint64_t instructions_done() const override { return right_->instructions_done(); }
  std::vector<Balance> balances() const override {
    std::vector<Balance> all = right_->balances();
    ++all[place_].in;
    return all;
  }

 private:
  std::unique_ptr<Executor> right_;
  std::size_t place_;
};

// A network that has lost something.
class OffNetwork final : public network::Network {
 public:
  explicit OffNetwork(const network::Carried& carried) : carried_(carried) {}
  void handle(pdes::Context&, const pdes::Event&) override {}
  void visit_links(SimTime, const network::LinkUseSink&) const override {}
  void report_bins(network::LinkUseSink) override {}
  std::uint64_t packet_hops() const override { return 0; }
  network::Carried carried() const override { return carried_; }

 private:
  network::Carried carried_;
};

// A memory whose run is over, with one of its sums off by one, or of what it was asked for.
class OffMemory final : public memory::Memory {
 public:
  OffMemory(const memory::Memory& right, std::size_t place)
      : balances_(right.balances()), asked_(right.asked().value()) {
    const std::size_t after = balances_.size();
    if (place < after) {
      ++balances_[place].in;
    } else {
      asked_.add(place > after, 1);
    }
  }
  void handle(pdes::Context&, const pdes::Event&) override {}
  void visit_channels(SimTime, const memory::ChannelUseSink&) const override {}
  void report_bins(memory::ChannelUseSink) override {}
  std::vector<Balance> balances() const override { return balances_; }
  std::optional<memory::AskedBytes> asked() const override { return asked_; }

 private:
  std::vector<Balance> balances_;
  memory::AskedBytes asked_;
};

// A run, done, with its models.
struct Done {
  explicit Done(const Experiment& experiment)
      : communicator(comm::make_in_process()), models(experiment, *communicator) {
    EXPECT_TRUE(models.engine.run({}));
    EXPECT_EQ(models.executor->unfinished(), 0U);
  }
  std::string complaint() const {
    try {
      check_conservation(models);
    } catch (const InternalError& error) {
      return error.what();
    }
    return "";
  }
  std::unique_ptr<comm::Communicator> communicator;
  RankModels models;
};

// Each sum in turn. Those that say of `used` are not zero.
void expect_each_is_held(const Experiment& experiment, const std::vector<std::string>& used) {
  std::vector<Balance> balances;
  {
    const Done done(experiment);
    EXPECT_EQ(done.complaint(), "");
    balances = done.models.executor->balances();
  }
  for (const std::string& name : used) {
    const auto found = std::find_if(balances.begin(), balances.end(), [&](const auto& balance) {
      return balance.what.find(name) != std::string::npos;
    });
    ASSERT_NE(found, balances.end()) << name;
    EXPECT_GT(found->out, 0U) << name;
  }
  for (std::size_t place = 0; place < balances.size(); ++place) {
    Done done(experiment);
    done.models.executor = std::make_unique<OffExecutor>(std::move(done.models.executor), place);
    EXPECT_THAT(done.complaint(), HasSubstr("conservation: " + balances[place].what + ": "));
  }
}

TEST(Conservation, OfPrograms) {
  expect_each_is_held(testing::read(testing::small_experiment()),
                      {"activation bytes sent and received", "gradient bytes", "tensor bytes",
                       "data bytes", "FLOPs of the plan and done"});
}

testing::Files of_graphs(const std::string& network) {
  return {{"lab/experiment.yaml",
           "machine:\n"
           "  topology: {kind: stack, shape: Switch(8), dimensions: [{bandwidth: 10 GB/s, "
           "latency: 1 us}]}\n"
           "  tile: {peak: {fp16: 1 TFLOP/s}, sram: 10 kB}\n"
           "  dram: {at: each, bandwidth: 20 GB/s, latency: 50 ns}\n"
           "  network: {" +
               network +
               "}\n"
               "workload: {kind: transformer, layers: 4, hidden: 32, heads: 4, sequence: 16, "
               "vocabulary: 50, batch: 8}\n"
               "strategy: {pipeline: 2, data: 4, zero: 3}\n"
               "execution: {}\nrun: {trace: none}\n"}};
}

TEST(Conservation, OfGraphs) {
  expect_each_is_held(testing::read(of_graphs("model: packet")),
                      {"all_gather bytes sent and received", "reduce_scatter bytes",
                       "messages sent and received", "bytes of messages sent and received"});
}

TEST(Conservation, OfRequests) {
  const std::string model =
      "{layers: 2, hidden: 32, heads: 4, kv_heads: 2, sequence: 64, vocabulary: 50}";
  const std::string text =
      "machine:\n"
      "  topology: {kind: mesh, rows: 2, columns: 4, bandwidth: 64 GB/s, latency: 10 ns}\n"
      "  dram: {at: edge, edges: [west], bandwidth: 32 GB/s, latency: 100 ns, capacity: 1 MiB}\n"
      "  memory: {model: channel}\n"
      "  compute: {model: npu, array: [8, 8], vector_width: 16, scratchpad: 64 KiB, accumulator: "
      "16 KiB}\n"
      "run: {trace: none}\n"
      "workload:\n"
      "  kind: serving\n"
      "  npu_cores: 2\n"
      "  tenants:\n"
      "    - name: one\n"
      "      language_model: " +
      model +
      "\n"
      "      batching: {chunk: 8, block: 4, cache: 16 KiB}\n"
      "      requests: {arrivals: closed, clients: 3, count: 7, prompt: 20, generate: 12, prefix: "
      "{tokens: 8}}\n";
  expect_each_is_held(testing::read({{"lab/experiment.yaml", text}}),
                      {"requests that came and were served", "tokens asked for and given",
                       "tokens of requests that came", "tokens of steps and prefixes",
                       "blocks of the cache taken"});
}

// Devices, whose queues answer some accesses and which move whole bursts.
TEST(Conservation, OfDevices) {
  for (const std::string scheduler : {"oldest-ready", "bank-queues"}) {
    testing::Files files = testing::small_experiment();
    files.at("lab/parts/machine.yaml") +=
        "memory: {model: dram, preset: HBM2, channels: 2, scheduler: " + scheduler + "}\n";
    const Experiment experiment = testing::read(files);
    Done done(experiment);
    EXPECT_EQ(done.complaint(), "") << scheduler;
    const std::vector<Balance> balances = done.models.memory->balances();
    ASSERT_EQ(balances.size(), 4U);
    std::vector<std::string> complaints;
    for (const Balance& balance : balances) {
      EXPECT_GT(balance.out, 0U) << scheduler << ": " << balance.what;
      complaints.push_back(balance.what);
    }
    complaints.emplace_back("bytes of memory asked for and read");
    complaints.emplace_back("bytes of memory to write and written");
    const std::unique_ptr<memory::Memory> right = std::move(done.models.memory);
    for (std::size_t place = 0; place < complaints.size(); ++place) {
      done.models.memory = std::make_unique<OffMemory>(*right, place);
      EXPECT_THAT(done.complaint(), HasSubstr("conservation: " + complaints[place] + ": "));
    }
  }
}

// Every network counts what it takes and what it delivers each for itself.
TEST(Conservation, OfNetworks) {
  for (const std::string network :
       {"model: packet", "model: analytical", "model: flow",
        "model: flow, uncontended_steps: lumped", "model: crossbar", "model: flit"}) {
    const Experiment experiment = testing::read(of_graphs(network));
    Done done(experiment);
    EXPECT_EQ(done.complaint(), "") << network;
    const network::Carried carried = done.models.network->carried();
    EXPECT_GT(carried.messages_taken, 0U);
    EXPECT_GT(carried.bytes_taken, carried.messages_taken);
    const auto complaint_after = [&](auto member) {
      network::Carried off = carried;
      --(off.*member);
      done.models.network = std::make_unique<OffNetwork>(off);
      return done.complaint();
    };
    EXPECT_THAT(complaint_after(&network::Carried::messages_delivered),
                HasSubstr("conservation: messages that the network took and delivered: "))
        << network;
    EXPECT_THAT(complaint_after(&network::Carried::bytes_delivered),
                HasSubstr("conservation: bytes that the network took and delivered: "))
        << network;
  }
}

// Of `tessera traffic`: what is not lost, and each sum off by one.
TEST(Conservation, OfSyntheticTraffic) {
  const auto communicator = comm::make_in_process();
  const SyntheticTraffic all{
      .sent = 10, .come = 10, .all_came = true, .message = Bytes(64), .unit = Bytes(32)};
  const network::Carried carried{10, 10, 640, 640};
  const auto complaint = [&](const SyntheticTraffic& traffic, const network::Carried& of_network) {
    try {
      check_traffic(traffic, of_network, *communicator);
    } catch (const InternalError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(complaint(all, carried), "");
  for (const auto member :
       {&network::Carried::messages_taken, &network::Carried::messages_delivered,
        &network::Carried::bytes_taken, &network::Carried::bytes_delivered}) {
    network::Carried off = carried;
    --(off.*member);
    EXPECT_THAT(complaint(all, off), HasSubstr("conservation: ")) << off.bytes_taken;
  }
  SyntheticTraffic under_way = all;
  under_way.all_came = false;
  under_way.come = 8;
  EXPECT_EQ(complaint(under_way, {10, 9, 640, 600}), "");
  EXPECT_THAT(complaint(under_way, {10, 7, 640, 600}), HasSubstr("delivered and that came"));
  under_way.all_came = true;
  EXPECT_THAT(complaint(under_way, carried), HasSubstr("messages sent and delivered"));
}

}  // namespace
}  // namespace tessera::sim::conservation_test
