#include <algorithm>
#include <limits>
#include <utility>

#include "serving_exchange.hpp"
#include "serving_host.hpp"
#include "serving_messages.hpp"
#include "tessera/core/error.hpp"
#include "tessera/executor/serving.hpp"
#include "tessera/network/messages.hpp"
#include "tessera/npu/messages.hpp"

namespace tessera::executor {
namespace {

using serving::OperatorName;

class ServingExecutor final : public Executor {
 public:
  explicit ServingExecutor(const ServingSetup& setup)
      : setup_(setup), work_(setup.work), core_of_(setup.members.size(), no_core) {
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
  }

  void start(pdes::Context& context) override {
    if (context.self() == work_.host()) {
      context.send_self(SimTime::zero(), port(serving_begin_kind), std::uint32_t{0});
    }
  }

  void handle(pdes::Context& context, const pdes::Event& event) override {
    switch (event.port.kind()) {
      case serving_begin_kind:
        host_->begin(context);
        break;
      case serving_arrive_kind:
        host_->arrive(context, event.as<std::uint32_t>());
        break;
      case serving_heard_kind:
        host_->hear(context, event.tag);
        break;
      case serving_named_kind:
      case serving_shared_kind:
        be_told(context, event.tag, event.as<network::Arrival>().word,
                event.port.kind() == serving_named_kind);
        break;
      case serving_computed_kind:
        end(context, event.tag);
        break;
      default:
        exchanged(context, event.tag,
                  static_cast<std::uint16_t>(event.as<network::Arrival>().word));
        break;
    }
  }

  void visit_results(const std::function<void(const TileResult&)>& visit) const override {
    for (std::size_t index = 0; index < core_of_.size(); ++index) {
      if (core_of_[index] == no_core) {
        continue;
      }
      const Core& core = cores_[core_of_[index]];
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
      const ServedTenant& tenant = work_.tenants[i];
      const std::vector<Balance> some =
          host_ ? host_->balances(i) : balances_of(tenant.name, tenant.of_language, {}, {}, {});
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }
  std::vector<std::string> waiting(std::size_t most) const override {
    return host_ ? host_->waiting(most) : std::vector<std::string>{};
  }
  std::vector<Service> services() const override {
    return host_ ? host_->services() : std::vector<Service>{};
  }

  void save(std::uint32_t index, pdes::StateWriter& writer) const override {
    if (core_of_[index] == no_core) {
      return;
    }
    const Core& core = cores_[core_of_[index]];
    writer.put_all(core.told);
    writer.put_all(core.begun);
    writer.put(core.since);
    writer.put(core.busy_ps);
    writer.put(core.exchange_ps);
    core.exchanges.save(writer);
    if (setup_.members[index] == work_.host()) {
      host_->save(writer);
    }
  }

  void restore(std::uint32_t index, pdes::StateReader& reader) override {
    if (core_of_[index] == no_core) {
      return;
    }
    Core& core = cores_[core_of_[index]];
    core.told = reader.get_all<Told>();
    core.begun = reader.get_all<Begun>();
    core.since = reader.get<SimTime>();
    core.busy_ps = reader.get<std::int64_t>();
    core.exchange_ps = reader.get<std::int64_t>();
    core.exchanges.restore(reader);
    if (setup_.members[index] == work_.host()) {
      host_->restore(reader);
    }
  }

  void save_totals(pdes::StateWriter& writer) const override { writer.put(instructions_done()); }
  void add_totals(pdes::StateReader& reader) override { earlier_ += reader.get<std::uint64_t>(); }

  std::size_t resident_bytes() const override {
    return core_of_.capacity() * sizeof(std::uint32_t) + cores_.capacity() * sizeof(Core) +
           (host_ ? host_->resident_bytes() : 0);
  }

 private:
  static constexpr std::uint32_t no_core = std::numeric_limits<std::uint32_t>::max();

  // One of the two messages that begin a share.
  struct Told {
    std::uint64_t word = 0;
    std::uint16_t slot = 0;
    bool names = false;
  };
  struct Begun {
    std::uint64_t number = 0;
    SimTime time;
    std::uint32_t step = 0;
    std::uint16_t slot = 0;
    bool exchanges = false;
  };
  struct Core {
    Core(const ServingSetup& setup, const CorePlace& the_place)
        : place(the_place), exchanges(setup) {}
    CorePlace place;
    std::vector<Told> told;
    std::vector<Begun> begun;  // under way
    ServingExchanges exchanges;
    SimTime since;  // of the last change
    std::int64_t busy_ps = 0;
    std::int64_t exchange_ps = 0;  // in which nothing else went on
  };

  pdes::Port port(unsigned kind) const { return pdes::Port(setup_.slot, kind); }
  Core& core_at(const pdes::Context& context) { return cores_[core_of_[context.index()]]; }

  void be_told(pdes::Context& context, std::uint16_t slot, std::uint64_t word, bool names) {
    Core& core = core_at(context);
    const auto other = std::find_if(core.told.begin(), core.told.end(), [&](const Told& told) {
      return told.slot == slot && told.names != names;
    });
    if (other == core.told.end()) {
      core.told.push_back({word, slot, names});
      return;
    }
    const std::uint64_t first = other->word;
    core.told.erase(other);
    begin(context, core, slot, names ? word : first, ShareOf::from(names ? first : word));
  }

  void begin(pdes::Context& context, Core& core, std::uint16_t slot, std::uint64_t number,
             const ShareOf& share) {
    book(core, context.now());
    const bool exchanges = share.cores.count == 0;
    core.begun.push_back({number, context.now(), share.step, slot, exchanges});
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
    const bool hands_on = work_.tenants[name.tenant].model->exchange(name.op, name.shape).kind ==
                          serving::Exchange::Kind::hand_on;
    if (core.exchanges.begin(context, core.place, slot, number)) {
      end(context, slot);
    } else if (hands_on) {
      core.begun.pop_back();  // nothing here waits for it
    }
  }

  void exchanged(pdes::Context& context, std::uint16_t step, std::uint16_t slot) {
    if (step == hand_on_tag) {
      tell_host(context, slot);
    } else if (core_at(context).exchanges.arrived(context, slot, step)) {
      end(context, slot);
    }
  }

  void end(pdes::Context& context, std::uint16_t slot) {
    Core& core = core_at(context);
    book(core, context.now());
    const auto begun = std::find_if(core.begun.begin(), core.begun.end(),
                                    [slot](const Begun& one) { return one.slot == slot; });
    ensure(begun != core.begun.end(), "a share that ends has begun");
    if (setup_.observer != nullptr && begun->time != context.now()) {
      const OperatorName name = OperatorName::from(begun->number);
      setup_.observer->on_operator({context.self(), work_.name_of(name),
                                    static_cast<plan::Phase>(name.tenant),
                                    begun->exchanges ? Activity::tensor : Activity::compute,
                                    begun->step, begun->time, context.now()});
    }
    core.begun.erase(begun);
    tell_host(context, slot);
  }

  void tell_host(pdes::Context& context, std::uint16_t slot) {
    network::send(context, setup_.network_slot, work_.host(), work_.message,
                  port(serving_heard_kind), slot, 0);
  }

  static void book(Core& core, SimTime now) {
    const bool computes = std::any_of(core.begun.begin(), core.begun.end(),
                                      [](const Begun& one) { return !one.exchanges; });
    if (computes) {
      core.busy_ps += (now - core.since).ps();
    } else if (!core.begun.empty()) {
      core.exchange_ps += (now - core.since).ps();
    }
    core.since = now;
  }

  ServingSetup setup_;
  const ServingWork& work_;
  std::vector<std::uint32_t> core_of_;  // [local entities] in cores_
  std::vector<Core> cores_;
  std::unique_ptr<ServingHost> host_;  // where requests arrive
  std::uint64_t earlier_ = 0;          // requests served before a checkpoint
};

}  // namespace

std::unique_ptr<Executor> make_serving_executor(const ServingSetup& setup) {
  return std::make_unique<ServingExecutor>(setup);
}

}  // namespace tessera::executor
