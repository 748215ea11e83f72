#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "coherent_access.hpp"
#include "collective_plans.hpp"
#include "graph_messages.hpp"
#include "graph_tasks.hpp"
#include "node_access.hpp"
#include "tessera/core/error.hpp"
#include "tessera/executor/graph.hpp"
#include "tessera/memory/messages.hpp"
#include "tessera/network/messages.hpp"

namespace tessera::executor {
namespace {

using workload::GraphAction;
using Place = GraphTasks::Place;

// Port kinds.
constexpr unsigned begin_kind = 0;
constexpr unsigned over_kind = 1;      // a task that takes a time of its own
constexpr unsigned accessed_kind = 2;  // of local memory
constexpr unsigned arrival_kind = 3;
constexpr unsigned step_kind = 4;  // of a collective

// A step that waits: what the event to itself carries.
struct StepEvent {
  std::uint32_t group = 0;
  std::uint32_t number = 0;
  std::uint32_t chunk = 0;
  std::uint16_t phase = 0;
  std::uint16_t lane = 0;
  std::uint32_t step = 0;
};

// A phase of a collective under way.
struct OpenPhase {
  std::uint32_t chunk = 0;
  std::uint32_t phase = 0;
  SimTime begin;
};

struct ActiveCollective {
  CollectiveId id;
  Place place = 0;
  const PlannedCollective* plan = nullptr;
  std::unique_ptr<collective::CollectiveRun> run;
  std::vector<OpenPhase> phases;
};

struct WaitingReceive {
  MessageId message;
  Place place = 0;
};

struct BegunTask {
  Place place = 0;
  std::uint32_t parts = 1;  // events that are to come before it is over
  SimTime time;
};

struct Npu {
  std::uint32_t number = unused;
  std::uint32_t iteration = 0;
  GraphTasks tasks;
  // Ready ones that wait for their lane: a heap, the first to begin at the front.
  std::array<std::vector<Place>, lanes> queues;
  std::array<std::uint32_t, lanes> under_way{};
  std::vector<ActiveCollective> collectives;
  std::vector<WaitingReceive> receives;      // in the order begun
  std::map<MessageId, std::uint32_t> early;  // arrived and not taken yet, how many
  std::vector<BegunTask> begun;              // under way
  SimTime since;                             // of the present activity
  std::array<std::int64_t, activities> time_ps{};

  static constexpr std::uint32_t unused = 0xFFFFFFFFU;
};

// Of tasks that wait for a lane: puts the first to begin at the front of a heap.
struct BeginsLater {
  const GraphTasks& tasks;
  bool newest_first = false;
  bool operator()(Place a, Place b) const {
    const Task& first = tasks[a];
    const Task& second = tasks[b];
    return first.priority != second.priority ? first.priority < second.priority
                                             : newest_first != (first.id > second.id);
  }
};

class GraphExecutor final : public Executor {
 public:
  explicit GraphExecutor(const GraphSetup& setup)
      : setup_(setup),
        work_(setup.work),
        plans_(setup),
        nodes_(setup_, port(arrival_kind)),
        npus_(setup.members.size()) {
    if (work_.coherence) {
      coherent_.emplace(setup_, port(arrival_kind));
    }
    std::map<EntityId, std::uint32_t> numbers;
    for (std::uint32_t npu = 0; npu < work_.npus(); ++npu) {
      numbers[work_.nodes[npu]] = npu;
    }
    for (std::size_t index = 0; index < npus_.size(); ++index) {
      const auto found = numbers.find(setup.members[index]);
      if (found != numbers.end()) {
        npus_[index].number = found->second;
        ++unfinished_;
      }
    }
  }

  void start(pdes::Context& context) override {
    if (npus_[context.index()].number != Npu::unused) {
      context.send_self(SimTime::zero(), port(begin_kind), std::uint32_t{0});
    }
  }

  void handle(pdes::Context& context, const pdes::Event& event) override {
    Npu& npu = npus_[context.index()];
    if (npu.number == Npu::unused) {
      answer(context, event.as<network::Arrival>(), event.tag);
      return;
    }
    switch (event.port.kind()) {
      case begin_kind:
        break;
      case over_kind:
        end_task(context, npu, event.as<Place>());
        break;
      case accessed_kind:
        end_part(context, npu, event.tag);
        break;
      case arrival_kind:
        if (!take_arrival(context, npu, event.as<network::Arrival>(), event.tag)) {
          return;
        }
        break;
      default: {
        const auto step = event.as<StepEvent>();
        advance(context, npu, {step.group, step.number}, [&](auto& run, auto& actions) {
          run.elapsed({step.chunk, step.phase, step.lane, step.step}, actions);
        });
        return;  // a collective that is over ends its task in an event of its own
      }
    }
    go_on(context, npu);
  }

  void visit_results(const std::function<void(const TileResult&)>& visit) const override {
    for (std::size_t index = 0; index < npus_.size(); ++index) {
      const Npu& npu = npus_[index];
      if (npu.number == Npu::unused) {
        continue;
      }
      TileResult result;
      result.tile = setup_.members[index];
      result.role = npu.number;
      result.finished = finished(npu);
      result.end = npu.since;
      for (std::size_t i = 0; i < npu.time_ps.size(); ++i) {
        result.time[i] = SimTime::from_ps(npu.time_ps[i]);
      }
      visit(result);
    }
  }

  std::uint64_t unfinished() const override { return unfinished_; }
  std::uint64_t instructions_done() const override { return tasks_done_; }

  std::vector<std::string> waiting(std::size_t most) const override {
    std::vector<std::string> lines;
    for (std::size_t index = 0; index < npus_.size() && lines.size() < most; ++index) {
      const Npu& npu = npus_[index];
      if (npu.number != Npu::unused && !finished(npu)) {
        lines.push_back(describe(npu));
      }
    }
    return lines;
  }

  std::size_t resident_bytes() const override {
    std::size_t bytes = npus_.capacity() * sizeof(Npu);
    for (const Npu& npu : npus_) {
      bytes += npu.tasks.resident_bytes();
    }
    return bytes;
  }

  void save(std::uint32_t index, pdes::StateWriter& writer) const override {
    const Npu& npu = npus_[index];
    if (npu.number == Npu::unused) {
      return;
    }
    writer.put(npu.iteration);
    npu.tasks.save(writer);
    for (const std::vector<Place>& queue : npu.queues) {
      writer.put_all(queue);
    }
    writer.put(npu.under_way);
    writer.put(static_cast<std::uint64_t>(npu.collectives.size()));
    for (const ActiveCollective& active : npu.collectives) {
      writer.put(active.id);
      writer.put(active.place);
      writer.put_all(active.run->save());
      writer.put_all(active.phases);
    }
    writer.put_all(npu.receives);
    writer.put(static_cast<std::uint64_t>(npu.early.size()));
    for (const auto& [message, count] : npu.early) {
      writer.put(message);
      writer.put(count);
    }
    writer.put_all(npu.begun);
    writer.put(npu.since);
    writer.put(npu.time_ps);
  }

  void restore(std::uint32_t index, pdes::StateReader& reader) override {
    Npu& npu = npus_[index];
    if (npu.number == Npu::unused) {
      return;
    }
    npu.iteration = reader.get<std::uint32_t>();
    npu.tasks.restore(reader);
    for (std::vector<Place>& queue : npu.queues) {
      queue = reader.get_all<Place>();
    }
    npu.under_way = reader.get<std::array<std::uint32_t, lanes>>();
    for (auto left = reader.get<std::uint64_t>(); left > 0; --left) {
      const auto id = reader.get<CollectiveId>();
      const auto place = reader.get<Place>();
      ActiveCollective& active = add_collective(npu, id, place);
      active.run->restore(reader.get_all<std::uint32_t>());
      active.phases = reader.get_all<OpenPhase>();
    }
    npu.receives = reader.get_all<WaitingReceive>();
    for (auto left = reader.get<std::uint64_t>(); left > 0; --left) {
      const auto message = reader.get<MessageId>();
      npu.early[message] = reader.get<std::uint32_t>();
    }
    npu.begun = reader.get_all<BegunTask>();
    npu.since = reader.get<SimTime>();
    npu.time_ps = reader.get<std::array<std::int64_t, activities>>();
    unfinished_ -= finished(npu) ? 1 : 0;
  }

  void save_totals(pdes::StateWriter& writer) const override { writer.put(tasks_done_); }
  void add_totals(pdes::StateReader& reader) override {
    tasks_done_ += reader.get<std::uint64_t>();
  }

 private:
  // What a run of a collective asks for, done at one NPU in the present event.
  class Actions final : public collective::RunActions {
   public:
    Actions(GraphExecutor& executor, pdes::Context& context, Npu& npu, ActiveCollective& active)
        : executor_(executor), context_(context), npu_(npu), active_(active) {}

    void send(std::uint32_t dimension, std::uint32_t coordinate, const collective::StepName& name,
              Bytes bytes) override {
      const std::uint32_t to = active_.plan->npu_at(npu_.number, dimension, coordinate);
      const MessageId id = executor_.message_of(active_.id, name);
      network::send(context_, executor_.setup_.network_slot, executor_.work_.nodes[to], bytes,
                    executor_.port(arrival_kind), id.tag, id.word);
    }
    bool take_early(const collective::StepName& name) override {
      return executor_.take_early(npu_, executor_.message_of(active_.id, name));
    }
    void phase_begins(std::uint32_t chunk, std::uint16_t phase) override {
      active_.phases.push_back({chunk, phase, context_.now()});
    }
    void phase_ends(std::uint32_t chunk, std::uint16_t phase) override {
      const auto open = std::find_if(
          active_.phases.begin(), active_.phases.end(),
          [&](const OpenPhase& one) { return one.chunk == chunk && one.phase == phase; });
      ensure(open != active_.phases.end(), "a phase that ends has begun");
      executor_.report(context_, npu_, active_, *open);
      active_.phases.erase(open);
    }
    void wait(SimTime time, const collective::StepName& name) override {
      context_.send_self(time, executor_.port(step_kind),
                         StepEvent{active_.id.group, active_.id.number, name.chunk, name.phase,
                                   name.lane, name.step});
    }

   private:
    GraphExecutor& executor_;
    pdes::Context& context_;
    Npu& npu_;
    ActiveCollective& active_;
  };

  pdes::Port port(unsigned kind) const { return pdes::Port(setup_.slot, kind); }
  MessageId message_of(CollectiveId id, const collective::StepName& name) const {
    id.group += work_.first_group;
    return id_of(id, name);
  }
  bool finished(const Npu& npu) const { return npu.iteration == setup_.iterations; }

  // Begins whatever can begin now.
  void go_on(pdes::Context& context, Npu& npu) {
    while (!finished(npu)) {
      const bool idle = std::all_of(npu.under_way.begin(), npu.under_way.end(),
                                    [](std::uint32_t count) { return count == 0; });
      ready_.clear();
      npu.tasks.read(work_, npu.number, idle && nothing_queued(npu), ready_);
      enqueue_ready(npu);
      if (begin_tasks(context, npu)) {
        continue;
      }
      if (npu.tasks.all_over()) {
        if (++npu.iteration == setup_.iterations) {
          --unfinished_;
          return;
        }
        npu.tasks.rewind();
        continue;
      }
      // A graph whose next node depends on later ones is read on until something can begin.
      if (!idle || npu.tasks.at_end()) {
        return;
      }
    }
  }

  static bool nothing_queued(const Npu& npu) {
    return std::all_of(npu.queues.begin(), npu.queues.end(),
                       [](const std::vector<Place>& queue) { return queue.empty(); });
  }

  // Tasks of `ready_` go to their lanes; those that do nothing are over at once.
  void enqueue_ready(Npu& npu) {
    while (!ready_.empty()) {
      const Place place = ready_.back();
      ready_.pop_back();
      const Task& task = npu.tasks[place];
      if (task.action == GraphAction::nothing) {
        npu.tasks.begin(place);
        npu.tasks.end(place, ready_);
        ++tasks_done_;
        continue;
      }
      const Lane lane = lane_of(task);
      std::vector<Place>& queue = npu.queues[static_cast<std::size_t>(lane)];
      queue.push_back(place);
      std::push_heap(queue.begin(), queue.end(), begins_later(npu, lane));
    }
  }

  BeginsLater begins_later(const Npu& npu, Lane lane) const {
    return {npu.tasks, lane == Lane::collective && work_.options.newest_collective_first};
  }

  // As many as lanes allow; whether there was any.
  bool begin_tasks(pdes::Context& context, Npu& npu) {
    bool any = false;
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      std::vector<Place>& queue = npu.queues[lane];
      const std::uint32_t slots = work_.options.slots[lane];
      while (!queue.empty() && (slots == 0 || npu.under_way[lane] < slots)) {
        std::pop_heap(queue.begin(), queue.end(), begins_later(npu, static_cast<Lane>(lane)));
        const Place place = queue.back();
        queue.pop_back();
        begin_task(context, npu, place);
        any = true;
      }
    }
    return any;
  }

  void begin_task(pdes::Context& context, Npu& npu, Place place) {
    const Task& task = npu.tasks[place];
    npu.tasks.begin(place);
    book(npu, context.now());
    ++npu.under_way[static_cast<std::size_t>(lane_of(task))];
    npu.begun.push_back({place, 1, context.now()});
    switch (task.action) {
      case GraphAction::compute:
        end_after(context, place,
                  task.on_host
                      ? compute_time(context.self(), task)
                      : setup_.machine.time_at(context.self(), compute_time(context.self(), task)));
        return;
      case GraphAction::load:
      case GraphAction::store:
        if (task.in_remote && coherent_) {
          ask_coherently(context, npu, place);
        } else if (task.in_remote && !work_.remote_of.empty()) {
          ask_node(context, npu, place);
        } else if (task.in_remote && !work_.remote_in_channels) {
          end_after(context, place, setup_.remote_time(Bytes(task.bytes), task.in_switch));
        } else {
          begin_access(context, npu, place);
        }
        return;
      case GraphAction::send:
        network::send(context, setup_.network_slot, work_.nodes[task.peer], Bytes(task.bytes),
                      port(arrival_kind), 0, task.tag);
        end_after(context, place, send_time(context.self(), task));
        return;
      case GraphAction::receive: {
        const MessageId message{task.tag, work_.nodes[task.peer].value(), 0};
        if (take_early(npu, message)) {
          end_after(context, place, SimTime::zero());
        } else {
          npu.receives.push_back({message, place});
        }
        return;
      }
      case GraphAction::collective: {
        const CollectiveId id{task.group, task.number};
        const ActiveCollective& active = add_collective(npu, id, place);
        if (setup_.lumps_rings) {
          announce_ring(context, npu, active);
        }
        advance(context, npu, id, [](auto& run, auto& actions) { run.begin(actions); });
        return;
      }
      case GraphAction::nothing:
        break;
    }
    throw InternalError("a task that cannot begin");
  }

  Lane lane_of(const Task& task) const {
    const bool holds = task.action == GraphAction::send && work_.options.sends == Sends::delivered;
    return holds ? Lane::collective : task.lane();
  }

  SimTime send_time(EntityId self, const Task& task) const {
    return work_.options.sends == Sends::eager
               ? SimTime::zero()
               : setup_.message_time(self, work_.nodes[task.peer], Bytes(task.bytes));
  }

  void end_after(pdes::Context& context, Place place, SimTime time) {
    context.send_self(time, port(over_kind), place);
  }

  SimTime compute_time(EntityId self, const Task& task) const {
    const bool has_work = task.flops > 0 || task.bytes > 0;
    const bool has_record = task.recorded_ps >= 0;
    if (has_record && (!has_work || work_.options.times == NodeTimes::recorded)) {
      return SimTime::from_ps(task.recorded_ps);
    }
    if (!has_work || task.on_host) {
      return SimTime::zero();
    }
    workload::Operation operation;
    operation.flops = Flops(task.flops);
    operation.bytes = Bytes(task.bytes);
    operation.data_type = work_.options.data_type;
    return setup_.compute_time(self, operation);
  }

  // Accesses to local memory are named by their place, of which the event's tag holds a part.
  void begin_access(pdes::Context& context, const Npu& npu, Place place) {
    const Task& task = npu.tasks[place];
    memory::access(context, setup_.memory_slot, Bytes(task.bytes),
                   task.action == GraphAction::store, port(accessed_kind),
                   static_cast<std::uint16_t>(place));
  }
  void ask_node(pdes::Context& context, const Npu& npu, Place place) {
    const Task& task = npu.tasks[place];
    const std::optional<SimTime> time =
        nodes_.begin(context, npu.number, Bytes(task.bytes), task.action == GraphAction::store,
                     static_cast<std::uint16_t>(place));
    if (time) {
      end_after(context, place, *time);
    }
  }
  void ask_coherently(pdes::Context& context, Npu& npu, Place place) {
    const Task& task = npu.tasks[place];
    const bool stores = task.action == GraphAction::store;
    const auto tag = static_cast<std::uint16_t>(place);
    std::uint32_t& parts = npu.begun.back().parts;
    parts = coherent_->begin(context, npu.number, Bytes(task.bytes), stores, tag);
    const Bytes hit = work_.coherence->local_part(Bytes(task.bytes));
    if (work_.hits_in_channels && hit > Bytes()) {
      memory::access(context, setup_.memory_slot, hit, stores, port(accessed_kind), tag);
      ++parts;
    }
    if (parts == 0) {
      parts = 1;
      end_after(context, place, SimTime::zero());
    }
  }
  // At a node that is memory.
  void answer(pdes::Context& context, const network::Arrival& arrival, std::uint16_t tag) {
    ensure(is_of_memory(arrival.word), "a node that computes nothing is asked for memory");
    if (coherent_) {
      coherent_->answer(context, arrival, tag);
    } else {
      nodes_.answer(context, arrival, tag);
    }
  }
  // Whether the access is over now.
  bool end_part(pdes::Context& context, Npu& npu, std::uint16_t tag) {
    const auto found = std::find_if(npu.begun.begin(), npu.begun.end(), [&](const auto& begun) {
      return lane_of(npu.tasks[begun.place]) == Lane::memory &&
             static_cast<std::uint16_t>(begun.place) == tag;
    });
    ensure(found != npu.begun.end(), "an access that nobody has begun");
    if (--found->parts > 0) {
      return false;
    }
    end_task(context, npu, found->place);
    return true;
  }

  void end_task(pdes::Context& context, Npu& npu, Place place) {
    const Task& task = npu.tasks[place];
    book(npu, context.now());
    --npu.under_way[static_cast<std::size_t>(lane_of(task))];
    const auto begun = std::find_if(npu.begun.begin(), npu.begun.end(),
                                    [place](const auto& entry) { return entry.place == place; });
    ensure(begun != npu.begun.end(), "a task that ends has begun");
    if (setup_.observer != nullptr && begun->time != context.now()) {
      setup_.observer->on_operator({context.self(), task.name, plan::Phase::forward,
                                    activity_of(lane_of(task)),
                                    npu.iteration * work_.source->iterations() + task.iteration,
                                    begun->time, context.now()});
    }
    npu.begun.erase(begun);
    ready_.clear();
    npu.tasks.end(place, ready_);
    ++tasks_done_;
    enqueue_ready(npu);
  }

  void report(const pdes::Context& context, const Npu& npu, const ActiveCollective& active,
              const OpenPhase& open) const {
    if (setup_.observer == nullptr) {
      return;
    }
    const auto number = static_cast<std::uint16_t>(open.phase);
    const collective::Phase& phase = active.plan->phase(open.chunk, number);
    CollectivePhaseRecord record;
    record.tile = context.self();
    record.name = npu.tasks[active.place].name;
    record.kind = phase.kind;
    if (active.plan->is_box()) {
      record.dimension = static_cast<std::uint8_t>(phase.dimension);
    }
    record.chunk = open.chunk;
    record.bytes = active.plan->phase_bytes(npu.number, open.chunk, number);
    record.start = open.begin;
    record.end = context.now();
    setup_.observer->on_collective_phase(record);
  }

  static Activity activity_of(Lane lane) {
    switch (lane) {
      case Lane::host:
        return Activity::host;
      case Lane::compute:
        return Activity::compute;
      case Lane::memory:
        return Activity::memory;
      case Lane::collective:
        return Activity::collective;
      case Lane::message:
        return Activity::message;
    }
    throw InternalError("a lane outside its list");
  }

  // What an NPU does counts as the first of these that is under way.
  static Activity activity_of(const Npu& npu) {
    for (const Lane lane :
         {Lane::compute, Lane::memory, Lane::host, Lane::collective, Lane::message}) {
      if (npu.under_way[static_cast<std::size_t>(lane)] > 0) {
        return activity_of(lane);
      }
    }
    return Activity::bubble;
  }

  static void book(Npu& npu, SimTime now) {
    npu.time_ps[static_cast<std::size_t>(activity_of(npu))] += (now - npu.since).ps();
    npu.since = now;
  }

  ActiveCollective& add_collective(Npu& npu, const CollectiveId& id, Place place) {
    const Task& task = npu.tasks[place];
    ActiveCollective& active = npu.collectives.emplace_back();
    active.id = id;
    active.place = place;
    active.plan = &plans_.of(task);
    const bool rooted = task.collective == workload::GraphCollective::reduce ||
                        task.collective == workload::GraphCollective::broadcast ||
                        task.collective == workload::GraphCollective::gather ||
                        task.collective == workload::GraphCollective::scatter;
    std::optional<std::uint32_t> root;
    if (rooted) {
      root = work_.groups[task.group].members[task.peer];
    }
    active.run = task.has_parts ? active.plan->unequal_run(npu.number, npu.tasks.parts(place))
                                : active.plan->run(npu.number, root);
    return active;
  }

  void announce_ring(pdes::Context& context, const Npu& npu, const ActiveCollective& active) {
    if (npu.tasks[active.place].has_parts) {
      return;
    }
    if (auto part = active.plan->ring_part(npu.number)) {
      part->word = message_of(active.id, {}).word;
      context.send_self(SimTime::zero(), pdes::Port(setup_.network_slot, network::ring_kind),
                        *part);
    }
  }

  // Hands a collective under way what has happened, if it is under way at all.
  template <class Act>
  bool advance(pdes::Context& context, Npu& npu, const CollectiveId& id, const Act& act) {
    constexpr std::uint32_t known = (1U << number_bits) - 1;
    const auto active =
        std::find_if(npu.collectives.begin(), npu.collectives.end(), [&](const auto& one) {
          return one.id.group == id.group && ((one.id.number ^ id.number) & known) == 0;
        });
    if (active == npu.collectives.end()) {
      return false;
    }
    Actions actions(*this, context, npu, *active);
    act(*active->run, actions);
    if (active->run->is_over()) {
      end_after(context, active->place, SimTime::zero());
      npu.collectives.erase(active);
    }
    return true;
  }

  static bool take_early(Npu& npu, const MessageId& message) {
    const auto found = npu.early.find(message);
    if (found == npu.early.end()) {
      return false;
    }
    if (--found->second == 0) {
      npu.early.erase(found);
    }
    return true;
  }

  // Whether a task is over now.
  bool take_arrival(pdes::Context& context, Npu& npu, const network::Arrival& arrival,
                    std::uint16_t tag) {
    if (is_of_memory(arrival.word)) {
      const bool is_of_others = coherent_ && coherent_->answer(context, arrival, tag);
      return !is_of_others && end_part(context, npu, tag);
    }
    if (is_of_collective(arrival.word)) {
      auto [id, name] = parts_of(arrival.word, tag);
      id.group -= work_.first_group;
      bool taken = false;
      advance(context, npu, id, [&, step = name](auto& run, auto& actions) {
        if (arrival.untold > 0) {
          run.passed_on(step, arrival.untold);
        }
        taken = run.arrived(step, actions);
      });
      if (!taken) {
        ++npu.early[{arrival.word, 0, tag}];
      }
      return false;
    }
    const MessageId message{arrival.word, arrival.source.value(), 0};
    const auto receive =
        std::find_if(npu.receives.begin(), npu.receives.end(),
                     [&](const WaitingReceive& one) { return one.message == message; });
    if (receive == npu.receives.end()) {
      ++npu.early[message];
      return false;
    }
    const Place place = receive->place;
    npu.receives.erase(receive);
    end_task(context, npu, place);
    return true;
  }

  std::string describe(const Npu& npu) const {
    std::string text = setup_.machine.topology->node_name(work_.nodes[npu.number]) + " (" +
                       work_.source->name_of(npu.number) + "): ";
    if (npu.begun.empty()) {
      return text + "nothing under way, waits since " + to_string(npu.since);
    }
    const auto& [place, parts, time] = npu.begun.front();
    const Task& task = npu.tasks[place];
    text += "node " + std::to_string(task.id) + " (" + work_.names[task.name] + "), ";
    if (task.action == GraphAction::receive) {
      text += "for a message from NPU " + std::to_string(task.peer) + " with tag " +
              std::to_string(task.tag);
    } else if (task.action == GraphAction::collective) {
      const auto active =
          std::find_if(npu.collectives.begin(), npu.collectives.end(),
                       [place = place](const auto& one) { return one.place == place; });
      text += "collective " + std::to_string(task.number) + " of " +
              (task.group == 0 ? "all NPUs" : work_.groups[task.group].name);
      if (active != npu.collectives.end()) {
        text += " in " + active->run->waits_in();
      }
    } else {
      text += to_string(lane_of(task));
    }
    return text + ", since " + to_string(time);
  }

  GraphSetup setup_;
  const GraphWork& work_;
  CollectivePlans plans_;
  NodeAccess nodes_;
  std::optional<CoherentAccess> coherent_;
  std::vector<Npu> npus_;  // by index of the entity
  std::uint64_t unfinished_ = 0;
  std::uint64_t tasks_done_ = 0;
  std::vector<Place> ready_;  // of the present event
};

}  // namespace

std::string to_string(Lane lane) {
  switch (lane) {
    case Lane::host:
      return "host";
    case Lane::compute:
      return "compute";
    case Lane::memory:
      return "memory";
    case Lane::collective:
      return "collective";
    case Lane::message:
      return "message";
  }
  throw InternalError("a lane outside its list");
}

std::unique_ptr<Executor> make_graph_executor(const GraphSetup& setup) {
  return std::make_unique<GraphExecutor>(setup);
}

}  // namespace tessera::executor
