// Message programs on the network and the memory of a machine file, for the pages under results/.
//
//     message_programs MACHINE.yaml [KEY=VALUE ...] [ranks=N] -- reduce ALGORITHM ROWS COLUMNS
//     WORDS message_programs MACHINE.yaml [KEY=VALUE ...] [ranks=N] -- stack ROWS COLUMNS BYTES
//     TASK ...
//
// reduce: every node of a ROWS x COLUMNS mesh holds WORDS words of 4 B, which are summed in node 0,
// word by word: a node adds a word a cycle (of one link latency) and passes it on when those of all
// its children have come. ALGORITHM says who sends to whom along a row: `star`, `chain`, `tree`
// (binomial), `two-phase` (chains of about sqrt(COLUMNS), and a chain of their heads). With several
// rows, the first column does the same once its rows are done (Luczynski et al., "Near-optimal
// wafer-scale reduce", HPDC'24, arXiv:2404.15888).
//
// stack: the nodes of the corner of ROWS (even) x COLUMNS do all TASKs at once: `all-reduce` over
// BYTES on a ring, `all-to-all` of BYTES a node, `read` and `write` of BYTES of DRAM by each node.
//
// Prints the simulated time [ps], messages, and link traversals.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tessera/collective/algorithm.hpp"
#include "tessera/comm/communicator.hpp"
#include "tessera/core/error.hpp"
#include "tessera/machine/machine.hpp"
#include "tessera/machine/partition/partition.hpp"
#include "tessera/memory/memory.hpp"
#include "tessera/memory/messages.hpp"
#include "tessera/network/messages.hpp"
#include "tessera/network/network.hpp"
#include "tessera/pdes/engine.hpp"

namespace tessera {
namespace {

using Step = std::uint32_t;

enum class Kind : std::uint8_t { message, read, write };

// Messages and accesses, each of which starts when all that it waits for have ended.
class MessageProgram {
 public:
  struct Action {
    std::uint32_t at = 0;
    std::uint32_t to = 0;
    std::uint64_t bytes = 0;
    std::uint32_t waits = 0;
    Kind kind = Kind::message;
    std::vector<Step> then;
  };

  Step add(Kind kind, std::uint32_t at, std::uint32_t to, std::uint64_t bytes) {
    actions.push_back({at, to, bytes, 0, kind, {}});
    return static_cast<Step>(actions.size() - 1);
  }
  void order(Step before, Step after) {
    actions[before].then.push_back(after);
    ++actions[after].waits;
  }

  std::vector<Action> actions;
  std::int64_t work_ps = 0;  // of a node for each message from another; one at a time
};

class Driver final : public pdes::Component {
 public:
  enum Slot : unsigned { own, network, memory };
  // `waits` is shared by all ranks; each touches those of its own nodes.
  Driver(const MessageProgram& program, const std::vector<std::vector<Step>>& starts,
         std::vector<std::uint32_t>& waits, std::vector<std::int64_t>& busy_until)
      : program_(program), starts_(starts), waits_(waits), busy_until_(busy_until) {}

  void start(pdes::Context& context) override {
    for (const Step step : starts_[context.self().value()]) {
      begin(context, step);
    }
  }

  void handle(pdes::Context& context, const pdes::Event& event) override {
    switch (event.port.kind()) {
      case arrived:
        arrive(context, static_cast<Step>(event.as<network::Arrival>().word));
        break;
      case accessed:
        end(context, event.tag);
        break;
      default:
        end(context, event.as<Step>());
    }
  }

 private:
  enum Port : unsigned { arrived, accessed, worked };

  void begin(pdes::Context& context, Step step) {
    const MessageProgram::Action& action = program_.actions[step];
    if (action.kind == Kind::message) {
      network::send(context, Slot::network, EntityId(action.to), Bytes(action.bytes),
                    pdes::Port(own, arrived), 0, step);
      return;
    }
    ensure(step <= 0xFFFFU, "an access whose number is no tag");
    memory::access(context, Slot::memory, Bytes(action.bytes), action.kind == Kind::write,
                   pdes::Port(own, accessed), static_cast<std::uint16_t>(step));
  }

  void arrive(pdes::Context& context, Step step) {
    const MessageProgram::Action& action = program_.actions[step];
    std::int64_t& busy = busy_until_[context.self().value()];
    const std::int64_t work = action.at == action.to ? 0 : program_.work_ps;
    busy = std::max(busy, context.now().ps()) + work;
    context.send_self(SimTime::from_ps(busy - context.now().ps()), pdes::Port(own, worked), step);
  }

  void end(pdes::Context& context, Step step) {
    for (const Step next : program_.actions[step].then) {
      if (--waits_[next] == 0) {
        begin(context, next);
      }
    }
  }

  const MessageProgram& program_;
  const std::vector<std::vector<Step>>& starts_;  // [nodes] what waits for nothing
  std::vector<std::uint32_t>& waits_;
  std::vector<std::int64_t>& busy_until_;
};

struct MachineModels {
  machine::Machine machine;
  std::unique_ptr<network::NetworkModel> network;
  std::unique_ptr<memory::MemoryModel> memory;
};

MachineModels read_models(const std::string& path, const std::vector<std::string>& settings) {
  config::Diagnostics diagnostics;
  config::Value root = config::parse(path, config::load_text_file(path), diagnostics);
  for (const std::string& setting : settings) {
    config::apply_override(root, setting, diagnostics);
  }
  config::Section section(root, "", diagnostics);
  std::optional<machine::Machine> machine = machine::read_machine(section);
  diagnostics.throw_if_any();
  MachineModels models{*std::move(machine), nullptr, nullptr};
  models.network = network::read_network(section.section("network"), models.machine);
  models.memory = memory::read_memory(section.section("memory"));
  diagnostics.throw_if_any();
  return models;
}

void run(const MachineModels& models, const MessageProgram& program, int ranks) {
  const machine::Topology& topology = *models.machine.topology;
  const machine::Partition partition = machine::partitioners().at("stripes")(topology, ranks, {});
  std::vector<std::uint32_t> waits;
  std::vector<std::vector<Step>> starts(topology.nodes());
  for (Step step = 0; step < program.actions.size(); ++step) {
    const MessageProgram::Action& action = program.actions[step];
    waits.push_back(action.waits);
    if (action.waits == 0) {
      starts[action.at].push_back(step);
    }
  }
  std::vector<std::int64_t> busy_until(topology.nodes(), 0);
  std::atomic<std::int64_t> end_ps = 0;
  std::atomic<std::uint64_t> messages = 0;
  std::atomic<std::uint64_t> hops = 0;
  comm::run_ranks_as_threads(ranks, [&](comm::Communicator& communicator) {
    const std::vector<EntityId> members =
        partition.members[static_cast<std::size_t>(communicator.rank())].listed();
    pdes::Engine engine(communicator,
                        {partition.owner.listed(), members,
                         machine::region_delays(topology, partition, communicator.rank())},
                        topology.smallest_latency());
    Driver driver(program, starts, waits, busy_until);
    const auto network = models.network->build({models.machine, members, Driver::network});
    const auto memory = models.memory->build(
        {models.machine, members, Driver::memory, Driver::network, nullptr, {}});
    engine.attach(driver);
    engine.attach(*network);
    engine.attach(*memory);
    engine.run();
    std::vector<std::uint64_t> last{static_cast<std::uint64_t>(engine.last_event_time().ps())};
    communicator.reduce_max(last);
    end_ps = static_cast<std::int64_t>(last[0]);
    messages += network->messages();
    hops += network->packet_hops();
  });
  if (std::any_of(waits.begin(), waits.end(), [](std::uint32_t left) { return left > 0; })) {
    throw InternalError("a message that nothing led to");
  }
  std::cout << end_ps << '\t' << messages << '\t' << hops << '\n';
}

// Whom place `i` of `count` in a line sends to, for i > 0.
std::uint32_t parent_of(const std::string& algorithm, std::uint32_t i, std::uint32_t count) {
  if (algorithm == "star") {
    return 0;
  }
  if (algorithm == "tree") {
    return i & (i - 1);
  }
  std::uint32_t group = count;  // a chain
  if (algorithm == "two-phase") {
    group = 1;
    while (group * group < count) {
      ++group;
    }
  }
  return i % group != 0 ? i - 1 : i - group;
}

// Sums along the nodes of `line` in the first one; `ready` (if any) of each node comes before.
// Returns the last steps: messages to the first node.
std::vector<Step> reduce_line(MessageProgram& program, const std::string& algorithm,
                              const std::vector<std::uint32_t>& line, std::uint32_t words,
                              const std::vector<Step>& ready) {
  const auto count = static_cast<std::uint32_t>(line.size());
  std::vector<Step> last;
  std::vector<Step> first(count);
  for (std::uint32_t i = 1; i < count; ++i) {
    const std::uint32_t parent = parent_of(algorithm, i, count);
    first[i] = static_cast<Step>(program.actions.size());
    for (std::uint32_t word = 0; word < words; ++word) {
      const Step step = program.add(Kind::message, line[i], line[parent], 4);
      if (!ready.empty()) {
        program.order(ready[i], step);
      }
      if (parent == 0) {
        last.push_back(step);
      }
    }
  }
  for (std::uint32_t i = 1; i < count; ++i) {
    const std::uint32_t parent = parent_of(algorithm, i, count);
    for (std::uint32_t word = 0; parent > 0 && word < words; ++word) {
      program.order(first[i] + word, first[parent] + word);
    }
  }
  return last;
}

MessageProgram reduce(const std::string& algorithm, std::uint32_t rows, std::uint32_t columns,
                      std::uint32_t words) {
  MessageProgram program;
  std::vector<std::uint32_t> column;
  std::vector<Step> ready;
  for (std::uint32_t row = 0; row < rows; ++row) {
    std::vector<std::uint32_t> line(columns);
    for (std::uint32_t i = 0; i < columns; ++i) {
      line[i] = row * columns + i;
    }
    const std::vector<Step> last = reduce_line(program, algorithm, line, words, {});
    column.push_back(line.front());
    ready.push_back(program.add(Kind::message, line.front(), line.front(), 0));
    for (const Step step : last) {
      program.order(step, ready.back());
    }
  }
  reduce_line(program, algorithm, column, words, ready);
  return program;
}

// A cycle through all nodes of the corner: along rows from the second column on, and back through
// the first.
std::vector<std::uint32_t> cycle(std::uint32_t rows, std::uint32_t columns, std::uint32_t width) {
  std::vector<std::uint32_t> nodes{0};
  for (std::uint32_t row = 0; row < rows; ++row) {
    for (std::uint32_t i = 1; i < columns; ++i) {
      nodes.push_back(row * width + (row % 2 == 0 ? i : columns - i));
    }
  }
  for (std::uint32_t row = rows; row > 1; --row) {
    nodes.push_back((row - 1) * width);
  }
  return nodes;
}

// Step by step; a member's step waits for its own and its receipt of the step before.
void add_collective(MessageProgram& program, collective::Kind kind,
                    const std::vector<std::uint32_t>& nodes, std::uint64_t bytes) {
  const auto algorithm = collective::algorithms().at("ring")({});
  const auto size = static_cast<std::uint32_t>(nodes.size());
  std::vector<Step> before;
  for (std::uint32_t step = 0; step < algorithm->steps(kind, size); ++step) {
    std::vector<Step> now;
    std::vector<std::uint32_t> from(size);
    for (std::uint32_t member = 0; member < size; ++member) {
      const collective::Step part = algorithm->step(kind, size, member, Bytes(bytes), step);
      now.push_back(
          program.add(Kind::message, nodes[member], nodes[part.send_to], part.send_bytes.count()));
      if (step > 0) {
        const std::uint32_t previous =
            algorithm->step(kind, size, member, Bytes(bytes), step - 1).receive_from;
        program.order(before[previous], now.back());
      }
    }
    before = now;
  }
}

MessageProgram stack(std::uint32_t rows, std::uint32_t columns, std::uint32_t width,
                     std::uint64_t bytes, const std::vector<std::string>& tasks) {
  MessageProgram program;
  const std::vector<std::uint32_t> nodes = cycle(rows, columns, width);
  // Accesses first: their numbers are tags.
  for (const std::string& task : tasks) {
    for (const std::uint32_t node : nodes) {
      if (task == "read" || task == "write") {
        program.add(task == "read" ? Kind::read : Kind::write, node, node, bytes);
      }
    }
  }
  for (const std::string& task : tasks) {
    if (task == "all-reduce" || task == "all-to-all") {
      add_collective(
          program,
          task == "all-reduce" ? collective::Kind::all_reduce : collective::Kind::all_to_all, nodes,
          bytes);
    } else if (task != "read" && task != "write") {
      throw std::invalid_argument("no task '" + task + "'");
    }
  }
  return program;
}

std::uint32_t number(const std::string& text) {
  return static_cast<std::uint32_t>(std::stoul(text));
}

int run_words(const std::vector<std::string>& words) {
  const auto split = std::find(words.begin(), words.end(), "--");
  if (words.empty() || words.end() - split < 5) {
    std::cerr << "usage: see the head of message_programs.cpp\n";
    return 2;
  }
  std::vector<std::string> settings(words.begin() + 1, split);
  const std::vector<std::string> task(split + 1, words.end());
  int ranks = 1;
  settings.erase(std::remove_if(settings.begin(), settings.end(),
                                [&](const std::string& setting) {
                                  const bool about_ranks = setting.rfind("ranks=", 0) == 0;
                                  ranks = about_ranks ? std::stoi(setting.substr(6)) : ranks;
                                  return about_ranks;
                                }),
                 settings.end());
  if (task[0] == "reduce") {
    settings.push_back("topology.rows=" + task[2]);
    settings.push_back("topology.columns=" + task[3]);
    const MachineModels models = read_models(words[0], settings);
    MessageProgram program = reduce(task[1], number(task[2]), number(task[3]), number(task[4]));
    program.work_ps = models.machine.topology->smallest_latency().ps();
    run(models, program, ranks);
    return 0;
  }
  const MachineModels models = read_models(words[0], settings);
  const std::uint32_t width = models.machine.topology->grid().value().columns;
  run(models,
      stack(number(task[1]), number(task[2]), width, std::stoull(task[3]),
            {task.begin() + 4, task.end()}),
      ranks);
  return 0;
}

}  // namespace
}  // namespace tessera

int main(int count, char** words) {
  try {
    return tessera::run_words({words + 1, words + count});
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
}
