// Writes the instructions of one pass through one chunk of a stage's layers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "program_builder.hpp"
#include "sram_allocation.hpp"
#include "tessera/plan/sharder.hpp"

namespace tessera::plan {

// Slots of background collectives; those of weights alternate, so that one transfer overlaps the
// work on the other's.
enum CollectiveSlot : std::uint8_t {
  gather_slot = 0,
  reduction_slot = 2,
  tensor_slot = 3,
  piece_slot = 4,
  turn_slot = 5,  // and the next one
  deep_slot = 8,  // of weights where several layers are gathered ahead, and the next ones
};
constexpr std::uint32_t slot_bit(std::uint8_t slot) {
  return std::uint32_t{1} << slot;
}
constexpr std::uint8_t gather_slot_of(std::size_t number) {
  return static_cast<std::uint8_t>(gather_slot + number % 2);
}

// What a pass that adds to gradients is the last of, in its chunk: of a run of micro-batches that
// follow one another, or of the iteration, when gradients are final.
enum class Closing : std::uint8_t { nothing, run, iteration };

class PieceWriter {
 public:
  // All must outlive the writer.
  PieceWriter(const workload::Workload& workload, const Strategy& strategy, std::uint32_t number,
              const Stage& stage, Bytes sram, const GroupEstimates& estimates, Tables& tables)
      : workload_(workload),
        strategy_(strategy),
        number_(number),
        stage_(stage),
        sram_(sram),
        estimates_(estimates),
        tables_(tables),
        sharder_(workload, strategy) {}

  std::vector<Instruction> write(Phase phase, std::uint16_t chunk, Closing closing);

 private:
  // Of a backward pass: what it computes.
  enum class Gradients : std::uint8_t { both, inputs, weights };

  bool takes_samples() const { return shape().begins(part()); }
  bool gives_loss() const { return shape().ends(part()); }
  // The parts of the model next to the chunk's.
  enum class Side : std::uint8_t { before, behind };
  PipelineShape shape() const { return strategy_.pipeline_shape(workload_.training); }
  std::uint32_t part() const { return shape().part_of(number_, chunk_); }
  // Whether that part is another chunk of this stage.
  bool lies_here(Side side) const {
    return shape().stage_of(side == Side::before ? part() - 1 : part() + 1) == number_;
  }
  // Whether the chunk passes its output on as partial sums.
  bool passes_on_sums() const {
    return strategy_.boundary == Boundary::reduced && tensor_parallel() && !gives_loss() &&
           !lies_here(Side::behind);
  }
  bool tensor_parallel() const { return strategy_.degrees.tensor > 1; }
  const workload::Layer& layer(std::size_t index) const { return workload_.layers[index]; }
  LayerRange range() const { return stage_.chunks[chunk_]; }
  bool streams_weights() const { return !stage_.memory.holds_weights; }
  LayerStreams streams(std::size_t index) const {
    return streams_of(sharder_, strategy_, layer(index), stage_.memory, sram_);
  }
  bool gathers_weights() const { return strategy_.zero == 3 && strategy_.sharing() > 1; }
  // Another one for each layer that is on its way.
  std::uint8_t slot_of_weights(std::size_t index) const {
    const std::uint32_t slots = strategy_.prefetch_layers + 1;
    return slots == 2 ? gather_slot_of(index)
                      : static_cast<std::uint8_t>(deep_slot + index % slots);
  }
  bool gathers_layers() const { return gathers_weights() && strategy_.gather == GatherUnit::layer; }
  // That shares out what ZeRO does, of weights that are no experts'.
  Group sharing_group() const { return strategy_.is_hybrid() ? Group::shard : Group::data; }

  Instruction& emit(Action action, const std::string& name);
  void execute(const std::string& name, const workload::Operation& operation);
  // `lists`: that a framework makes of the group's members for it, or in its place.
  void collective(Action action, collective::Kind kind, Group group, Bytes bytes,
                  std::uint8_t slot = 0, std::uint32_t lists = 1);
  // One that is not simulated, from `overhead` before its first message on.
  void elapse(Instruction& instruction, const GroupShape& shape, Bytes bytes,
              SimTime overhead) const;
  void wait_collectives(std::uint32_t mask, const std::string& name);
  void transfer(Action action, Side side, Traffic traffic, std::uint64_t elements);
  // What makes the output of a layer as partial sums, or why nothing does.
  struct EndOfLayer {
    const workload::Operator* sum = nullptr;
    std::string objection;
  };
  EndOfLayer end_of(std::size_t index) const;
  // Throws ConfigError where partial sums are wanted and there are none.
  void check_sums() const;
  // Throws ConfigError where gradients of runs would have to be streamed.
  void check_runs() const;
  bool leaves_sum(std::size_t index, const workload::Operator& op) const;
  void transfer_by_adapters(Action action, Peer peer, Traffic traffic, std::uint64_t elements);
  void move(Action action, Peer peer, Traffic traffic, Group senders, Bytes bytes);
  void access(Action action, const std::string& name, std::uint8_t slot, Bytes bytes);
  void wait_accesses(std::uint64_t mask);

  // To and from the host: src/plan/pieces/offload.cpp.
  Bytes offloaded(std::size_t index) const;
  void copy_out(std::size_t index);
  void copy_in(std::size_t index);
  void await_copies_out();
  void await_copy_in(std::size_t index);
  void start_copy(const std::string& name, std::uint8_t slot, Bytes bytes);
  void write_forward();
  void write_backward(Gradients gradients, Closing closing);
  // Whether gradients of weights are summed up, or shared out, in a pass.
  bool reduces(Closing closing) const;
  void write_update();

  void gather_weights(std::size_t index);
  // Of weights that are gathered by operator.
  struct Use {
    const workload::Operator* op = nullptr;
    bool gathers = false;  // else they are still there
  };
  bool is_gathered(const workload::Operator& op) const;
  void begin_uses(Phase phase, bool ahead);
  void find_uses(Phase phase);
  void add_use(const workload::Operator& op, bool gathers);
  void find_backward_uses(const std::vector<workload::Operator>& operators);
  void gather_operator(Action action, const workload::Operator& op, std::uint8_t slot);
  void start_next_gather();
  void copy(const std::string& name, Bytes bytes, double copies);
  std::uint32_t lists_of(const workload::Layer& layer) const;
  void gather_kept(const LayerBytes& all);
  LayerBytes gradients_together(std::size_t index) const;
  Bytes reduced(const LayerBytes& gradients) const;
  void copy_gradients(std::size_t index);
  void use_weights(const workload::Operator& op);
  void prefetch_forward(std::size_t index);
  void await_forward(std::size_t index);
  void await_weights(std::size_t index);
  // `gathered`: the layer whose weights are gathered with it.
  void prefetch_backward(std::size_t index, Gradients gradients,
                         std::optional<std::size_t> gathered);
  void forward_operator(std::size_t index, const workload::Operator& op,
                        const workload::Operation& operation);
  // Beside products, along the tokens: src/plan/pieces/async.cpp.
  bool goes_in_pieces(const workload::Operator& op) const;
  workload::Operation piece_of(const workload::Operator& op,
                               const workload::Operation& whole) const;
  void gather_beside(const std::string& name, const workload::Operation& piece, Bytes bytes);
  void scatter_beside(const std::string& name, const workload::Operation& piece, Bytes bytes);
  void forward_in_pieces(const std::string& name, const workload::Operator& op,
                         const workload::Operation& operation);
  void backward_in_pieces(const std::string& name, const workload::Operator& op, bool gathers);
  void gather_context(const workload::Operator& op);
  enum class Exchange : std::uint8_t { forward, backward };
  void exchange_tokens(const workload::Operator& op, Exchange way);
  void sum_forward(std::size_t index, const workload::Operator& op);
  void backward_layer(std::size_t index, Gradients gradients);
  std::size_t begin_layer();
  void end_layer(std::size_t begin);
  void backward_operator(std::size_t index, const workload::Operator& op, Gradients gradients);
  void sum_backward(const workload::Operator& op, Action action);
  void reduce_gradients(Action action, const LayerBytes& bytes, bool final,
                        std::uint32_t lists = 1);
  void reduce_gradients(std::size_t index, bool final);
  void sum_cut_weights();
  void sum_tied_weights(const LayerBytes& all);

  const workload::Workload& workload_;
  const Strategy& strategy_;
  std::uint32_t number_;
  const Stage& stage_;
  Bytes sram_;  // of a tile
  const GroupEstimates& estimates_;
  Tables& tables_;
  Sharder sharder_;
  std::uint16_t chunk_ = 0;
  Occasion occasion_ = Occasion::again;  // of collectives
  std::vector<Instruction> code_;
  std::vector<Use> uses_;  // of the pass
  std::size_t next_use_ = 0;
  std::size_t next_gather_ = 0;  // in uses_
  std::size_t gathered_ = 0;     // gathers begun
  bool gathers_ahead_ = false;
  HostWait host_waits_ = HostWait::no;  // before the next operation
};

}  // namespace tessera::plan
