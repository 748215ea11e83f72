// One core's part in exchanges between NPUs: all-reduces, and messages that hand on.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "serving/messages.hpp"
#include "tessera/collective/algorithm_run.hpp"
#include "tessera/executor/serving/serving.hpp"
#include "tessera/pdes/engine.hpp"
#include "tessera/pdes/state.hpp"

namespace tessera::executor {

// A core's place in an NPU.
struct CorePlace {
  std::uint32_t npu = 0;
  std::uint32_t place = 0;
};

class ServingExchanges {
 public:
  explicit ServingExchanges(const ServingSetup& setup) : setup_(setup), work_(setup.work) {}

  // The core takes part in exchange `number`. True: its part is over.
  bool begin(pdes::Context& context, const CorePlace& core, const ExchangeOf& of,
             std::uint64_t number);
  // A message of an all-reduce. True: the core's part in it is over.
  bool arrived(pdes::Context& context, const ExchangeOf& of, std::uint32_t step);

  // Calls `visit` with units, steps and names of messages, such that the core's part in the
  // exchange of a step in that place neither sends nor is over until one of them is here. False
  // where that is not known.
  using AwaitedVisit = std::function<void(std::uint32_t unit, std::uint32_t step,
                                          const ExchangeOf& of, Bytes bytes)>;
  bool visit_awaited(std::uint16_t slot, const AwaitedVisit& visit) const;

  void save(pdes::StateWriter& writer) const;
  void restore(pdes::StateReader& reader);

 private:
  class Actions;
  struct Part {
    std::uint64_t number = 0;
    ExchangeOf of;
    CorePlace core;
    collective::AlgorithmRun run;
  };
  struct Message {
    ExchangeOf of;
    std::uint32_t step = 0;
    friend bool operator==(const Message&, const Message&) = default;
  };

  const ServiceSettings& tenant_of(std::uint64_t number) const;
  serving::Exchange exchange_of(std::uint64_t number) const;
  Part part_of(const CorePlace& core, const ExchangeOf& of, std::uint64_t number) const;
  bool take_early(const Message& message);
  bool end_if_over(const Part& part);

  ServingSetup setup_;
  const ServingWork& work_;
  std::vector<Part> parts_;     // under way
  std::vector<Message> early_;  // that have come before their part was ready for them
};

}  // namespace tessera::executor
