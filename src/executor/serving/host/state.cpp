// The state of a host, for checkpoints and reports.
#include "serving/host/host.hpp"

#include "serving/service_counts.hpp"

namespace tessera::executor {

void ServingHost::save(pdes::StateWriter& writer) const {
  for (const TenantState& tenant : tenants_) {
    tenant.batcher->save(writer);
    writer.put(tenant.arrived);
    writer.put(tenant.asked);
    writer.put(tenant.in_flight);
    writer.put(tenant.turn);
    writer.put(tenant.counts);
    writer.put(tenant.flops);
    executor::save(tenant.service, writer);
    executor::save(tenant.total, writer);
    for (const Service& of_class : tenant.classes) {
      executor::save(of_class, writer);
    }
    tenant.spent.save(writer);
    writer.put(tenant.prompt_tokens);
    writer.put(tenant.next_replica);
    writer.put(tenant.left);
    tenant.routes.save(writer);
    if (tenant.scaling) {
      tenant.scaling->save(writer);
    }
    if (tenant.prompt_scaling) {
      tenant.prompt_scaling->save(writer);
    }
  }
  policy_->save(writer);
  writer.put(static_cast<std::uint64_t>(steps_.size()));
  for (const auto& [number, step] : steps_) {
    writer.put(number);
    writer.put(step.tenant);
    writer.put(step.since);
    writer.put(step.target);
    writer.put(step.deadline);
    writer.put_all(step.batch.groups);
    writer.put(step.batch.emitting);
    writer.put(step.batch.samples);
    writer.put(step.batch.blocks_out);
    writer.put(step.batch.blocks_in);
    writer.put(step.batch.adapters);
    writer.put(step.batch.adapted);
    writer.put(step.batch.adapters_in);
    writer.put_all(step.awaited);
    writer.put(step.left);
  }
  writer.put(static_cast<std::uint64_t>(carries_.size()));
  for (const auto& [number, carry] : carries_) {
    writer.put(number);
    writer.put(carry);
  }
  if (work_.hands_over_layers()) {
    writer.put(static_cast<std::uint64_t>(layered_.size()));
    for (const auto& [number, layered] : layered_) {
      writer.put(number);
      writer.put(layered);
    }
  }
  writer.put(next_carry_);
  writer.put(carried_bytes_);
  writer.put(moved_bytes_);
  writer.put(operand_bytes_);
  writer.put(next_step_);
  writer.put_all(ready_);
  writer.put_all(slots_);
  writer.put_all(free_slots_);
  writer.put_all(running_);
  use_.save(writer);
  writer.put(unserved_);
  writer.put(parts_told_);
  writer.put(begin_);
  writer.put(last_);
}

void ServingHost::restore(pdes::StateReader& reader) {
  calls_.forget();
  for (TenantState& tenant : tenants_) {
    tenant.coming = 0;
    tenant.batcher->restore(reader);
    tenant.arrived = reader.get<std::uint64_t>();
    tenant.asked = reader.get<std::uint64_t>();
    tenant.in_flight = reader.get<std::uint32_t>();
    tenant.turn = reader.get<std::uint16_t>();
    tenant.counts = reader.get<ServingCounts>();
    tenant.flops = reader.get<Wide>();
    executor::restore(tenant.service, reader);
    executor::restore(tenant.total, reader);
    for (Service& of_class : tenant.classes) {
      executor::restore(of_class, reader);
    }
    tenant.spent.restore(reader);
    tenant.prompt_tokens = reader.get<std::uint64_t>();
    tenant.next_replica = reader.get<std::uint32_t>();
    tenant.left = reader.get<std::uint64_t>();
    tenant.routes.restore(reader);
    if (tenant.scaling) {
      tenant.scaling->restore(reader);
    }
    if (tenant.prompt_scaling) {
      tenant.prompt_scaling->restore(reader);
    }
  }
  policy_->restore(reader);
  const auto count = reader.get<std::uint64_t>();
  for (std::uint64_t i = 0; i < count; ++i) {
    StepState& step = steps_[reader.get<std::uint32_t>()];
    step.tenant = reader.get<std::uint32_t>();
    step.since = reader.get<SimTime>();
    step.target = reader.get<SimTime>();
    step.deadline = reader.get<SimTime>();
    step.batch.groups = reader.get_all<serving::SequenceGroup>();
    step.batch.emitting = reader.get<std::uint32_t>();
    step.batch.samples = reader.get<std::uint32_t>();
    step.batch.blocks_out = reader.get<std::uint64_t>();
    step.batch.blocks_in = reader.get<std::uint64_t>();
    step.batch.adapters = reader.get<std::uint32_t>();
    step.batch.adapted = reader.get<std::uint32_t>();
    step.batch.adapters_in = reader.get<std::uint32_t>();
    prepare(step);
    step.awaited = reader.get_all<std::uint32_t>();
    step.left = reader.get<std::uint32_t>();
  }
  for (auto left = reader.get<std::uint64_t>(); left > 0; --left) {
    const auto number = reader.get<std::uint32_t>();
    carries_[number] = reader.get<Carry>();
    ++tenants_[carries_[number].to].coming;
  }
  for (auto left = work_.hands_over_layers() ? reader.get<std::uint64_t>() : 0; left > 0; --left) {
    const auto number = reader.get<std::uint32_t>();
    layered_[number] = reader.get<LayerCarry>();
  }
  next_carry_ = reader.get<std::uint32_t>();
  carried_bytes_ = reader.get<std::uint64_t>();
  moved_bytes_ = reader.get<std::uint64_t>();
  operand_bytes_ = reader.get<Wide>();
  next_step_ = reader.get<std::uint32_t>();
  ready_ = reader.get_all<Ready>();
  slots_ = reader.get_all<Running>();
  free_slots_ = reader.get_all<std::uint16_t>();
  running_ = reader.get_all<std::uint32_t>();
  use_.restore(reader);
  unserved_ = reader.get<std::uint64_t>();
  parts_told_ = reader.get<std::uint64_t>();
  begin_ = reader.get<SimTime>();
  last_ = reader.get<SimTime>();
  for (std::uint32_t tenant = 0; tenant < tenants_.size(); ++tenant) {
    tenants_[tenant].times.reset();
    if (work_.tenants[tenant].lead == tenant) {
      await_next(tenant);
    }
  }
}

std::size_t ServingHost::resident_bytes() const {
  std::size_t bytes = slots_.capacity() * sizeof(Running) + ready_.capacity() * sizeof(Ready) +
                      (whole_ ? whole_->resident_bytes() : 0);
  const auto bytes_of = [](const Service& service) {
    return service.first_token.resident_bytes() + service.between_tokens.resident_bytes() +
           service.latency.resident_bytes() + service.windows.resident_bytes();
  };
  for (const TenantState& tenant : tenants_) {
    bytes += bytes_of(tenant.service) + bytes_of(tenant.total) + tenant.routes.resident_bytes();
    for (const Service& of_class : tenant.classes) {
      bytes += bytes_of(of_class);
    }
  }
  for (const auto& [number, step] : steps_) {
    constexpr std::size_t of_part = 128;  // with what it waits for
    bytes += step.parts.size() * of_part;
  }
  return bytes;
}

}  // namespace tessera::executor
