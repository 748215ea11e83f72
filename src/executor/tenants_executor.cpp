#include <optional>
#include <utility>

#include "tessera/core/error.hpp"
#include "tessera/executor/flops.hpp"
#include "tessera/executor/tenants.hpp"
#include "tessera/network/messages.hpp"
#include "tessera/pdes/engine.hpp"

namespace tessera::executor {
namespace {

constexpr unsigned start_kind = 15;  // of a tenant that begins later; no executor uses it

class TenantsExecutor final : public Executor, public FindsFlops {
 public:
  explicit TenantsExecutor(TenantsSetup setup) : setup_(std::move(setup)) {}

  void start(pdes::Context& context) override {
    const std::uint16_t number = part_at(context.self());
    if (number == TenantsSetup::nobody) {
      return;
    }
    const TenantPart& part = setup_.parts[number];
    if (part.start == SimTime::zero()) {
      part.executor->start(context);
    } else {
      context.send_self(part.start, pdes::Port(setup_.slot, start_kind), std::uint32_t{0});
    }
  }

  void handle(pdes::Context& context, const pdes::Event& event) override {
    std::uint16_t number = part_at(context.self());
    if (number == TenantsSetup::nobody) {
      number = part_at(event.as<network::Arrival>().source);
      ensure(number != TenantsSetup::nobody, "a message of no tenant at a node of none");
    }
    Executor& executor = *setup_.parts[number].executor;
    if (event.port.kind() == start_kind) {
      executor.start(context);
    } else {
      executor.handle(context, event);
    }
  }

  // Of all tenants; none where one says nothing.
  std::optional<pdes::Outlook> outlook(std::uint32_t rank, const pdes::Moment& moment) override {
    pdes::Outlook all;
    for (const TenantPart& part : setup_.parts) {
      const std::optional<pdes::Outlook> own = part.executor->outlook(rank, moment);
      if (!own) {
        return std::nullopt;
      }
      all.add(*own);
    }
    return all;
  }
  void take_in(pdes::Event& event) override {
    const std::uint16_t number = part_at(EntityId(event.target));
    if (number != TenantsSetup::nobody && event.port.kind() != start_kind) {
      setup_.parts[number].executor->take_in(event);
    }
  }
  bool expect(const network::Progress& message) override {
    const std::uint16_t number = part_at(message.target);
    return number != TenantsSetup::nobody && setup_.parts[number].executor->expect(message);
  }
  void follow(const network::Progress& message) override {
    const std::uint16_t number = part_at(message.target);
    if (number != TenantsSetup::nobody) {
      setup_.parts[number].executor->follow(message);
    }
  }
  const char* name() const override { return "tenants"; }

  void pass_boundary(SimTime boundary) override {
    for (const TenantPart& part : setup_.parts) {
      part.executor->pass_boundary(boundary);
    }
  }

  void visit_results(const std::function<void(const TileResult&)>& visit) const override {
    for (const TenantPart& part : setup_.parts) {
      part.executor->visit_results([&](const TileResult& result) {
        TileResult here = result;
        here.role += part.first_role;
        visit(here);
      });
    }
  }

  void visit_peaks(const std::function<void(std::uint32_t, const plan::MemoryWalk::Peak&)>& visit)
      const override {
    for (const TenantPart& part : setup_.parts) {
      part.executor->visit_peaks([&](std::uint32_t role, const plan::MemoryWalk::Peak& peak) {
        visit(role + part.first_role, peak);
      });
    }
  }

  std::uint64_t unfinished() const override {
    return sum([](const Executor& executor) { return executor.unfinished(); });
  }
  std::uint64_t instructions_done() const override {
    return sum([](const Executor& executor) { return executor.instructions_done(); });
  }

  std::uint64_t events_for_observers() const override {
    return sum([](const Executor& executor) { return executor.events_for_observers(); });
  }
  std::vector<Balance> balances() const override {
    std::vector<Balance> all;
    for (const TenantPart& part : setup_.parts) {
      for (Balance& balance : part.executor->balances()) {
        balance.what.insert(0, part.name + ": ");
        all.push_back(std::move(balance));
      }
    }
    return all;
  }

  std::vector<Wide> flops_found() const override {
    std::vector<Wide> all(setup_.parts.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto* const finds = dynamic_cast<const FindsFlops*>(setup_.parts[i].executor.get());
      for (const Wide flops : finds == nullptr ? std::vector<Wide>{} : finds->flops_found()) {
        all[i] += flops;
      }
    }
    return all;
  }

  Wide operand_bytes_found() const override {
    Wide all = 0;
    for (const TenantPart& part : setup_.parts) {
      all += part.executor->operand_bytes_found();
    }
    return all;
  }

  void visit_jobs(
      const std::function<void(const std::string&, const Executor&)>& visit) const override {
    for (const TenantPart& part : setup_.parts) {
      visit(part.name, *part.executor);
    }
  }

  std::vector<std::string> waiting(std::size_t most) const override {
    std::vector<std::string> lines;
    for (const TenantPart& part : setup_.parts) {
      for (const std::string& line : part.executor->waiting(most - lines.size())) {
        lines.push_back(part.name + ": " + line);
      }
    }
    return lines;
  }

  // Where some are known, those that are not stand in their places.
  std::vector<Service> services() const override {
    std::vector<Service> all;
    bool some = false;
    for (const TenantPart& part : setup_.parts) {
      std::vector<Service> known = part.executor->services();
      some = some || !known.empty();
      known.resize(part.services);
      all.insert(all.end(), known.begin(), known.end());
    }
    return some ? all : std::vector<Service>{};
  }

  std::vector<Service> service_totals() const override {
    std::vector<Service> all;
    bool some = false;
    for (const TenantPart& part : setup_.parts) {
      std::vector<Service> known = part.executor->service_totals();
      some = some || !known.empty();
      known.resize(part.totals);
      all.insert(all.end(), known.begin(), known.end());
    }
    return some ? all : std::vector<Service>{};
  }

  void save(std::uint32_t index, pdes::StateWriter& writer) const override {
    if (const std::uint16_t number = part_at(setup_.members[index]);
        number != TenantsSetup::nobody) {
      setup_.parts[number].executor->save(index, writer);
    }
  }
  void restore(std::uint32_t index, pdes::StateReader& reader) override {
    if (const std::uint16_t number = part_at(setup_.members[index]);
        number != TenantsSetup::nobody) {
      setup_.parts[number].executor->restore(index, reader);
    }
  }
  void save_totals(pdes::StateWriter& writer) const override {
    for (const TenantPart& part : setup_.parts) {
      part.executor->save_totals(writer);
    }
  }
  void add_totals(pdes::StateReader& reader) override {
    for (const TenantPart& part : setup_.parts) {
      part.executor->add_totals(reader);
    }
  }

  std::size_t resident_bytes() const override {
    return setup_.part_of.capacity() * sizeof(std::uint16_t) +
           sum([](const Executor& executor) { return executor.resident_bytes(); });
  }

 private:
  std::uint16_t part_at(EntityId node) const { return setup_.part_of[node.value()]; }

  template <class Count>
  std::uint64_t sum(Count count) const {
    std::uint64_t all = 0;
    for (const TenantPart& part : setup_.parts) {
      all += count(*part.executor);
    }
    return all;
  }

  TenantsSetup setup_;
};

}  // namespace

std::unique_ptr<Executor> make_tenants_executor(TenantsSetup setup) {
  return std::make_unique<TenantsExecutor>(std::move(setup));
}

}  // namespace tessera::executor
