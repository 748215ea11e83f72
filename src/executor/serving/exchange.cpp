#include "serving/exchange.hpp"

#include <algorithm>

#include "tessera/core/error.hpp"
#include "tessera/network/messages.hpp"

namespace tessera::executor {

using serving::Exchange;
using serving::OperatorName;

namespace {

// Some message goes in any case: it is what the receiver waits for.
Bytes at_least_one(Bytes bytes) {
  return std::max(bytes, Bytes(1));
}

}  // namespace

bool ServingExchanges::has_arrived(const ExchangeOf& of, std::uint32_t step) const {
  return std::any_of(messages_.begin(), messages_.end(), [&](const Message& message) {
    return message.of == of && message.step == step;
  });
}

bool ServingExchanges::begin(pdes::Context& context, const CorePlace& core, const ExchangeOf& of,
                             std::uint64_t number) {
  const OperatorName name = OperatorName::from(number);
  const ServedTenant& tenant = work_.tenants[name.tenant];
  const Exchange exchange = tenant.model->exchange(name.op, name.shape);
  const auto unit = static_cast<std::uint32_t>(
      std::find(tenant.npus.begin(), tenant.npus.end(), core.npu) - tenant.npus.begin());
  if (exchange.kind == Exchange::Kind::hand_on) {
    const EntityId to = work_.npus[tenant.npus[unit + exchange.units]][core.place];
    network::send(context, setup_.network_slot, to,
                  at_least_one(collective::chunk_bytes(exchange.bytes, work_.cores(), core.place)),
                  pdes::Port(setup_.slot, serving_exchanged_kind), hand_on_tag, of.word());
    return false;  // the receiver says so
  }
  parts_.push_back({number, of, core.place, unit - exchange.first, 0});
  return go_on(context, parts_.back());
}

bool ServingExchanges::arrived(pdes::Context& context, const ExchangeOf& of, std::uint32_t step) {
  messages_.push_back({of, step});
  const auto part =
      std::find_if(parts_.begin(), parts_.end(), [&of](const Part& one) { return one.of == of; });
  return part != parts_.end() && go_on(context, *part);
}

// Begins the steps that may begin; each after those before it that it waits for.
bool ServingExchanges::go_on(pdes::Context& context, Part& part) {
  constexpr collective::Kind kind = collective::Kind::all_reduce;
  const OperatorName name = OperatorName::from(part.number);
  const ServedTenant& tenant = work_.tenants[name.tenant];
  const Exchange exchange = tenant.model->exchange(name.op, name.shape);
  const Bytes bytes = collective::chunk_bytes(exchange.bytes, work_.cores(), part.place);
  const std::uint32_t steps = work_.all_reduce->steps(kind, exchange.units);
  const auto step_at = [&](std::uint32_t step) {
    return work_.all_reduce->step(kind, exchange.units, part.member, bytes, step);
  };
  const auto is_over = [&](std::uint32_t step) {
    return step_at(step).receive_from == collective::nobody || has_arrived(part.of, step);
  };
  while (part.begun < steps && (part.begun == 0 || is_over(part.begun - 1))) {
    const collective::Step step = step_at(part.begun++);
    if (step.send_to != collective::nobody) {
      const EntityId to = work_.npus[tenant.npus[exchange.first + step.send_to]][part.place];
      network::send(context, setup_.network_slot, to, at_least_one(step.send_bytes),
                    pdes::Port(setup_.slot, serving_exchanged_kind),
                    static_cast<std::uint16_t>(step.send_step), part.of.word(),
                    network::connection_flag);
    }
  }
  if (part.begun < steps || (steps > 0 && !is_over(steps - 1))) {
    return false;
  }
  const ExchangeOf of = part.of;
  std::erase_if(messages_, [&of](const Message& message) { return message.of == of; });
  std::erase_if(parts_, [&of](const Part& one) { return one.of == of; });
  return true;
}

void ServingExchanges::save(pdes::StateWriter& writer) const {
  writer.put_all(parts_);
  writer.put_all(messages_);
}

void ServingExchanges::restore(pdes::StateReader& reader) {
  parts_ = reader.get_all<Part>();
  messages_ = reader.get_all<Message>();
}

}  // namespace tessera::executor
