#include "traffic/executor.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "tessera/network/messages.hpp"
#include "tessera/pdes/engine.hpp"
#include "tessera/sim/measures.hpp"
#include "tessera/sim/work.hpp"
#include "traffic/message_counts.hpp"
#include "traffic/outlook.hpp"

namespace tessera::sim {
namespace {

// Port kinds.
constexpr unsigned due_kind = 0;      // a tile sends its next message
constexpr unsigned arrived_kind = 1;  // word: when it was sent [ps]

// Of a tile.
struct SenderState {
  network::InjectionState draws;
  network::TrafficMessage next;
  std::uint64_t passed = 0;  // cycles that it is through with
  SimTime begin;
  SimTime end;  // of the last message that it sent or took
  bool has_begun = false;
  bool has_next = false;
};

class TrafficExecutor final : public executor::Executor, public Measures {
 public:
  explicit TrafficExecutor(TrafficWorkSetup setup)
      : setup_(std::move(setup)),
        work_(setup_.work),
        numbers_(setup_.members.size(), TrafficOutlook::no_number),
        states_(setup_.members.size()) {
    std::vector<std::pair<EntityId, std::uint32_t>> numbers;
    for (std::uint32_t number = 0; number < work_.tiles.size(); ++number) {
      numbers.emplace_back(work_.tiles[number], number);
    }
    std::sort(numbers.begin(), numbers.end());
    for (std::size_t index = 0; index < numbers_.size(); ++index) {
      const auto found =
          std::lower_bound(numbers.begin(), numbers.end(), setup_.members[index],
                           [](const auto& entry, EntityId node) { return entry.first < node; });
      if (found != numbers.end() && found->first == setup_.members[index]) {
        numbers_[index] = found->second;
      }
    }
    if (setup_.outlook.regions != nullptr) {
      outlook_.emplace(setup_, numbers_);
    }
  }

  const char* name() const override { return "synthetic traffic"; }

  std::optional<pdes::Outlook> outlook(std::uint32_t rank, const pdes::Moment&) override {
    if (!outlook_) {
      return std::nullopt;
    }
    return outlook_->outlook(rank, [this](std::uint32_t index) {
      const SenderState& state = states_[index];
      return TrafficOutlook::Standing{
          state.has_begun, state.has_next ? std::optional(state.next) : std::nullopt, state.begin};
    });
  }

  void start(pdes::Context& context) override {
    if (numbers_[context.index()] == TrafficOutlook::no_number) {
      return;
    }
    SenderState& state = states_[context.index()];
    state.has_begun = true;
    state.begin = context.now();
    state.end = context.now();
    draw(context, state);
  }

  void handle(pdes::Context& context, const pdes::Event& event) override {
    SenderState& state = states_[context.index()];
    state.end = context.now();
    if (event.port.kind() == due_kind) {
      network::send(context, network_slot, work_.tiles[state.next.target], work_.message(),
                    port(arrived_kind), 0, static_cast<std::uint64_t>(context.now().ps()));
      ++counts_.sent;
      pass(state, state.next.cycle + 1);
      draw(context, state);
      return;
    }
    const auto arrival = event.as<network::Arrival>();
    const SimTime sent = SimTime::from_ps(static_cast<std::int64_t>(arrival.word));
    counts_.take(context.now() - sent, context.now() - state.begin < work_.time_of(work_.cycles));
    if (setup_.observer != nullptr) {
      setup_.observer->on_message({arrival.source, context.self(), plan::Traffic::message,
                                   work_.message(), sent, context.now(), context.now()});
    }
  }

  void visit_results(const std::function<void(const executor::TileResult&)>& visit) const override {
    for (std::size_t index = 0; index < states_.size(); ++index) {
      if (numbers_[index] == TrafficOutlook::no_number) {
        continue;
      }
      const SenderState& state = states_[index];
      executor::TileResult result;
      result.tile = setup_.members[index];
      result.role = numbers_[index];
      result.finished = state.has_begun && !state.has_next;
      result.end = state.end;
      result.time[static_cast<std::size_t>(executor::Activity::message)] = state.end - state.begin;
      result.time[static_cast<std::size_t>(executor::Activity::bubble)] = state.begin;
      visit(result);
    }
  }

  // Messages of all ranks that have not come, when these numbers are added up (modulo 2^64): who
  // takes one knows nothing of those that are still to come.
  std::uint64_t unfinished() const override { return counts_.sent - counts_.come; }
  std::vector<std::string> waiting(std::size_t most) const override {
    if (most == 0) {
      return {};
    }
    return {"synthetic traffic: " + std::to_string(counts_.sent) +
            " messages were sent by tiles of this rank, and " + std::to_string(counts_.come) +
            " came to them"};
  }
  std::uint64_t instructions_done() const override { return cycles_passed_; }
  std::vector<Balance> balances() const override {
    return {{"messages sent and delivered", counts_.sent, counts_.come}};
  }
  std::optional<executor::SentBytes> sent_bytes() const override {
    return executor::SentBytes{counts_.sent * work_.message().count(), 0};
  }
  std::optional<executor::AskedOfMemory> asked_of_memory() const override {
    return executor::AskedOfMemory{};
  }
  std::vector<trace::Measure> measured(comm::Communicator& communicator) const override {
    return counts_.measures(work_, communicator);
  }

  void save(std::uint32_t index, pdes::StateWriter& writer) const override {
    if (numbers_[index] != TrafficOutlook::no_number) {
      const SenderState& state = states_[index];
      writer.put(state.draws.draws);
      writer.put(state.draws.cycles_left);
      writer.put(state.next.cycle);
      writer.put(state.next.target);
      writer.put(state.passed);
      writer.put(state.begin);
      writer.put(state.end);
      writer.put(state.has_begun);
      writer.put(state.has_next);
    }
  }
  void restore(std::uint32_t index, pdes::StateReader& reader) override {
    if (numbers_[index] != TrafficOutlook::no_number) {
      SenderState& state = states_[index];
      state.draws.draws = reader.get<std::uint64_t>();
      state.draws.cycles_left = reader.get<std::uint64_t>();
      state.next.cycle = reader.get<std::uint64_t>();
      state.next.target = reader.get<std::uint32_t>();
      state.passed = reader.get<std::uint64_t>();
      state.begin = reader.get<SimTime>();
      state.end = reader.get<SimTime>();
      state.has_begun = reader.get<bool>();
      state.has_next = reader.get<bool>();
    }
  }
  void save_totals(pdes::StateWriter& writer) const override {
    writer.put(cycles_passed_);
    counts_.save(writer);
  }
  void add_totals(pdes::StateReader& reader) override {
    cycles_passed_ += reader.get<std::uint64_t>();
    MessageCounts counts;
    counts.restore(reader);
    counts_.add_all(counts);
  }

  std::size_t resident_bytes() const override {
    return numbers_.capacity() * sizeof(std::uint32_t) + states_.capacity() * sizeof(SenderState) +
           counts_.resident_bytes();
  }

 private:
  static pdes::Port port(unsigned kind) { return {executor_slot, kind}; }

  void pass(SenderState& state, std::uint64_t cycles) {
    cycles_passed_ += cycles - state.passed;
    state.passed = cycles;
  }

  // Of its next message, as long as it has one.
  void draw(pdes::Context& context, SenderState& state) {
    state.next = work_.stream().next(context.self(), numbers_[context.index()], state.draws,
                                     state.passed, work_.cycles);
    state.has_next = state.next.cycle < work_.cycles;
    if (!state.has_next) {
      pass(state, work_.cycles);
      return;
    }
    context.send_self(state.begin + work_.time_of(state.next.cycle) - context.now(), port(due_kind),
                      std::uint32_t{0});
  }

  TrafficWorkSetup setup_;
  const TrafficWork& work_;
  std::vector<std::uint32_t> numbers_;  // [members] of the job's tiles
  std::vector<SenderState> states_;     // [members]
  std::optional<TrafficOutlook> outlook_;
  MessageCounts counts_;
  std::uint64_t cycles_passed_ = 0;  // of all tiles here
};

}  // namespace

std::unique_ptr<executor::Executor> make_traffic_executor(TrafficWorkSetup setup) {
  return std::make_unique<TrafficExecutor>(std::move(setup));
}

std::size_t traffic_bytes_a_tile() {
  return sizeof(SenderState) + sizeof(std::uint32_t);
}

}  // namespace tessera::sim
