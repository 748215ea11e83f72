#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "chip_outlook.hpp"
#include "tessera/core/error.hpp"
#include "tessera/executor/chip.hpp"
#include "tessera/network/messages.hpp"
#include "tessera/npu/messages.hpp"

namespace tessera::executor {

std::uint32_t ChipWork::first_group(std::uint32_t number, std::uint32_t place) const {
  const auto count = static_cast<std::uint32_t>(cores.size());
  const std::uint32_t first = operators[number].first_core.value_or(number);
  return (place + count - first % count) % count;
}

std::uint64_t ChipWork::shares() const {
  std::uint64_t sum = 0;
  for (const ChipOperator& op : operators) {
    sum += std::min<std::uint64_t>(op.tiles->groups(), cores.size());
  }
  return sum;
}

std::uint64_t ChipWork::messages() const {
  std::uint64_t sum = 0;
  for (std::uint32_t number = 0; number < operators.size(); ++number) {
    for (std::uint32_t core = 1; core < cores.size(); ++core) {
      sum += takes_part(number, core) ? 2 : 0;
    }
  }
  return sum;
}

namespace {

// Port kinds.
constexpr unsigned chip_begin_kind = 0;  // the whole, at the first core
constexpr unsigned told_kind = 1;        // word: the operator to begin
constexpr unsigned computed_kind = 2;    // npu::ShareDone
constexpr unsigned heard_kind = 3;       // at the first core; word: the operator of a share

class ChipExecutor final : public Executor, private ChipOutlook::Teller {
 public:
  explicit ChipExecutor(const ChipSetup& setup)
      : setup_(setup), work_(setup.work), core_of_(setup.members.size(), no_core) {
    std::vector<std::pair<EntityId, std::uint32_t>> numbers;
    for (std::uint32_t core = 0; core < work_.cores.size(); ++core) {
      numbers.emplace_back(work_.cores[core], core);
    }
    std::sort(numbers.begin(), numbers.end());
    for (std::size_t index = 0; index < setup_.members.size(); ++index) {
      const auto found =
          std::lower_bound(numbers.begin(), numbers.end(), setup_.members[index],
                           [](const auto& entry, EntityId node) { return entry.first < node; });
      if (found != numbers.end() && found->first == setup_.members[index]) {
        core_of_[index] = found->second;
        if (found->second == 0) {
          leads_ = true;
          first_ = static_cast<std::uint32_t>(index);
        }
      }
    }
    cores_.resize(setup_.members.size());
    later_.resize(leads_ ? work_.operators.size() : 0);
    for (std::uint32_t number = 0; number < later_.size(); ++number) {
      for (const std::uint32_t before : work_.operators[number].after) {
        later_[before].push_back(number);
      }
    }
    if (setup_.outlook.regions != nullptr) {
      outlook_ = std::make_unique<ChipOutlook>(setup_, core_of_);
    }
  }

  const char* name() const override { return "operators on a chip"; }

  std::optional<pdes::Outlook> outlook(std::uint32_t rank, const pdes::Moment& moment) override {
    return outlook_ ? std::optional(outlook_->outlook(rank, moment, *this)) : std::nullopt;
  }
  void take_in(pdes::Event& event) override {
    if (outlook_ && is_message(event.port)) {
      expect(delivered_by(event));
    }
  }
  // They are small: not worth following.
  bool expect(const network::Progress& message) override {
    if (outlook_ && is_message(message.deliver) && message.source != message.target) {
      outlook_->expect(message.target, {message.source, 0, message.word, message.earliest});
    }
    return false;
  }

  void start(pdes::Context& context) override {
    if (core_of_[context.index()] == 0) {
      context.send_self(SimTime::zero(), port(chip_begin_kind), std::uint32_t{0});
    }
  }

  void handle(pdes::Context& context, const pdes::Event& event) override {
    note(context, event);
    switch (event.port.kind()) {
      case chip_begin_kind:
        begin_iteration(context);
        break;
      case told_kind:
        begin_share(context, event.as<network::Arrival>().word);
        break;
      case computed_kind:
        end_share(context, static_cast<std::uint32_t>(event.as<npu::ShareDone>().number));
        break;
      default:
        hear(context, event.as<network::Arrival>());
        break;
    }
  }

  void visit_results(const std::function<void(const TileResult&)>& visit) const override {
    for (std::size_t index = 0; index < core_of_.size(); ++index) {
      if (core_of_[index] == no_core) {
        continue;
      }
      const Core& core = cores_[index];
      TileResult result;
      result.tile = setup_.members[index];
      result.role = core_of_[index];
      result.finished = core.shares.empty();
      result.end = core.since;
      result.over = core_of_[index] == 0 ? over_ : SimTime::zero();
      result.time[static_cast<std::size_t>(Activity::compute)] = SimTime::from_ps(core.busy_ps);
      result.time[static_cast<std::size_t>(Activity::bubble)] =
          core.since - SimTime::from_ps(core.busy_ps);
      visit(result);
    }
  }

  std::uint64_t unfinished() const override { return leads_ && iteration_ < setup_.iterations; }
  std::uint64_t instructions_done() const override { return shares_done_; }
  // Operands are of memory.
  std::optional<SentBytes> sent_bytes() const override {
    return SentBytes{leads_ ? work_.messages() * iteration_ * work_.message.count() : 0, 0};
  }

  std::vector<std::string> waiting(std::size_t most) const override {
    std::vector<std::string> lines;
    for (std::uint32_t number = 0; leads_ && number < outstanding_.size() && lines.size() < most;
         ++number) {
      if (outstanding_[number] > 0) {
        lines.push_back(work_.operators[number].name + ": " + std::to_string(outstanding_[number]) +
                        " cores have not finished");
      }
    }
    return lines;
  }

  void save(std::uint32_t index, pdes::StateWriter& writer) const override {
    if (core_of_[index] == no_core) {
      return;
    }
    const Core& core = cores_[index];
    writer.put_all(core.shares);
    writer.put(core.since);
    writer.put(core.busy_ps);
    if (core_of_[index] == 0) {
      writer.put(iteration_);
      writer.put(over_);
      writer.put(left_);
      writer.put_all(outstanding_);
      writer.put_all(awaited_);
    }
  }

  void restore(std::uint32_t index, pdes::StateReader& reader) override {
    if (core_of_[index] == no_core) {
      return;
    }
    Core& core = cores_[index];
    core.shares = reader.get_all<Begun>();
    core.since = reader.get<SimTime>();
    core.busy_ps = reader.get<std::int64_t>();
    if (core_of_[index] == 0) {
      iteration_ = reader.get<std::uint32_t>();
      over_ = reader.get<SimTime>();
      left_ = reader.get<std::uint32_t>();
      outstanding_ = reader.get_all<std::uint32_t>();
      awaited_ = reader.get_all<std::uint32_t>();
      elsewhere_.assign(outstanding_.size(), 0);  // nobody knows of which cores
    }
  }

  void save_totals(pdes::StateWriter& writer) const override { writer.put(shares_done_); }
  void add_totals(pdes::StateReader& reader) override {
    shares_done_ += reader.get<std::uint64_t>();
  }

  std::size_t resident_bytes() const override {
    return core_of_.capacity() * sizeof(std::uint32_t) + cores_.capacity() * sizeof(Core) +
           (outstanding_.capacity() + awaited_.capacity()) * sizeof(std::uint32_t);
  }

 private:
  static constexpr std::uint32_t no_core = ChipOutlook::no_core;

  struct Begun {
    std::uint32_t number = 0;
    std::uint32_t iteration = 0;
    SimTime time;
  };
  struct Core {
    std::vector<Begun> shares;  // under way
    SimTime since;              // of the last change
    std::int64_t busy_ps = 0;
  };

  pdes::Port port(unsigned kind) const { return pdes::Port(setup_.slot, kind); }

  // --- for the outlook ---

  bool is_message(pdes::Port at) const { return at == port(told_kind) || at == port(heard_kind); }

  // The first core's end of an operator goes by the shares of all cores here.
  void note(const pdes::Context& context, const pdes::Event& event) {
    if (!outlook_ || core_of_[context.index()] == no_core) {
      return;
    }
    outlook_->touch(context.index());
    if (leads_) {
      outlook_->touch(first_);
    }
    if (is_message(event.port)) {
      const auto arrival = event.as<network::Arrival>();
      outlook_->arrive(context.index(), arrival.source, 0, arrival.word);
    }
  }

  void send(pdes::Context& context, EntityId to, unsigned kind, std::uint64_t word) {
    if (outlook_ && to != context.self()) {
      outlook_->send(context.self(), to, work_.message, {context.self(), 0, word, context.now()});
    }
    network::send(context, setup_.network_slot, to, work_.message, port(kind), 0, word);
  }

  void tell(std::uint32_t index, ChipOutlook& outlook) override {
    for (const Begun& share : cores_[index].shares) {
      outlook.stand_in_share(index, share.number, share.time);
    }
    outlook.stand_idle(index);
    if (core_of_[index] == 0) {
      tell_first(index, outlook);
    }
  }

  void tell_first(std::uint32_t index, ChipOutlook& outlook) {
    std::vector<SimTime> ends(outstanding_.size());
    for (std::uint32_t core = 0; core < cores_.size(); ++core) {
      for (const Begun& share : cores_[core].shares) {
        ends[share.number] =
            std::max(ends[share.number], outlook.least_end(core, share.number, share.time));
      }
    }
    bool is_under_way = false;
    for (std::uint32_t number = 0; number < outstanding_.size(); ++number) {
      if (outstanding_[number] == 0) {
        continue;
      }
      is_under_way = true;
      if (elsewhere_[number] > outlook.coming_from_others(index, number)) {
        outlook.stand_first({Resumption::Kind::input, SimTime::zero()});
        continue;
      }
      const SimTime end = std::max(ends[number], outlook.heard_of(index, number));
      outlook.stand_first(end > SimTime::zero() ? Resumption{Resumption::Kind::at, end}
                                                : Resumption{});
    }
    if (!is_under_way) {
      outlook.stand_first({});  // the next iteration begins
    }
  }

  // --- at the first core ---

  void begin_iteration(pdes::Context& context) {
    left_ = static_cast<std::uint32_t>(work_.operators.size());
    outstanding_.assign(left_, 0);
    elsewhere_.assign(left_, 0);
    awaited_.clear();
    for (const ChipOperator& op : work_.operators) {
      awaited_.push_back(static_cast<std::uint32_t>(op.after.size()));
    }
    // Those that nothing comes before; one without tiles may end and begin others.
    std::vector<std::uint32_t> first;
    for (std::uint32_t number = 0; number < awaited_.size(); ++number) {
      if (awaited_[number] == 0) {
        first.push_back(number);
      }
    }
    for (const std::uint32_t number : first) {
      begin_operator(context, number);
    }
  }

  void begin_operator(pdes::Context& context, std::uint32_t number) {
    for (std::uint32_t core = 0; core < work_.cores.size(); ++core) {
      if (work_.takes_part(number, core)) {
        ++outstanding_[number];
        elsewhere_[number] += is_elsewhere(work_.cores[core]) ? 1 : 0;
      }
    }
    for (std::uint32_t core = 0; core < work_.cores.size(); ++core) {
      if (work_.takes_part(number, core)) {
        send(context, work_.cores[core], told_kind,
             number | std::uint64_t{iteration_} << 32U);  // the iteration goes with the number
      }
    }
    if (outstanding_[number] == 0) {
      end_operator(context, number);
    }
  }

  bool is_elsewhere(EntityId core) const {
    return outlook_ && !setup_.outlook.regions->is_here(core);
  }

  void hear(pdes::Context& context, const network::Arrival& share) {
    const auto number = static_cast<std::uint32_t>(share.word);
    if (elsewhere_[number] > 0 && is_elsewhere(share.source)) {
      --elsewhere_[number];
    }
    ensure(outstanding_[number] > 0, "a share of an operator that is over");
    if (--outstanding_[number] == 0) {
      end_operator(context, number);
    }
  }

  void end_operator(pdes::Context& context, std::uint32_t number) {
    if (--left_ == 0) {
      over_ = context.now();
      if (++iteration_ < setup_.iterations) {
        context.send_self(SimTime::zero(), port(chip_begin_kind), std::uint32_t{0});
      }
      return;
    }
    for (const std::uint32_t later : later_[number]) {
      if (--awaited_[later] == 0) {
        begin_operator(context, later);
      }
    }
  }

  // --- at every core ---

  void begin_share(pdes::Context& context, std::uint64_t word) {
    const auto number = static_cast<std::uint32_t>(word);
    Core& core = cores_[context.index()];
    book(core, context.now());
    core.shares.push_back({number, static_cast<std::uint32_t>(word >> 32U), context.now()});
    npu::run_share(context, setup_.compute_slot,
                   {number, work_.first_group(number, core_of_[context.index()]),
                    static_cast<std::uint32_t>(work_.cores.size()), 0, port(computed_kind)});
  }

  void end_share(pdes::Context& context, std::uint32_t number) {
    Core& core = cores_[context.index()];
    book(core, context.now());
    const auto begun = std::find_if(core.shares.begin(), core.shares.end(),
                                    [&](const Begun& share) { return share.number == number; });
    ensure(begun != core.shares.end(), "a share that ends has begun");
    if (setup_.observer != nullptr && begun->time != context.now()) {
      setup_.observer->on_operator({context.self(), work_.name_of[number], plan::Phase::forward,
                                    Activity::compute, begun->iteration, begun->time,
                                    context.now()});
    }
    core.shares.erase(begun);
    ++shares_done_;
    send(context, work_.cores.front(), heard_kind, number);
  }

  static void book(Core& core, SimTime now) {
    if (!core.shares.empty()) {
      core.busy_ps += (now - core.since).ps();
    }
    core.since = now;
  }

  ChipSetup setup_;
  const ChipWork& work_;
  std::vector<std::uint32_t> core_of_;    // [local entities] number of the core
  std::vector<Core> cores_;               // the same
  bool leads_ = false;                    // has the first core
  std::uint32_t first_ = 0;               // it
  std::unique_ptr<ChipOutlook> outlook_;  // of a run on several ranks
  std::uint64_t shares_done_ = 0;
  // At the first core.
  std::vector<std::vector<std::uint32_t>> later_;  // [operators] that come after it
  std::uint32_t iteration_ = 0;
  SimTime over_;  // the last iteration that is
  std::uint32_t left_ = 0;
  std::vector<std::uint32_t> outstanding_;  // [operators] cores that have not finished
  std::vector<std::uint32_t> awaited_;      // [operators] that it comes after and are not over
  std::vector<std::uint32_t> elsewhere_;    // [operators] of the outstanding ones on other ranks
};

}  // namespace

std::unique_ptr<Executor> make_chip_executor(const ChipSetup& setup) {
  return std::make_unique<ChipExecutor>(setup);
}

}  // namespace tessera::executor
