#include <algorithm>
#include <limits>
#include <utility>

#include "serving/core.hpp"
#include "serving/host/host.hpp"
#include "serving/messages.hpp"
#include "serving/moves.hpp"
#include "serving/outlook.hpp"
#include "serving/sending.hpp"
#include "serving/walks.hpp"
#include "tessera/core/error.hpp"
#include "tessera/executor/flops.hpp"
#include "tessera/executor/serving/serving.hpp"
#include "tessera/network/messages.hpp"
#include "tessera/npu/messages.hpp"

namespace tessera::executor {
namespace {

using serving::OperatorName;

class ServingExecutor final : public Executor, public FindsFlops {
 public:
  explicit ServingExecutor(const ServingSetup& setup)
      : setup_(telling(setup)),
        work_(setup.work),
        core_of_(setup.members.size(), no_core),
        walks_(setup_) {
    std::vector<std::pair<EntityId, CorePlace>> places;
    for (std::uint32_t npu = 0; npu < work_.npus.size(); ++npu) {
      for (std::uint32_t place = 0; place < work_.npus[npu].size(); ++place) {
        places.emplace_back(work_.npus[npu][place], CorePlace{npu, place});
      }
    }
    std::sort(places.begin(), places.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    for (std::size_t index = 0; index < setup_.members.size(); ++index) {
      const auto found =
          std::lower_bound(places.begin(), places.end(), setup_.members[index],
                           [](const auto& entry, EntityId node) { return entry.first < node; });
      if (found == places.end() || found->first != setup_.members[index]) {
        continue;
      }
      core_of_[index] = static_cast<std::uint32_t>(cores_.size());
      cores_.emplace_back(setup_, found->second);
      if (setup_.members[index] == work_.host()) {
        host_ = std::make_unique<ServingHost>(setup_);
      }
    }
    if (setup_.outlook.regions != nullptr) {
      outlook_ = std::make_unique<ServingOutlook>(setup_, core_of_, cores_, walks_, host_);
      outlook_->watch_all();
    }
  }

  std::optional<pdes::Outlook> outlook(std::uint32_t rank, const pdes::Moment& moment) override {
    return outlook_ ? std::optional(outlook_->outlook(rank, moment)) : std::nullopt;
  }
  void take_in(pdes::Event& event) override {
    if (outlook_ && is_message(event.port)) {
      expect(delivered_by(event));
    }
  }
  bool expect(const network::Progress& message) override {
    if (outlook_ && is_message(message.deliver)) {
      outlook_->coming(message);
    }
    return false;
  }

  void start(pdes::Context& context) override {
    if (context.self() == work_.host()) {
      context.send_self(SimTime::zero(), port(serving_call_kind), std::uint32_t{0},
                        static_cast<std::uint16_t>(HostCall::begin));
      host_->calls().add(HostCall::begin, context.now());
    }
  }

  void handle(pdes::Context& context, const pdes::Event& event) override {
    note(context, event);
    switch (event.port.kind()) {
      case serving_call_kind:
        call_host(context, static_cast<HostCall>(event.tag), event.as<std::uint32_t>());
        break;
      case serving_moved_kind:
        move(context, event.tag, event.as<network::Arrival>());
        break;
      case serving_heard_kind:
        host_->hear_from(context, event.tag, event.as<network::Arrival>().source);
        break;
      case serving_whole_kind:
        if (work_.whole_steps) {
          host_->end_whole(context, event.tag);
        } else {
          be_told_more(context, event.tag, event.as<network::Arrival>().word);
        }
        break;
      case serving_spent_kind:
        core_at(context).learn_spent(
            static_cast<SpentWord>(event.tag),
            SimTime::from_ps(static_cast<std::int64_t>(event.as<network::Arrival>().word)));
        break;
      case serving_named_kind:
      case serving_shared_kind:
        be_told(context, event.tag, event.as<network::Arrival>().word,
                event.port.kind() - serving_named_kind);
        break;
      case serving_keys_kind:
      case serving_pairs_kind:
      case serving_blocks_kind:
      case serving_block_keys_kind:
        be_told(context, event.tag, event.as<network::Arrival>().word,
                2 + place_of_size(event.port.kind()));
        break;
      case serving_carry_kind:
        carry(context, event.tag, CarryOf::from(event.as<network::Arrival>().word));
        break;
      case serving_computed_kind:
        computed(context, event.tag);
        break;
      case serving_accessed_kind:
        computed(context, static_cast<std::uint16_t>(event.tag & ~writes_flag));
        break;
      default:
        exchanged(context, event.tag, ExchangeOf::from(event.as<network::Arrival>().word));
        break;
    }
  }

  void visit_results(const std::function<void(const TileResult&)>& visit) const override {
    for (std::size_t index = 0; index < core_of_.size(); ++index) {
      if (core_of_[index] == no_core) {
        continue;
      }
      const ServingCore& core = cores_[core_of_[index]];
      TileResult result;
      result.tile = setup_.members[index];
      result.role = core.place.npu;
      result.finished = core.begun.empty();
      result.end = core.since;
      result.over = host_ && result.tile == work_.host() ? host_->last() : SimTime();
      result.time[static_cast<std::size_t>(Activity::compute)] = SimTime::from_ps(core.busy_ps);
      result.time[static_cast<std::size_t>(Activity::tensor)] = SimTime::from_ps(core.exchange_ps);
      result.time[static_cast<std::size_t>(Activity::bubble)] =
          core.since - SimTime::from_ps(core.busy_ps + core.exchange_ps);
      visit(result);
    }
  }

  std::uint64_t unfinished() const override { return host_ ? host_->unserved() : 0; }
  std::uint64_t instructions_done() const override {
    return earlier_ + (host_ ? host_->served() : 0);
  }
  std::vector<Balance> balances() const override {
    std::vector<Balance> all;
    for (std::size_t i = 0; i < work_.tenants.size(); ++i) {
      const ServiceSettings& tenant = work_.tenants[i];
      const std::vector<Balance> some =
          host_ ? host_->balances(i) : balances_of(tenant, {}, {}, {}, {});
      all.insert(all.end(), some.begin(), some.end());
    }
    if (work_.on_tiles) {
      all.push_back({"parts of steps that tiles were told of and did",
                     host_ ? host_->parts_told() : 0, walks_.parts_done()});
      all.push_back({"bytes of keys and values that tiles were told to hand over and got",
                     host_ ? host_->carried_bytes() : 0, carried_});
      all.push_back({"bytes of the cache that tiles were told to move and moved",
                     host_ ? host_->moved_bytes() : 0, moved_});
    }
    return all;
  }
  std::optional<AskedOfMemory> asked_of_memory() const override {
    return work_.on_tiles ? std::optional(walks_.asked()) : std::nullopt;
  }
  Wide operand_bytes_found() const override {
    return walks_.operand_bytes() + (host_ ? host_->operand_bytes() : 0);
  }
  std::vector<Wide> flops_found() const override {
    Wide sum = 0;
    for (std::size_t i = 0; host_ && i < work_.tenants.size(); ++i) {
      sum += host_->flops(i);
    }
    return {sum};
  }
  std::vector<std::string> waiting(std::size_t most) const override {
    return host_ ? host_->waiting(most) : std::vector<std::string>{};
  }
  std::vector<Service> services() const override {
    return host_ ? host_->services() : std::vector<Service>{};
  }

  // Whole steps send nothing for what units exchange.
  std::optional<SentBytes> sent_bytes() const override {
    return work_.whole_steps ? std::nullopt : std::optional(sent_);
  }

  std::vector<Service> service_totals() const override {
    return host_ ? host_->service_totals() : std::vector<Service>{};
  }

  void save(std::uint32_t index, pdes::StateWriter& writer) const override {
    if (core_of_[index] == no_core) {
      return;
    }
    cores_[core_of_[index]].save(writer);
    if (work_.hands_over_layers()) {
      cores_[core_of_[index]].layers.save(writer);
    }
    if (setup_.members[index] == work_.host()) {
      host_->save(writer);
    }
  }

  void restore(std::uint32_t index, pdes::StateReader& reader) override {
    if (core_of_[index] == no_core) {
      return;
    }
    cores_[core_of_[index]].restore(reader);
    if (work_.hands_over_layers()) {
      cores_[core_of_[index]].layers.restore(reader);
    }
    if (setup_.members[index] == work_.host()) {
      host_->restore(reader);
    }
  }

  void save_totals(pdes::StateWriter& writer) const override {
    writer.put(instructions_done());
    walks_.save_totals(writer);
    writer.put(carried_);
    writer.put(moved_);
    writer.put(sent_.messages);
    writer.put(sent_.collectives);
  }
  void add_totals(pdes::StateReader& reader) override {
    earlier_ += reader.get<std::uint64_t>();
    walks_.add_totals(reader);
    carried_ += reader.get<std::uint64_t>();
    moved_ += reader.get<std::uint64_t>();
    sent_.messages += reader.get<std::uint64_t>();
    sent_.collectives += reader.get<std::uint64_t>();
  }

  std::size_t resident_bytes() const override {
    return core_of_.capacity() * sizeof(std::uint32_t) + cores_.capacity() * sizeof(ServingCore) +
           walks_.resident_bytes() + (host_ ? host_->resident_bytes() : 0);
  }

 private:
  static constexpr std::uint32_t no_core = std::numeric_limits<std::uint32_t>::max();

  static std::size_t place_of_size(unsigned kind) {
    return static_cast<std::size_t>(
        std::find(serving_size_kinds.begin(), serving_size_kinds.end(), kind) -
        serving_size_kinds.begin());
  }

  pdes::Port port(unsigned kind) const { return pdes::Port(setup_.slot, kind); }

  // --- for the outlook ---

  ServingSetup telling(const ServingSetup& setup) {
    ServingSetup made = setup;
    made.sent = &sent_;
    if (setup.outlook.regions != nullptr) {
      made.on_sent = [this](EntityId from, EntityId to, Bytes bytes, unsigned kind,
                            std::uint16_t tag, std::uint64_t word,
                            SimTime now) { outlook_->sent(from, to, bytes, kind, tag, word, now); };
    }
    return made;
  }

  bool is_message(pdes::Port at) const {
    const unsigned kind = at.kind();
    return at.component() == setup_.slot && kind != serving_call_kind &&
           kind != serving_computed_kind && kind != serving_accessed_kind &&
           (kind != serving_whole_kind || !work_.whole_steps);
  }

  void note(const pdes::Context& context, const pdes::Event& event) {
    if (!outlook_ || core_of_[context.index()] == no_core) {
      return;
    }
    outlook_->happened(context.index());
    if (is_message(event.port)) {
      const auto arrival = event.as<network::Arrival>();
      outlook_->came(context.index(), arrival.source, event.port.kind(), event.tag, arrival.word);
    }
  }
  ServingCore& core_at(const pdes::Context& context) { return cores_[core_of_[context.index()]]; }

  void be_told(pdes::Context& context, std::uint16_t slot, std::uint64_t value, std::size_t word) {
    ServingCore& core = core_at(context);
    if (!is_complete(core.tell(slot, word, value))) {
      return;
    }
    const Told told = core.take_told(slot);
    if (!work_.on_tiles) {
      begin(context, core, slot, told.words[0], ShareOf::from(told.words[1]));
    } else {
      begin_walk(context, told);
    }
  }

  void be_told_more(pdes::Context& context, std::uint16_t slot, std::uint64_t value) {
    constexpr unsigned bits = serving::StepSizes::more_bits;
    be_told(context, slot, value & ((std::uint64_t{1} << bits) - 1),
            Told::first_more + static_cast<std::size_t>(value >> bits));
  }

  // Whether all has come that the host says of a part; a step's tenant is in its first word.
  bool is_complete(const Told& told) const {
    constexpr unsigned of_core = 0b11;
    if (!work_.on_tiles || (told.heard & 1U) == 0) {
      return !work_.on_tiles && told.heard == of_core;
    }
    const std::uint32_t tenant = OperatorName::from(told.words[0]).tenant;
    const unsigned more = work_.tenants[tenant].model->on_tiles()->more_words();
    return told.heard == (Told::all_but_more | more << Told::first_more);
  }

  void begin_walk(pdes::Context& context, const Told& step) {
    ServingCore& core = core_at(context);
    if (core.layers.may_begin(step)) {
      walks_.be_told(core, step);
      go_on(context, core);
    }
  }

  // Steps whose turn has come.
  void go_on(pdes::Context& context, ServingCore& core) {
    while (Walking* const next = core.next_walk()) {
      const std::uint16_t slot = next->slot;
      if (walks_.begin(context, core, *next)) {
        tell_host(context, slot);
      }
    }
  }

  void end_walk(pdes::Context& context, std::uint16_t slot) {
    tell_host(context, slot);
    go_on(context, core_at(context));
  }

  void begin(pdes::Context& context, ServingCore& core, std::uint16_t slot, std::uint64_t number,
             const ShareOf& share) {
    const bool exchanges = share.cores.count == 0;
    core.begin(context.now(), {number, context.now(), share.step, slot, exchanges});
    if (!exchanges) {
      const std::uint32_t op = OperatorName::from(number).op;
      npu::ShareRequest request;
      request.number = number;
      request.first = share.first_group(op, core.place.place);
      request.stride = share.cores.count;
      request.priority = share.priority;
      request.done = port(serving_computed_kind);
      npu::run_share(context, setup_.compute_slot, request, slot);
      return;
    }
    const OperatorName name = OperatorName::from(number);
    const bool hands_on =
        !work_.tenants[name.tenant].model->exchange(name.op, name.shape).collective;
    if (core.exchanges.begin(context, core.place, {slot, 0, 0}, number)) {
      end(context, slot);
    } else if (hands_on) {
      core.begun.pop_back();  // nothing here waits for it
    }
  }

  void computed(pdes::Context& context, std::uint16_t slot) {
    if (!work_.on_tiles) {
      end(context, slot);
    } else if (walks_.computed(context, core_at(context), slot)) {
      end_walk(context, slot);
    }
  }

  void exchanged(pdes::Context& context, std::uint16_t step, const ExchangeOf& of) {
    if (work_.on_tiles) {
      if (walks_.exchanged(context, core_at(context), step, of)) {
        end_walk(context, of.slot);
      }
    } else if (step == hand_on_tag) {
      tell_host(context, of.slot);
    } else if (core_at(context).exchanges.arrived(context, of, step)) {
      end(context, of.slot);
    }
  }

  void end(pdes::Context& context, std::uint16_t slot) {
    core_at(context).end(context, setup_, slot);
    tell_host(context, slot);
  }

  void call_host(pdes::Context& context, HostCall call, std::uint32_t number) {
    switch (call) {
      case HostCall::begin:
        host_->begin(context);
        break;
      case HostCall::arrive:
        host_->arrive(context, number);
        break;
      case HostCall::prepared:
        host_->prepared(context, number);
        break;
      case HostCall::whole:
        throw InternalError("the end of a whole step among other calls");
    }
  }

  void move(pdes::Context& context, std::uint16_t slot, const network::Arrival& what) {
    const std::uint32_t core = core_of_[context.index()];
    if (go_on_moving(context, setup_, slot, what, core == no_core ? nullptr : &cores_[core])) {
      moved_ += MoveOf::from(what.word).bytes;
      tell_host(context, slot);
    }
  }

  void carry(pdes::Context& context, std::uint16_t slot, CarryOf of) {
    if (of.has_come) {
      carried_ += of.bytes;
      if (!of.by_layers || core_at(context).layers.has_come(slot, of.npu)) {
        tell_host(context, slot);
      }
      return;
    }
    if (of.by_layers) {
      const LayersOf layers = LayersOf::from(of.bytes);
      const auto kept = core_at(context).layers.leave({layers.step, slot, of.npu, layers.tokens});
      if (kept) {
        begin_walk(context, *kept);
      }
      return;
    }
    of.has_come = true;
    send_data(context, setup_, work_.npus[of.npu].front(), Bytes(of.bytes), serving_carry_kind,
              slot, of.word());
  }

  void tell_host(pdes::Context& context, std::uint16_t slot) {
    send_message(context, setup_, work_.host(), work_.message, serving_heard_kind, slot, 0);
  }

  SentBytes sent_;  // told of by `setup_`
  ServingSetup setup_;
  const ServingWork& work_;
  std::vector<std::uint32_t> core_of_;  // [local entities] in cores_
  std::vector<ServingCore> cores_;
  ServingWalks walks_;
  std::unique_ptr<ServingHost> host_;        // where requests arrive
  std::unique_ptr<ServingOutlook> outlook_;  // of a run on several ranks
  std::uint64_t earlier_ = 0;                // requests served before a checkpoint
  std::uint64_t carried_ = 0;                // bytes of keys and values that have come
  std::uint64_t moved_ = 0;  // bytes of blocks that have gone to tiers or come from there
};

}  // namespace

std::unique_ptr<Executor> make_serving_executor(const ServingSetup& setup) {
  return std::make_unique<ServingExecutor>(setup);
}

}  // namespace tessera::executor
