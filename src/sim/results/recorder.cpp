#include "results/recorder.hpp"

#include <algorithm>

namespace tessera::sim {
namespace {

std::uint64_t word(SimTime time) {
  return static_cast<std::uint64_t>(time.ps());
}

// The first field of a digest record, so that records of different kinds never match.
enum Kind : std::uint64_t {
  operator_kind = 1,
  message_kind,
  link_kind,
  channel_kind,
  tile_kind,
  phase_kind,
  core_kind,
  request_kind,
  token_kind
};

}  // namespace

void Recorder::open(const std::string& path, const trace::Attributes& attributes) {
  file_ = std::make_unique<trace::TraceFile>(path, trace::tables(), attributes);
  const bool summary = experiment_.options.trace == TraceLevel::summary;
  writes_operators_.assign(experiment_.machine.topology->nodes(), !summary);
  for (const EntityId tile : work_.samples_of_parts()) {
    writes_operators_[tile.value()] = true;
  }
}

void Recorder::describe(std::span<const EntityId> members, int rank) {
  const machine::Topology& topology = *experiment_.machine.topology;
  for (const EntityId node : members) {
    trace::NodeRow row{};
    row.node = node.value();
    work_.describe(node, row);
    const machine::Position position = topology.position(node);
    row.x = position.x;
    row.y = position.y;
    row.rank = static_cast<std::uint32_t>(rank);
    row.computes = topology.computes(node) ? 1 : 0;
    append(trace::nodes, row);
  }
  const std::vector<std::string>& names = work_.names();
  for (std::uint32_t name = 0; rank == 0 && name < names.size(); ++name) {
    append(trace::names, trace::NameRow{name, trace::text64(names[name])});
  }
  file_->commit(SimTime::zero(), true);  // a killed run can be drawn, too
}

void Recorder::on_operator(const executor::OperatorRecord& record) {
  digest_.add(
      {operator_kind, record.tile.value(), record.name,
       static_cast<std::uint64_t>(record.phase) << 8 | static_cast<std::uint64_t>(record.activity),
       record.micro_batch, word(record.start), word(record.end)});
  if (!file_ || !writes_operators_[record.tile.value()]) {
    return;
  }
  file_->append(
      trace::operators,
      trace::OperatorRow{record.start.ps(), record.end.ps(), record.tile.value(),
                         record.micro_batch, record.name, static_cast<std::uint8_t>(record.phase),
                         static_cast<std::uint8_t>(record.activity)});
}

void Recorder::on_message(const executor::MessageRecord& record) {
  // Those of graphs are heard of in full traces alone; the digest is the same with any.
  if (static_cast<std::size_t>(record.traffic) < plan::program_traffic_kinds) {
    messages_.add({message_kind, record.source.value(), record.target.value(),
                   static_cast<std::uint64_t>(record.traffic), record.bytes.count(),
                   word(record.sent), word(record.arrived), word(record.taken)});
  }
  if (file_ && experiment_.options.trace == TraceLevel::full) {
    file_->append(trace::messages, trace::MessageRow{record.sent.ps(), record.arrived.ps(),
                                                     record.taken.ps(), record.bytes.count(),
                                                     record.source.value(), record.target.value(),
                                                     static_cast<std::uint8_t>(record.traffic)});
  }
}

void Recorder::on_collective_phase(const executor::CollectivePhaseRecord& record) {
  digest_.add({phase_kind, record.tile.value(),
               static_cast<std::uint64_t>(record.kind) << 8 | record.dimension, record.chunk,
               record.bytes.count(), word(record.start), word(record.end)});
  if (!file_ || !writes_operators_[record.tile.value()]) {
    return;
  }
  file_->append(
      trace::collective_phases,
      trace::CollectivePhaseRow{record.start.ps(), record.end.ps(), record.bytes.count(),
                                record.tile.value(), record.chunk, record.name,
                                static_cast<std::uint8_t>(record.kind), record.dimension});
}

void Recorder::on_request(const executor::RequestRecord& record) {
  digest_.add({request_kind, record.tenant, record.request, record.samples, record.prompt,
               record.generated, record.again, word(record.arrival), word(record.begun),
               word(record.first), word(record.end)});
  append(trace::requests,
         trace::RequestRow{record.arrival.ps(), record.begun.ps(), record.first.ps(),
                           record.end.ps(), record.request, record.prompt, record.generated,
                           record.samples, record.again, record.tenant});
}

void Recorder::on_token(const executor::TokenRecord& record) {
  digest_.add({token_kind, record.tenant, record.request, word(record.time)});
  append(trace::tokens, trace::TokenRow{record.time.ps(), record.since ? record.since->ps() : -1,
                                        record.request, record.tenant});
}

void Recorder::on_service_load(const executor::ServiceLoadRecord& record) {
  append(trace::service_load,
         trace::ServiceLoadRow{record.time.ps(), record.running, record.waiting,
                               record.cache_blocks, record.tenant});
}

void Recorder::on_memory(const executor::MemoryRecord& record) {
  using Part = plan::MemoryPart;
  const auto bytes = [&](Part part) { return record.use[part].count(); };
  append(trace::memory,
         trace::MemoryRow{record.end.ps(), bytes(Part::weights), bytes(Part::gradients),
                          bytes(Part::optimizer), bytes(Part::activations), bytes(Part::recomputed),
                          bytes(Part::gathered), bytes(Part::scattered), bytes(Part::working),
                          bytes(Part::communicators), bytes(Part::context), bytes(Part::reserve),
                          record.tile.value(), record.pass.micro_batch, record.pass.chunk,
                          static_cast<std::uint8_t>(record.pass.phase)});
}

namespace {

trace::LinkRow row_of(const network::LinkUse& use, const machine::Topology& topology) {
  trace::LinkRow row{};
  row.begin_ps = use.begin.ps();
  row.end_ps = use.end.ps();
  row.bytes = use.bytes.count();
  row.busy_ps = use.busy.ps();
  row.largest_queue_bytes = use.largest_queue.count();
  row.node = use.node.value();
  const machine::Link link = topology.link(use.node, use.port);
  row.to = link.to.value();
  row.link_class = static_cast<std::uint8_t>(std::min<std::uint16_t>(link.link_class, 255));
  row.port = use.port;
  return row;
}

trace::ChannelRow row_of(const memory::ChannelUse& use) {
  return {use.begin.ps(),    use.end.ps(),          use.read.count(), use.written.count(),
          use.busy.ps(),     use.longest_wait.ps(), use.row_hits,     use.row_misses,
          use.row_conflicts, use.channel,           use.node.value()};
}

trace::CoreRow row_of(const compute::CoreUse& use) {
  return {use.begin.ps(),    use.end.ps(),      use.matrix_busy.ps(), use.vector_busy.ps(),
          use.dma_busy.ps(), use.matrix_active, use.loaded.count(),   use.stored.count(),
          use.tiles,         use.node.value()};
}

}  // namespace

void Recorder::on_link_bin(const network::LinkUse& use) {
  if (file_) {
    append(trace::link_bins, row_of(use, *experiment_.machine.topology));
  }
}

void Recorder::on_channel_bin(const memory::ChannelUse& use) {
  append(trace::channel_bins, row_of(use));
}

void Recorder::on_link_total(const network::LinkUse& use) {
  digest_.add({link_kind, use.node.value(), use.port, use.bytes.count(), word(use.busy),
               use.largest_queue.count()});
  if (file_) {
    append(trace::links, row_of(use, *experiment_.machine.topology));
  }
}

void Recorder::on_channel_total(const memory::ChannelUse& use) {
  digest_.add({channel_kind, use.channel, use.read.count(), use.written.count(), word(use.busy),
               word(use.longest_wait)});
  if (use.row_hits + use.row_misses + use.row_conflicts > 0) {
    digest_.add({channel_kind, use.row_hits, use.row_misses, use.row_conflicts});
  }
  append(trace::channels, row_of(use));
}

void Recorder::on_core_bin(const compute::CoreUse& use) {
  append(trace::core_bins, row_of(use));
}

void Recorder::on_core_total(const compute::CoreUse& use) {
  digest_.add({core_kind, use.node.value(), word(use.matrix_busy), word(use.vector_busy),
               word(use.dma_busy), use.matrix_active, use.loaded.count(), use.stored.count()});
  append(trace::cores, row_of(use));
}

void Recorder::on_tile(const executor::TileResult& result) {
  std::uint64_t times = 0;
  for (std::size_t i = 0; i < result.time.size(); ++i) {
    // Activities of graphs leave no trace in the digest of a program.
    if (i < executor::program_activities || result.time[i] > SimTime::zero()) {
      times = mix64(times ^ word(result.time[i]));
    }
  }
  digest_.add({tile_kind, result.tile.value(), result.role, result.finished ? 1U : 0U,
               word(result.end), times});
}

void Recorder::on_engine(const trace::EngineRow& row) {
  append(trace::engine, row);
}

void Recorder::commit(SimTime now) {
  if (file_) {
    file_->commit(now);
  }
}

trace::RowCounts Recorder::secure(SimTime now) {
  trace::RowCounts rows;
  if (file_) {
    file_->commit(now, true);
    file_->sync();
    const std::vector<trace::TableSpec> tables = trace::tables();
    for (trace::TableIndex table = 0; table < tables.size(); ++table) {
      rows[tables[table].name] = file_->rows(table);
    }
  }
  return rows;
}

void Recorder::save_totals(pdes::StateWriter& writer) const {
  const Digest all = digest();
  writer.put(all.high());
  writer.put(all.low());
}

void Recorder::add_totals(pdes::StateReader& reader) {
  const auto high = reader.get<std::uint64_t>();
  const auto low = reader.get<std::uint64_t>();
  digest_.merge(Digest(high, low));
}

trace::FileSum Recorder::close(SimTime now) {
  if (!file_) {
    return {};
  }
  file_->close(now);
  const trace::FileSum sum = file_->sum();
  file_.reset();
  return sum;
}

}  // namespace tessera::sim
