// A memory of one's own, in one file: `memory: {model: steady, time: T}`. An access of any size
// takes T, whatever else is under way.
#include <memory>

#include "tessera/memory/memory.hpp"
#include "tessera/memory/messages.hpp"

namespace {

using namespace tessera;
using namespace tessera::memory;

class SteadyMemory final : public Memory {
 public:
  explicit SteadyMemory(SimTime time) : time_(time) {}

  void handle(pdes::Context& context, const pdes::Event& event) override {
    context.send_self(time_, event.as<AccessRequest>().done, std::uint32_t{0}, event.tag);
  }
  void visit_channels(SimTime, const ChannelUseSink&) const override {}
  void report_bins(ChannelUseSink) override {}
  const char* name() const override { return "memory steady"; }

 private:
  SimTime time_;
};

class SteadyModel final : public MemoryModel {
 public:
  explicit SteadyModel(SimTime time) : time_(time) {}
  std::unique_ptr<Memory> build(const MemorySetup&) const override {
    return std::make_unique<SteadyMemory>(time_);
  }
  std::size_t predicted_bytes(const machine::Machine&, std::uint64_t) const override { return 0; }
  bool sends_along_links() const override { return true; }
  Account account() const override { return Account::none; }

 private:
  SimTime time_;
};

const Registration registration(memories(),
                                {"steady",
                                 "every access takes the same time",
                                 {{"time", "ps", "", "of an access"}}},
                                [](config::Section& section) {
                                  return std::make_unique<SteadyModel>(section.get<SimTime>(
                                      "time", config::at_least(SimTime::zero())));
                                });

}  // namespace
