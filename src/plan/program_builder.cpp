#include "program_builder.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "pieces/pair.hpp"
#include "pieces/writer.hpp"
#include "tessera/core/error.hpp"
#include "tessera/plan/schedule/pairs.hpp"
#include "tessera/plan/sharder.hpp"

namespace tessera::plan {
namespace {

// Every pass of every chunk, and backward ones by what they close, as a piece of its own; those
// that the schedule does not use are not written.
class PieceTable {
 public:
  explicit PieceTable(PieceWriter writer) : writer_(std::move(writer)) {}

  std::uint32_t piece(const Pass& pass, Closing closing) {
    const auto [place, fresh] =
        numbers_.try_emplace({pass.phase, pass.chunk, closing}, static_cast<std::uint32_t>(0));
    if (fresh) {
      place->second = static_cast<std::uint32_t>(pieces_.size());
      pieces_.push_back(writer_.write(pass.phase, pass.chunk, closing));
    }
    return place->second;
  }
  // Two passes in turns.
  std::uint32_t pair(const Pass& one, const Pass& other, Closing closing) {
    const auto [place, fresh] =
        pairs_.try_emplace({one.chunk, other.chunk, closing}, static_cast<std::uint32_t>(0));
    if (fresh) {
      std::vector<Instruction> first = writer_.write(one.phase, one.chunk, Closing::nothing);
      std::vector<Instruction> second = writer_.write(other.phase, other.chunk, closing);
      place->second = static_cast<std::uint32_t>(pieces_.size());
      pieces_.push_back(in_turns(std::move(first), std::move(second)));
    }
    return place->second;
  }
  std::vector<std::vector<Instruction>> take() { return std::move(pieces_); }

 private:
  PieceWriter writer_;
  std::map<std::tuple<Phase, std::uint16_t, Closing>, std::uint32_t> numbers_;
  std::map<std::tuple<std::uint16_t, std::uint16_t, Closing>, std::uint32_t> pairs_;
  std::vector<std::vector<Instruction>> pieces_;
};

bool makes_gradients(const Pass& pass) {
  return pass.phase == Phase::backward || pass.phase == Phase::weight_gradient;
}

// By turn: what its backward pass closes.
std::vector<Closing> closings_of(const std::vector<Turn>& turns, const Strategy& strategy) {
  std::vector<Closing> closings(turns.size(), Closing::nothing);
  std::vector<bool> closed(strategy.chunks, false);
  std::uint32_t behind = strategy.chunks;  // the chunk of the next pass that makes gradients
  for (std::size_t i = turns.size(); i > 0; --i) {
    const Pass& pass = turns[i - 1].beside.value_or(turns[i - 1].pass);
    if (!makes_gradients(pass)) {
      continue;
    }
    if (!closed[pass.chunk]) {
      closings[i - 1] = Closing::iteration;
    } else if (strategy.scatters_runs() && pass.chunk != behind) {
      closings[i - 1] = Closing::run;
    }
    closed[pass.chunk] = true;
    behind = pass.chunk;
  }
  return closings;
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
    case Traffic::context:
      return "context";
    case Traffic::expert:
      return "expert";
    case Traffic::tied:
      return "tied";
    case Traffic::message:
      return "message";
    case Traffic::collective:
      return "collective";
  }
  throw InternalError("a traffic outside its list");
}

std::string to_string(Group group) {
  switch (group) {
    case Group::each:
      return "each";
    case Group::tensor:
      return "tensor";
    case Group::data:
      return "data";
    case Group::context:
      return "context";
    case Group::expert:
      return "expert";
    case Group::expert_data:
      return "expert data";
    case Group::tied:
      return "tied";
    case Group::shard:
      return "shard";
    case Group::copies:
      return "copies";
    default:
      return "cut " +
             std::to_string(static_cast<unsigned>(group) - static_cast<unsigned>(Group::first_cut));
  }
}

Traffic traffic_of(Group group) {
  switch (group) {
    case Group::data:
    case Group::expert_data:
    case Group::shard:
    case Group::copies:
      return Traffic::data;
    case Group::context:
      return Traffic::context;
    case Group::expert:
      return Traffic::expert;
    case Group::tied:
      return Traffic::tied;
    default:
      return Traffic::tensor;
  }
}

std::string to_string(Phase phase) {
  switch (phase) {
    case Phase::forward:
      return "forward";
    case Phase::backward:
      return "backward";
    case Phase::input_gradient:
      return "input_gradient";
    case Phase::weight_gradient:
      return "weight_gradient";
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

std::uint32_t OperationTable::operator()(const workload::Operation& operation) {
  const auto [place, fresh] =
      numbers_.try_emplace(operation, static_cast<std::uint32_t>(operations_.size()));
  if (fresh) {
    operations_.push_back(operation);
  }
  return place->second;
}

Group Tables::group_of(const GroupShape& shape) {
  constexpr auto first = static_cast<std::size_t>(Group::first_cut);
  const auto found =
      std::find(groups.begin() + static_cast<std::ptrdiff_t>(first), groups.end(), shape);
  const auto number = static_cast<std::size_t>(found - groups.begin());
  if (found == groups.end()) {
    if (number > 0xFF) {
      throw ConfigError("sharding: more than 250 different groups");
    }
    groups.push_back(shape);
  }
  return static_cast<Group>(number);
}

Program build_program(const workload::Workload& workload, const Strategy& strategy,
                      std::uint32_t number, const Stage& stage, Bytes sram,
                      const GroupEstimates& estimates, Tables& tables) {
  PieceTable pieces(PieceWriter(workload, strategy, number, stage, sram, estimates, tables));
  const std::vector<Turn> turns =
      turns_of(strategy.passes(number, workload.training), strategy.pipeline_shape(true), number,
               strategy.overlap_passes);
  const std::vector<Closing> closings = closings_of(turns, strategy);
  Program program;
  for (std::size_t i = 0; i < turns.size(); ++i) {
    const Pass& pass = turns[i].pass;
    const std::optional<Pass>& other = turns[i].beside;
    const std::uint32_t piece =
        other ? pieces.pair(pass, *other, closings[i]) : pieces.piece(pass, closings[i]);
    program.schedule.push_back({pass, piece, other});
  }
  if (workload.training) {
    const Pass update{Phase::update, 0, 0};
    program.schedule.push_back({update, pieces.piece(update, Closing::nothing)});
  }
  program.pieces = pieces.take();
  return program;
}

}  // namespace tessera::plan
