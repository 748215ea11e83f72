#include "chip/job.hpp"

#include <map>
#include <vector>

#include "chip/keys.hpp"
#include "jobs/uncut.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/quotient.hpp"
#include "tessera/core/text.hpp"
#include "tessera/npu/core/cores.hpp"
#include "tessera/workload/keys.hpp"

namespace tessera::sim {
namespace {

using config::Section;

std::vector<const npu::TiledOperator*> operators_of(const executor::ChipWork& work) {
  std::vector<const npu::TiledOperator*> operators;
  for (const executor::ChipOperator& op : work.operators) {
    operators.push_back(op.tiles.get());
  }
  return operators;
}

// Of any number of cores.
ParameterInfo any_first_core() {
  ParameterInfo first = first_core_key(1);
  first.high.clear();
  return first;
}

// How the operators of a chip are cut.
std::string operator_table(const executor::ChipWork& work) {
  TextTable table(
      {"operator", "multiply-adds", "parts of the output", "steps of each", "operands"});
  for (const executor::ChipOperator& op : work.operators) {
    Bytes operands;
    for (const npu::Operand& operand : op.tiles->operands()) {
      operands += operand.bytes;
    }
    table.add({op.name, std::to_string(op.tiles->macs()), std::to_string(op.tiles->groups()),
               std::to_string(op.tiles->steps()), to_short_string(operands)});
  }
  return table.to_string();
}

void add_model(const ModelSurvey& survey, JobDescription& text) {
  const auto add = [&](const char* what, std::string number) {
    text.entities.emplace_back(what, std::move(number));
  };
  add("model", survey.path + ", optimised: " + survey.level);
  add("nodes of its file", std::to_string(survey.file_nodes));
  add("nodes", std::to_string(survey.nodes) + ", of these views: " + std::to_string(survey.views));
  add("parameters", std::to_string(survey.parameters));
  add("FLOPs of matrices", std::to_string(survey.matrix.count()));
  add("other FLOPs", std::to_string(survey.vector.count()));
  add("bytes of its tensors, as in the file", to_short_string(survey.traffic));
  if (!survey.unknown.empty()) {
    add("not understood, memory traffic alone", join(survey.unknown));
  }
}

compute::WorkTraits traits_of(const executor::ChipWork& work) {
  std::set<DataType> types;
  npu::VectorWork passes;
  for (const executor::ChipOperator& op : work.operators) {
    types.insert(op.tiles->target().data_type);
    passes = passes + op.tiles->vector_passes();
  }
  return {.names_vector_work = true,
          .product_types = std::move(types),
          .vector_passes = npu::names_of_passes(passes)};
}

class ChipReader final : public JobReader {
 public:
  ChipReader(const JobSetup& setup, ChipWorkReader reader) : setup_(setup), read_(reader) {}

  std::unique_ptr<Job> read() override {
    Section workload = setup_.section.section("workload");
    refuse_cutting(setup_.section, "its operators are shared by the cores of the machine");
    const std::string name = workload::read_title(workload);
    const Platform& platform = setup_.platform;
    if (!platform.compute || !platform.memory) {
      return nullptr;  // it has been complained about
    }
    ChipStart start =
        begin_chip(workload, platform.machine, setup_.tiles.nodes.listed(), *platform.compute,
                   setup_.machine, setup_.tiles.are_all ? nullptr : &setup_.section);
    if (start.is_complete && start.work->core.operands == npu::Operands::sram) {
      workload.tell(
          "cores assume that operands are in SRAM and access no memory (machine.compute.operands)");
    }
    std::optional<ModelSurvey> model;
    auto chip = read_(workload, std::move(start), model);
    if (!chip) {
      return nullptr;
    }
    traits_ = traits_of(*chip);
    const SimTime ideal = ideal_time(*chip, platform.machine, *platform.memory);
    auto job = std::make_unique<ChipJob>(std::move(chip), std::move(model));
    job->name = name;
    job->ideal_time = ideal;
    return job;
  }
  compute::WorkTraits traits() const override { return traits_; }

 private:
  compute::WorkTraits traits_{.names_vector_work = true};
  JobSetup setup_;
  ChipWorkReader read_;
};

// A list, each of a kind of operator that cores know.
SectionInfo describe_operators(const PartInfo& kind) {
  SectionInfo operators = section_of_parts(chip_keys().kind, npu::operators().infos());
  operators.shape = SectionInfo::Shape::list;
  operators.is_required = true;
  for (ParameterInfo own :
       {ParameterInfo(chip_keys().name), ParameterInfo(chip_keys().after), any_first_core()}) {
    own.name = own.name.substr(own.name.find('.') + 1);
    operators.parameters.push_back(std::move(own));
  }
  SectionInfo whole = choice_of(kind);
  whole.parameters = {chip_keys().data_type, chip_keys().message};
  whole.sections = {std::move(operators)};
  return whole;
}

const Registration operators_kind(
    work_kinds(),
    {"operators",
     "a list of operators that the NPU cores of a machine share",
     {chip_keys().data_type, chip_keys().message, chip_keys().operators, chip_keys().name,
      chip_keys().after, any_first_core()}},
    WorkKind{.read =
                 [](const JobSetup& setup) {
                   return std::make_unique<ChipReader>(
                       setup, [](Section& workload, ChipStart start, std::optional<ModelSurvey>&) {
                         return read_operators(workload, std::move(start));
                       });
                 },
             .describe = describe_operators,
             .lists = {{"operators", [] { return npu::operators().infos(); }}}});

}  // namespace

std::unique_ptr<JobReader> make_chip_reader(const JobSetup& setup, ChipWorkReader read) {
  return std::make_unique<ChipReader>(setup, read);
}

JobDescription ChipJob::describe(const Platform&) const {
  JobDescription text;
  text.entities = {{"cores", std::to_string(chip_->cores.size())}};
  if (model_) {
    add_model(*model_, text);
  }
  text.tables = "\n# operators\n" + operator_table(*chip_);
  text.ideal = "ideal iteration (arithmetic or memory)";
  return text;
}

std::string ChipJob::brief() const {
  return "chip: " + std::to_string(chip_->cores.size()) + " cores, " +
         std::to_string(chip_->operators.size()) + " operators";
}

std::shared_ptr<const workload::GraphSource> ChipJob::graphs(const Platform&) const {
  throw ConfigError(
      "operators of a chip are no Chakra graph, as its cores share each of them; a model that a "
      "strategy cuts is one");
}

void ChipJob::number(NextNumbers& next) {
  chip_->first_address = next.address;
  next.address += npu::bytes_of_operands(operators_of(*chip_));
}

// Cores that a channel serves hold their part of all.
Job::BytesByNode ChipJob::kept(const Platform& platform, const ServingMemory&) const {
  const machine::Machine& machine = platform.machine;
  BytesByNode kept;
  if (machine.channels.empty()) {
    return kept;
  }
  Bytes all = Bytes(npu::bytes_of_operands(operators_of(*chip_)));
  if (model_) {  // weights, which may be stored in fewer bits
    all = std::min(all, element_size(chip_->data_type) * model_->parameters);
  }
  std::map<EntityId, std::uint64_t> cores;
  for (const EntityId core : chip_->cores) {
    ++cores[machine.channels[machine.channel_of[core.value()]].node];
  }
  for (const auto& [node, count] : cores) {
    kept[node] += Bytes(quotient_up((all * count).count(), chip_->cores.size()));
  }
  return kept;
}

}  // namespace tessera::sim
