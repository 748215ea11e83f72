#include "tessera/trace/records.hpp"

#include <algorithm>

namespace tessera::trace {

std::array<char, 64> text64(std::string_view text) {
  std::array<char, 64> field{};
  std::size_t length = std::min(text.size(), field.size() - 1);
  // Not in the middle of a character: its later bytes start with the bits 10.
  while (length > 0 && length < text.size() &&
         (static_cast<unsigned char>(text[length]) & 0xC0) == 0x80) {
    --length;
  }
  std::copy_n(text.begin(), length, field.begin());
  return field;
}

namespace {

TableSpec link_table(std::string name, std::string description) {
  return describe<LinkRow>(
      std::move(name), std::move(description),
      {field("begin", &LinkRow::begin_ps, "ps", "start of the span"),
       field("end", &LinkRow::end_ps, "ps", "end of the span"),
       field("bytes", &LinkRow::bytes, "B", "put on the wire in the span"),
       field("busy", &LinkRow::busy_ps, "ps", "time the wire was in use in the span"),
       field("largest_queue", &LinkRow::largest_queue_bytes, "B",
             "most bytes that waited for the wire when a packet came to it"),
       field("node", &LinkRow::node, "", "where the link starts"),
       field("to", &LinkRow::to, "", "where the link ends"),
       field("port", &LinkRow::port, "",
             "port of the node; on grids 0 west 1 east 2 north 3 south"),
       field("class", &LinkRow::link_class, "",
             "number in the root attribute link_classes; 255: a later one")});
}

TableSpec engine_table() {
  TableSpec spec = describe<EngineRow>(
      "engine", "one row a progress report of the rank's engine, counts since the start",
      {field("simulated", &EngineRow::simulated_ps, "ps", "simulated time reached"),
       field("wall", &EngineRow::wall_s, "s", "wall time since the start"),
       field("waiting", &EngineRow::waiting_s, "s", "wall time spent in synchronisation"),
       field("events", &EngineRow::events, "", "events handled"),
       field("windows", &EngineRow::windows, "", "windows that held an event"),
       field("rounds", &EngineRow::rounds, "", "rounds of synchronisation"),
       field("remote_events", &EngineRow::remote_events, "", "events sent to other ranks"),
       field("batches", &EngineRow::batches, "", "batches sent to other ranks"),
       field("pending", &EngineRow::pending, "", "events pending at most so far"),
       field("resident", &EngineRow::resident_bytes, "B", "resident memory of the process")});
  spec.is_slow = true;
  return spec;
}

TableSpec channel_table(std::string name, std::string description) {
  return describe<ChannelRow>(
      std::move(name), std::move(description),
      {field("begin", &ChannelRow::begin_ps, "ps", "start of the span"),
       field("end", &ChannelRow::end_ps, "ps", "end of the span"),
       field("read", &ChannelRow::read_bytes, "B", "read in the span"),
       field("written", &ChannelRow::written_bytes, "B", "written in the span"),
       field("busy", &ChannelRow::busy_ps, "ps", "time the channel served requests in the span"),
       field("longest_wait", &ChannelRow::longest_wait_ps, "ps",
             "longest time a request of the span waited for the channel"),
       field("row_hits", &ChannelRow::row_hits, "", "bursts whose row was open"),
       field("row_misses", &ChannelRow::row_misses, "", "bursts whose bank was closed"),
       field("row_conflicts", &ChannelRow::row_conflicts, "",
             "bursts whose bank had another row open"),
       field("channel", &ChannelRow::channel, "", "number of the channel"),
       field("node", &ChannelRow::node, "", "node it is attached to")});
}

TableSpec core_table(std::string name, std::string description) {
  return describe<CoreRow>(
      std::move(name), std::move(description),
      {field("begin", &CoreRow::begin_ps, "ps", "start of the span"),
       field("end", &CoreRow::end_ps, "ps", "end of the span"),
       field("matrix_busy", &CoreRow::matrix_busy_ps, "ps",
             "time in which something was in the systolic array"),
       field("vector_busy", &CoreRow::vector_busy_ps, "ps", "time the vector unit worked"),
       field("dma_busy", &CoreRow::dma_busy_ps, "ps",
             "time in which something was moved to or from memory"),
       field("matrix_active", &CoreRow::matrix_active, "cycles",
             "that the products begun would take of a full array"),
       field("loaded", &CoreRow::loaded_bytes, "B", "asked for from memory"),
       field("stored", &CoreRow::stored_bytes, "B", "given to memory"),
       field("tiles", &CoreRow::tiles, "", "tiles of operators begun"),
       field("node", &CoreRow::node, "", "node of the core")});
}

TableSpec request_table() {
  return describe<RequestRow>(
      "requests", "one row a request that was served",
      {field("arrival", &RequestRow::arrival_ps, "ps", "when it arrived"),
       field("begun", &RequestRow::begun_ps, "ps", "when its first step began"),
       field("first", &RequestRow::first_ps, "ps",
             "when its first token was there; of other models its end"),
       field("end", &RequestRow::end_ps, "ps", "when all was there"),
       field("request", &RequestRow::request, "", "number of the request of its tenant"),
       field("prompt", &RequestRow::prompt, "tokens", "prompt"),
       field("generated", &RequestRow::generated, "tokens", "generated"),
       field("samples", &RequestRow::samples, "", "of a model that is no language model"),
       field("again", &RequestRow::again, "",
             "times that it gave its cache back, to be computed again or fetched from a tier"),
       field("tenant", &RequestRow::tenant, "", "number in the root attribute phases")});
}

TableSpec token_table() {
  return describe<TokenRow>(
      "tokens", "one row a token that a request was given",
      {field("time", &TokenRow::time_ps, "ps", "when it was there"),
       field("since", &TokenRow::since_ps, "ps", "when the one before was there; -1: none was"),
       field("request", &TokenRow::request, "", "number of the request of its tenant"),
       field("tenant", &TokenRow::tenant, "", "number in the root attribute phases")});
}

TableSpec service_load_table() {
  return describe<ServiceLoadRow>(
      "service_load", "one row a change of what a service holds; of replicas each its own",
      {field("time", &ServiceLoadRow::time_ps, "ps",
             "from which on it holds that; of rows of one time the last one counts"),
       field("running", &ServiceLoadRow::running, "requests", "have begun and are not over"),
       field("waiting", &ServiceLoadRow::waiting, "requests",
             "have not begun, or gave their cache back"),
       field("cache_blocks", &ServiceLoadRow::cache_blocks, "",
             "blocks of the cache that are taken"),
       field("tenant", &ServiceLoadRow::tenant, "", "number in the root attribute phases")});
}

TableSpec memory_table() {
  return describe<MemoryRow>(
      "memory", "one row a pass of the first tile of a stage: what it holds when it holds most",
      {field("end", &MemoryRow::end_ps, "ps", "when the pass was over"),
       field("weights", &MemoryRow::weights_bytes, "B", "weights"),
       field("gradients", &MemoryRow::gradients_bytes, "B", "gradients of weights, as kept"),
       field("optimizer", &MemoryRow::optimizer_bytes, "B", "state of the optimizer"),
       field("activations", &MemoryRow::activations_bytes, "B",
             "kept for backward passes, of all micro-batches under way"),
       field("recomputed", &MemoryRow::recomputed_bytes, "B",
             "activations of a layer that were computed again"),
       field("gathered", &MemoryRow::gathered_bytes, "B", "weights of other replicas"),
       field("scattered", &MemoryRow::scattered_bytes, "B",
             "whole gradients that are not shared out yet"),
       field("working", &MemoryRow::working_bytes, "B",
             "outputs and gradients of an operator, copies of logits"),
       field("communicators", &MemoryRow::communicators_bytes, "B", "buffers of collectives"),
       field("context", &MemoryRow::context_bytes, "B", "of the driver and the framework"),
       field("reserve", &MemoryRow::reserve_bytes, "B", "that the allocator holds for no tensor"),
       field("node", &MemoryRow::node, "", "the tile"),
       field("micro_batch", &MemoryRow::micro_batch, "", "number of the micro-batch"),
       field("chunk", &MemoryRow::chunk, "", "number of the chunk of layers"),
       field("phase", &MemoryRow::phase, "", "number in the root attribute phases")});
}

}  // namespace

std::vector<TableSpec> tables() {
  return {
      describe<NodeRow>(
          "nodes", "one row a node of the rank's region",
          {field("node", &NodeRow::node, "", "number of the node"),
           field("stage", &NodeRow::stage, "", "pipeline stage; -1: not used"),
           field("replica", &NodeRow::replica, "", "data-parallel replica"),
           field("shard", &NodeRow::shard, "", "tensor-parallel shard"),
           field("x", &NodeRow::x, "", "column to draw it in"),
           field("y", &NodeRow::y, "", "row to draw it in, from the top"),
           field("rank", &NodeRow::rank, "", "rank that simulates it"),
           field("computes", &NodeRow::computes, "", "1: a tile, 0: a switch or a memory"),
           field("tenant", &NodeRow::tenant, "",
                 "number in the root attribute tenants; -1: of none")}),
      describe<NameRow>("names", "one row a name of an operator",
                        {field("name", &NameRow::name, "", "number used in other tables"),
                         field("text", &NameRow::text, "", "the name")}),
      describe<OperatorRow>(
          "operators", "one row an instruction that took time on a tile",
          {field("start", &OperatorRow::start_ps, "ps", "when it began"),
           field("end", &OperatorRow::end_ps, "ps", "when it was done"),
           field("node", &OperatorRow::node, "", "the tile"),
           field("micro_batch", &OperatorRow::micro_batch, "",
                 "number of the micro-batch; of graphs, of the iteration"),
           field("name", &OperatorRow::name, "", "row of the table names"),
           field("phase", &OperatorRow::phase, "", "number in the root attribute phases"),
           field("activity", &OperatorRow::activity, "",
                 "number in the root attribute activities")}),
      describe<MessageRow>(
          "messages", "one row a message between tiles; full traces only",
          {field("sent", &MessageRow::sent_ps, "ps", "when the sender handed it over"),
           field("arrived", &MessageRow::arrived_ps, "ps", "when its last byte arrived"),
           field("taken", &MessageRow::taken_ps, "ps", "when the receiver used it"),
           field("bytes", &MessageRow::bytes, "B", "size"),
           field("source", &MessageRow::source, "", "sending tile"),
           field("target", &MessageRow::target, "", "receiving tile"),
           field("traffic", &MessageRow::traffic, "", "number in the root attribute traffic")}),
      describe<CollectivePhaseRow>(
          "collective_phases", "one row a chunk of a collective in one dimension, at one tile",
          {field("start", &CollectivePhaseRow::start_ps, "ps", "when it began"),
           field("end", &CollectivePhaseRow::end_ps, "ps", "when it was done"),
           field("bytes", &CollectivePhaseRow::bytes, "B", "vector that the phase is about"),
           field("node", &CollectivePhaseRow::node, "", "the tile"),
           field("chunk", &CollectivePhaseRow::chunk, "", "number of the chunk"),
           field("name", &CollectivePhaseRow::name, "", "row of the table names"),
           field("kind", &CollectivePhaseRow::kind, "", "number in the root attribute collectives"),
           field("dimension", &CollectivePhaseRow::dimension, "",
                 "of the machine; 255: members that fill no box of dimensions")}),
      link_table("link_bins", "one row a directed link and time bin in which it was used"),
      link_table("links", "one row a directed link that was used, over the whole run"),
      channel_table("channel_bins", "one row a DRAM channel and time bin in which it was used"),
      channel_table("channels", "one row a DRAM channel that was used, over the whole run"),
      core_table("core_bins", "one row a core and time bin in which one of its units worked"),
      core_table("cores", "one row a core that was used, over the whole run"),
      request_table(),
      token_table(),
      service_load_table(),
      memory_table(),
      engine_table()};
}

}  // namespace tessera::trace
