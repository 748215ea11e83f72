#include "serving/exchange.hpp"

#include <algorithm>
#include <utility>

#include "serving/sending.hpp"
#include "tessera/core/error.hpp"

namespace tessera::executor {

using serving::Exchange;
using serving::OperatorName;

namespace {

// Some message goes in any case: it is what the receiver waits for.
Bytes at_least_one(Bytes bytes) {
  return std::max(bytes, Bytes(1));
}

std::uint32_t unit_of(const ServiceSettings& tenant, std::uint32_t npu) {
  return static_cast<std::uint32_t>(std::find(tenant.npus.begin(), tenant.npus.end(), npu) -
                                    tenant.npus.begin());
}

}  // namespace

// What an all-reduce asks for, done at one core in the present event.
class ServingExchanges::Actions final : public collective::RunActions {
 public:
  Actions(ServingExchanges& exchanges, pdes::Context& context, const Part& part)
      : all_(exchanges), context_(context), part_(part) {}

  void send(std::uint32_t /*dimension*/, collective::Member member,
            const collective::StepName& name, Bytes bytes) override {
    const ServiceSettings& tenant = all_.tenant_of(part_.number);
    const std::uint32_t unit = all_.exchange_of(part_.number).first + member;
    ensure(name.step < hand_on_tag, "more steps of an all-reduce than tags tell apart");
    ExchangeOf of = part_.of;
    of.lane = name.lane;
    all_.setup_.sent->collectives += bytes.count();
    send_message(context_, all_.setup_, all_.work_.npus[tenant.npus[unit]][part_.core.place],
                 at_least_one(bytes), serving_exchanged_kind, static_cast<std::uint16_t>(name.step),
                 of.word(), network::connection_flag);
  }
  bool take_early(const collective::StepName& name) override {
    ExchangeOf of = part_.of;
    of.lane = name.lane;
    return all_.take_early({of, name.step});
  }
  void wait(SimTime /*time*/, const collective::StepName& /*name*/) override {
    throw InternalError("steps of an all-reduce of NPUs take no time beside their messages");
  }

 private:
  ServingExchanges& all_;
  pdes::Context& context_;
  const Part& part_;
};

const ServiceSettings& ServingExchanges::tenant_of(std::uint64_t number) const {
  return work_.tenants[OperatorName::from(number).tenant];
}

Exchange ServingExchanges::exchange_of(std::uint64_t number) const {
  const OperatorName name = OperatorName::from(number);
  return work_.tenants[name.tenant].model->exchange(name.op, name.shape);
}

// Each core adds up its share of the data with its like of the other NPUs.
ServingExchanges::Part ServingExchanges::part_of(const CorePlace& core, const ExchangeOf& of,
                                                 std::uint64_t number) const {
  const Exchange exchange = exchange_of(number);
  collective::AlgorithmPart part;
  part.algorithm = &work_.algorithm_of(exchange);
  part.kind = *exchange.collective;
  part.size = exchange.units;
  part.member = unit_of(tenant_of(number), core.npu) - exchange.first;
  part.bytes = collective::chunk_bytes(exchange.bytes, work_.cores(), core.place);
  return {number, of, core, collective::AlgorithmRun(part)};
}

bool ServingExchanges::begin(pdes::Context& context, const CorePlace& core, const ExchangeOf& of,
                             std::uint64_t number) {
  const Exchange exchange = exchange_of(number);
  if (!exchange.collective) {
    const ServiceSettings& tenant = tenant_of(number);
    const std::uint32_t next = unit_of(tenant, core.npu) + exchange.units;
    send_data(context, setup_, work_.npus[tenant.npus[next]][core.place],
              at_least_one(collective::chunk_bytes(exchange.bytes, work_.cores(), core.place)),
              serving_exchanged_kind, hand_on_tag, of.word());
    return false;  // the receiver says so
  }
  Part& part = parts_.emplace_back(part_of(core, of, number));
  Actions actions(*this, context, part);
  part.run.begin(actions);
  return end_if_over(part);
}

bool ServingExchanges::arrived(pdes::Context& context, const ExchangeOf& of, std::uint32_t step) {
  const auto part = std::find_if(parts_.begin(), parts_.end(), [&of](const Part& one) {
    return one.of.slot == of.slot && one.of.number == of.number;
  });
  if (part != parts_.end()) {
    Actions actions(*this, context, *part);
    if (part->run.arrived({0, 0, of.lane, step}, actions)) {
      return end_if_over(*part);
    }
  }
  early_.push_back({of, step});
  return false;
}

bool ServingExchanges::visit_awaited(std::uint16_t slot, const AwaitedVisit& visit) const {
  const auto part = std::find_if(parts_.begin(), parts_.end(),
                                 [slot](const Part& one) { return one.of.slot == slot; });
  if (part == parts_.end()) {
    return false;
  }
  const std::uint32_t first = exchange_of(part->number).first;
  return part->run.visit_awaited([&](const collective::CollectiveRun::Awaited& awaited) {
    ExchangeOf of = part->of;
    of.lane = awaited.name.lane;
    visit(first + awaited.coordinate, awaited.name.step, of, at_least_one(awaited.bytes));
  });
}

bool ServingExchanges::take_early(const Message& message) {
  const auto found = std::find(early_.begin(), early_.end(), message);
  if (found == early_.end()) {
    return false;
  }
  early_.erase(found);
  return true;
}

bool ServingExchanges::end_if_over(const Part& part) {
  if (!part.run.is_over()) {
    return false;
  }
  parts_.erase(parts_.begin() + (&part - parts_.data()));
  return true;
}

void ServingExchanges::save(pdes::StateWriter& writer) const {
  writer.put(static_cast<std::uint64_t>(parts_.size()));
  for (const Part& part : parts_) {
    writer.put(part.number);
    writer.put(part.of);
    writer.put(part.core);
    writer.put_all(part.run.save());
  }
  writer.put_all(early_);
}

void ServingExchanges::restore(pdes::StateReader& reader) {
  for (auto left = reader.get<std::uint64_t>(); left > 0; --left) {
    const auto number = reader.get<std::uint64_t>();
    const auto of = reader.get<ExchangeOf>();
    const auto core = reader.get<CorePlace>();
    parts_.push_back(part_of(core, of, number));
    parts_.back().run.restore(reader.get_all<std::uint32_t>());
  }
  early_ = reader.get_all<Message>();
}

}  // namespace tessera::executor
