#include "program_builder.hpp"

#include <algorithm>

#include "tessera/core/error.hpp"
#include "tessera/plan/schedule.hpp"

namespace tessera::plan {
namespace {

std::uint64_t divided_up(std::uint64_t value, std::uint64_t by) {
  return (value + by - 1) / by;
}

// Slots of memory accesses. Two of a kind alternate from layer to layer, so that one layer's
// transfer overlaps the other's work.
enum Slot : std::uint8_t {
  weights_slot = 0,
  stored_read_slot = 2,
  stored_write_slot = 4,
  gradient_read_slot = 6,
  gradient_write_slot = 8,
  optimizer_slot = 10,
};
constexpr std::uint64_t all_slots = ~std::uint64_t{0};

class StageWriter {
 public:
  StageWriter(const workload::Workload& workload, const Strategy& strategy, std::uint32_t number,
              const Stage& stage, NameTable& names)
      : workload_(workload),
        strategy_(strategy),
        number_(number),
        stage_(stage),
        names_(names),
        cutter_(workload, strategy) {}

  Program write() {
    Program program;
    code_ = &program.code[static_cast<std::size_t>(Phase::forward)];
    write_forward();
    code_ = &program.code[static_cast<std::size_t>(Phase::backward)];
    write_backward(false);
    code_ = &program.code[static_cast<std::size_t>(Phase::last_backward)];
    write_backward(strategy_.overlap_gradients);
    code_ = &program.code[static_cast<std::size_t>(Phase::update)];
    write_update();
    return program;
  }

 private:
  bool first() const { return number_ == 0; }
  bool last() const { return number_ + 1 == strategy_.degrees.pipeline; }
  bool tensor_parallel() const { return strategy_.degrees.tensor > 1; }
  const workload::Layer& layer(std::size_t index) const { return workload_.layers[index]; }

  Instruction& emit(Action action, const std::string& name) {
    Instruction instruction;
    instruction.action = action;
    instruction.name = names_(name);
    return code_->emplace_back(instruction);
  }

  void execute(const std::string& name, const ShardedCost& cost) {
    Instruction& instruction = emit(Action::execute, name);
    instruction.flops = cost.flops.count();
    instruction.bytes = cost.sram_bytes.count();
  }

  void collective(Action action, collective::Kind kind, Group group, Bytes bytes) {
    if (bytes == Bytes(0)) {
      return;
    }
    Instruction& instruction =
        emit(action, to_string(group == Group::tensor ? Traffic::tensor : Traffic::data) + " " +
                         collective::to_string(kind));
    instruction.group = group;
    instruction.traffic = group == Group::tensor ? Traffic::tensor : Traffic::data;
    instruction.collective = static_cast<std::uint8_t>(kind);
    instruction.bytes = bytes.count();
  }

  // A boundary tensor from or to the stage next door. Scattered: each shard carries its part, and
  // the receiving stage gathers them.
  void transfer(Action action, Peer peer, Traffic traffic, std::uint64_t elements) {
    const Bytes whole = cutter_.tensor_bytes(elements);
    const bool scatter = strategy_.scatter_boundary && tensor_parallel();
    Instruction& instruction =
        emit(action, (action == Action::send ? "send " : "receive ") + to_string(traffic));
    instruction.peer = peer;
    instruction.traffic = traffic;
    instruction.bytes =
        scatter ? divided_up(whole.count(), strategy_.degrees.tensor) : whole.count();
    if (scatter && action == Action::receive) {
      collective(Action::collective, collective::Kind::all_gather, Group::tensor, whole);
    }
  }

  void access(Action action, const std::string& name, std::uint8_t slot, Bytes bytes) {
    if (bytes == Bytes(0)) {
      return;
    }
    wait(std::uint64_t{1} << slot);
    Instruction& instruction = emit(action, name);
    instruction.slot = slot;
    instruction.bytes = bytes.count();
  }

  void wait(std::uint64_t mask) {
    Instruction& instruction = emit(Action::wait_access, "wait for memory");
    instruction.bytes = mask;
  }

  // `offset` alternates the slot of a kind from layer to layer.
  static std::uint8_t slot_of(Slot kind, std::size_t offset) {
    return static_cast<std::uint8_t>(kind + offset % 2);
  }
  static std::uint64_t bit(std::uint8_t slot) { return std::uint64_t{1} << slot; }

  void prefetch_weights(std::size_t index) {
    if (!stage_.memory.holds_weights) {
      access(Action::read, "read weights", slot_of(weights_slot, index),
             cutter_.bytes_of(layer(index)).weights_read);
    }
  }

  void forward_operators(std::size_t index) {
    for (const workload::Operator& op : layer(index).operators) {
      execute(layer(index).name + "/" + op.name, cutter_.forward(op));
      if (tensor_parallel()) {
        collective(Action::collective, collective::Kind::all_reduce, Group::tensor,
                   cutter_.tensor_bytes(op.forward_all_reduce_elements));
      }
    }
  }

  void write_forward() {
    prefetch_weights(stage_.first_layer);
    if (!first()) {
      transfer(Action::receive, Peer::previous_stage, Traffic::activation,
               layer(stage_.first_layer - 1).boundary_elements);
    }
    for (std::size_t index = stage_.first_layer; index < stage_.end_layer; ++index) {
      if (index + 1 < stage_.end_layer) {
        prefetch_weights(index + 1);
      }
      if (!stage_.memory.holds_weights) {
        wait(bit(slot_of(weights_slot, index)));
      }
      forward_operators(index);
      if (!stage_.memory.holds_activations) {
        access(Action::write, "write activations", slot_of(stored_write_slot, index),
               cutter_.bytes_of(layer(index)).stored);
      }
    }
    if (!last()) {
      transfer(Action::send, Peer::next_stage, Traffic::activation,
               layer(stage_.end_layer - 1).boundary_elements);
    }
  }

  void prefetch_backward(std::size_t index) {
    const LayerBytes bytes = cutter_.bytes_of(layer(index));
    prefetch_weights(index);
    if (!stage_.memory.holds_activations) {
      access(Action::read, "read activations", slot_of(stored_read_slot, index), bytes.stored);
    }
    if (!stage_.memory.holds_weights) {
      access(Action::read, "read gradients", slot_of(gradient_read_slot, index), bytes.gradients);
    }
  }

  void write_backward(bool start_reduction) {
    const std::size_t end = stage_.end_layer;
    prefetch_backward(end - 1);
    if (!last()) {
      transfer(Action::receive, Peer::next_stage, Traffic::gradient,
               layer(end - 1).boundary_elements);
    }
    for (std::size_t index = end; index > stage_.first_layer;) {
      --index;
      if (index > stage_.first_layer) {
        prefetch_backward(index - 1);
      }
      wait(bit(slot_of(weights_slot, index)) | bit(slot_of(stored_read_slot, index)) |
           bit(slot_of(gradient_read_slot, index)));
      if (strategy_.recompute) {
        forward_operators(index);
      }
      backward_operators(index);
      const LayerBytes bytes = cutter_.bytes_of(layer(index));
      if (!stage_.memory.holds_weights) {
        access(Action::write, "write gradients", slot_of(gradient_write_slot, index),
               bytes.gradients);
      }
      if (start_reduction) {
        reduce_gradients(Action::start_collective, bytes.gradients);
      }
    }
    if (!first()) {
      transfer(Action::send, Peer::previous_stage, Traffic::gradient,
               layer(stage_.first_layer - 1).boundary_elements);
    }
  }

  void backward_operators(std::size_t index) {
    const auto& operators = layer(index).operators;
    for (auto op = operators.rbegin(); op != operators.rend(); ++op) {
      execute(layer(index).name + "/" + op->name, cutter_.backward(*op));
      if (tensor_parallel()) {
        collective(Action::collective, collective::Kind::all_reduce, Group::tensor,
                   cutter_.tensor_bytes(op->backward_all_reduce_elements));
      }
    }
  }

  void reduce_gradients(Action action, Bytes bytes) {
    if (strategy_.degrees.data > 1) {
      collective(action,
                 strategy_.shard_optimizer ? collective::Kind::reduce_scatter
                                           : collective::Kind::all_reduce,
                 Group::data, bytes);
    }
  }

  void write_update() {
    const StageMemory& memory = stage_.memory;
    if (strategy_.degrees.data > 1) {
      if (strategy_.overlap_gradients) {
        emit(Action::wait_collectives, "wait for gradients");
      } else {
        reduce_gradients(Action::collective, memory.gradients);
      }
    }
    // The optimizer is bound by moving its state (PALM, Fig. 5, leaves its arithmetic out too).
    const std::uint64_t share = strategy_.shard_optimizer ? strategy_.degrees.data : 1;
    const Bytes updated(divided_up((memory.weights + memory.gradients).count(), share));
    if (!memory.holds_weights) {
      access(Action::read, "read optimizer state", optimizer_slot, memory.optimizer + updated);
      wait(bit(optimizer_slot));
    }
    execute("optimizer", {Flops(0), (memory.optimizer + updated) * 2});
    if (!memory.holds_weights) {
      access(Action::write, "write optimizer state", optimizer_slot + 1,
             memory.optimizer + Bytes(divided_up(memory.weights.count(), share)));
    }
    if (strategy_.shard_optimizer && strategy_.degrees.data > 1) {
      collective(Action::collective, collective::Kind::all_gather, Group::data, memory.weights);
    }
    wait(all_slots);
  }

  const workload::Workload& workload_;
  const Strategy& strategy_;
  std::uint32_t number_;
  const Stage& stage_;
  NameTable& names_;
  Cutter cutter_;
  std::vector<Instruction>* code_ = nullptr;
};

std::vector<ScheduleEntry> schedule_of(const Strategy& strategy, std::uint32_t stage) {
  std::vector<ScheduleEntry> entries =
      schedules()
          .at(strategy.schedule)
          .entries(stage, strategy.degrees.pipeline, strategy.micro_batches);
  const auto last = std::find_if(entries.rbegin(), entries.rend(), [](const ScheduleEntry& entry) {
    return entry.phase == Phase::backward;
  });
  ensure(last != entries.rend(), "a schedule with backward passes");
  last->phase = Phase::last_backward;
  entries.push_back({Phase::update, 0});
  return entries;
}

}  // namespace

std::string to_string(Traffic traffic) {
  switch (traffic) {
    case Traffic::activation:
      return "activation";
    case Traffic::gradient:
      return "gradient";
    case Traffic::tensor:
      return "tensor";
    case Traffic::data:
      return "data";
  }
  throw InternalError("a traffic outside its list");
}

std::string to_string(Phase phase) {
  switch (phase) {
    case Phase::forward:
      return "forward";
    case Phase::backward:
    case Phase::last_backward:
      return "backward";
    case Phase::update:
      return "update";
  }
  throw InternalError("a phase outside its list");
}

std::uint16_t NameTable::operator()(const std::string& name) {
  const auto [place, fresh] = numbers_.emplace(name, static_cast<std::uint16_t>(names_.size()));
  if (fresh) {
    if (names_.size() > 0xFFFF) {
      throw ConfigError("workload: more than 65536 different operators");
    }
    names_.push_back(name);
  }
  return place->second;
}

std::uint64_t Cutter::shards(const workload::Operator& op) const {
  return op.sharding == workload::Sharding::replicated ? 1 : strategy_.degrees.tensor;
}

std::uint64_t Cutter::used_parameters(const workload::Operator& op) const {
  return divided_up(op.shared_parameters, shards(op)) + op.replicated_parameters +
         divided_up(op.parameters - op.replicated_parameters, shards(op));
}

std::uint64_t Cutter::tile_parameters(const workload::Operator& op) const {
  // Weights shared with an operator of another stage are held twice.
  const bool copied = strategy_.degrees.pipeline > 1;
  return used_parameters(op) - (copied ? 0 : divided_up(op.shared_parameters, shards(op)));
}

Bytes Cutter::tensor_bytes(std::uint64_t elements) const {
  return element_size(workload_.data_type) * (elements * strategy_.micro_batch);
}

// Weights once, inputs and outputs of the micro-batch; the cut side of a product is counted cut.
Bytes Cutter::moved(const workload::Operator& op) const {
  const std::uint64_t cut = shards(op);
  const bool input_cut =
      op.sharding == workload::Sharding::row || op.sharding == workload::Sharding::heads;
  const bool output_cut =
      op.sharding == workload::Sharding::column || op.sharding == workload::Sharding::heads;
  return element_size(workload_.data_type) * used_parameters(op) +
         tensor_bytes(divided_up(op.input_elements, input_cut ? cut : 1)) +
         tensor_bytes(divided_up(op.output_elements, output_cut ? cut : 1));
}

ShardedCost Cutter::forward(const workload::Operator& op) const {
  const std::uint64_t flops = op.forward_flops.count() * strategy_.micro_batch;
  return {Flops(divided_up(flops, shards(op))), moved(op)};
}

ShardedCost Cutter::backward(const workload::Operator& op) const {
  const std::uint64_t flops = op.backward_flops.count() * strategy_.micro_batch;
  return {Flops(divided_up(flops, shards(op))), moved(op) * 2};
}

LayerBytes Cutter::bytes_of(const workload::Layer& layer) const {
  LayerBytes bytes;
  const Bytes element = element_size(workload_.data_type);
  for (const workload::Operator& op : layer.operators) {
    const std::uint64_t parameters = tile_parameters(op);
    bytes.weights += element * parameters;
    // A look-up touches the rows of its tokens only.
    bytes.weights_read += op.kind == "embedding"
                              ? std::min(element * parameters, tensor_bytes(op.output_elements))
                              : element * used_parameters(op);
    bytes.gradients += workload_.gradient_bytes_per_parameter * parameters;
    bytes.optimizer +=
        Bytes(divided_up((workload_.optimizer_bytes_per_parameter * parameters).count(),
                         strategy_.shard_optimizer ? strategy_.degrees.data : 1));
    if (!strategy_.recompute) {
      bytes.stored += (op.stored_whole + Bytes(divided_up(op.stored_cut.count(), shards(op)))) *
                      strategy_.micro_batch;
    }
  }
  if (strategy_.recompute) {
    bytes.stored = tensor_bytes(layer.boundary_elements);
  }
  return bytes;
}

Program build_program(const workload::Workload& workload, const Strategy& strategy,
                      std::uint32_t number, const Stage& stage, NameTable& names) {
  Program program = StageWriter(workload, strategy, number, stage, names).write();
  program.schedule = schedule_of(strategy, number);
  return program;
}

}  // namespace tessera::plan
