// A compute model of one's own, in one file: `compute: {model: punctual, time: T}`. Every operation
// takes T.
#include <memory>

#include "tessera/compute/compute.hpp"
#include "tessera/compute/messages.hpp"

namespace {

using namespace tessera;
using namespace tessera::compute;

class PunctualCores final : public Compute {
 public:
  explicit PunctualCores(SimTime time) : time_(time) {}

  void handle(pdes::Context& context, const pdes::Event& event) override {
    context.send_self(time_, event.as<ExecuteRequest>().done, std::uint32_t{0}, event.tag);
  }
  const char* name() const override { return "compute punctual"; }

 private:
  SimTime time_;
};

class PunctualModel final : public ComputeModel {
 public:
  explicit PunctualModel(SimTime time) : time_(time) {}
  std::unique_ptr<Compute> build(const ComputeSetup&) const override {
    return std::make_unique<PunctualCores>(time_);
  }
  SimTime duration(const machine::Machine&, const machine::Tile&,
                   const workload::Operation&) const override {
    return time_;
  }
  bool is_fixed() const override { return true; }
  std::size_t predicted_bytes(std::uint64_t) const override { return 0; }

 private:
  SimTime time_;
};

const Registration registration(compute_models(),
                                {"punctual",
                                 "every operation takes the same time",
                                 {{"time", "ps", "", "of an operation"}}},
                                [](config::Section& section) {
                                  return std::make_unique<PunctualModel>(section.get<SimTime>(
                                      "time", config::at_least(SimTime::zero())));
                                });

}  // namespace
