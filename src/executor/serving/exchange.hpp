// One core's part in exchanges between NPUs: steps of an all-reduce, or a message that hands on.
#pragma once

#include <cstdint>
#include <vector>

#include "serving/messages.hpp"
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

  void save(pdes::StateWriter& writer) const;
  void restore(pdes::StateReader& reader);

 private:
  struct Part {
    std::uint64_t number = 0;
    ExchangeOf of;
    std::uint32_t place = 0;   // of the core in its NPU
    std::uint32_t member = 0;  // of the group
    std::uint32_t begun = 0;   // steps
  };
  struct Message {
    ExchangeOf of;
    std::uint32_t step = 0;
  };

  bool has_arrived(const ExchangeOf& of, std::uint32_t step) const;
  bool go_on(pdes::Context& context, Part& part);

  ServingSetup setup_;
  const ServingWork& work_;
  std::vector<Part> parts_;        // under way
  std::vector<Message> messages_;  // that have come for them, or before them
};

}  // namespace tessera::executor
