#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "graph/accesses.hpp"
#include "graph/collectives.hpp"
#include "graph/graph_outlook.hpp"
#include "graph/message_log.hpp"
#include "graph/messages.hpp"
#include "graph/node_times.hpp"
#include "graph/npu.hpp"
#include "graph/standing.hpp"
#include "graph/waiting.hpp"
#include "tessera/core/error.hpp"
#include "tessera/executor/graph/graph.hpp"
#include "tessera/network/messages.hpp"

namespace tessera::executor {
namespace {

using workload::GraphAction;
using Place = GraphTasks::Place;
using Npu = GraphNpu;

// Port kinds.
constexpr unsigned graph_begin_kind = 0;
constexpr unsigned graph_over_kind = 1;      // a task that takes a time of its own
constexpr unsigned graph_accessed_kind = 2;  // of local memory
constexpr unsigned graph_arrival_kind = 3;
constexpr unsigned graph_step_kind = 4;      // of a collective
constexpr unsigned graph_launched_kind = 5;  // a collective whose overhead is over
constexpr unsigned graph_noted_kind = 6;     // see GraphMessageLog
constexpr unsigned graph_executed_kind = 7;  // by a core

// Of accesses of cores, which place their own (npu/core/dma.hpp); places of tasks are below.
constexpr std::uint16_t first_tag_of_cores = 0x8000;

class GraphExecutor final : public Executor {
 public:
  explicit GraphExecutor(const GraphSetup& setup)
      : setup_(setup),
        work_(setup.work),
        log_(setup_, port(graph_noted_kind)),
        collectives_(setup_, ports(), log_),
        accesses_(setup_, ports()),
        npus_(setup.members.size()),
        standing_(setup_, npus_, collectives_) {
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
    if (setup_.outlook.regions != nullptr) {
      outlook_.emplace(setup_, npus_, log_.is_on(), standing_);
      collectives_.tell(&*outlook_);
    }
  }

  std::optional<pdes::Outlook> outlook(std::uint32_t rank, const pdes::Moment& moment) override {
    return outlook_ ? std::optional(outlook_->outlook(rank, moment)) : std::nullopt;
  }

  void take_in(pdes::Event& event) override {
    if (outlook_ && event.port.kind() == graph_arrival_kind) {
      const auto arrival = event.as<network::Arrival>();
      outlook_->expect(EntityId(event.target),
                       {arrival.source, event.tag, arrival.word, event.time});
    } else if (outlook_ && event.port.kind() == graph_step_kind) {
      collectives_.take_in(event);
    }
  }

  bool expect(const network::Progress& message) override {
    const bool is_of_core =
        message.deliver.component() == setup_.memory_slot && message.tag >= first_tag_of_cores;
    return outlook_ && !(setup_.is_core && is_of_core) &&
           outlook_->take_in(message, port(graph_arrival_kind), setup_.memory_slot);
  }

  void follow(const network::Progress& message) override {
    if (message.deliver.component() == setup_.memory_slot) {
      return;  // an access that a channel has booked: nodes that wait for one promise no more
    }
    outlook_->follow(message.target, {message.source, message.tag, message.word, message.earliest});
  }

  const char* name() const override { return "graphs of NPUs"; }
  pdes::StateArray state_array() const override { return {npus_.data(), sizeof(Npu)}; }

  void start(pdes::Context& context) override {
    if (npus_[context.index()].number != Npu::unused) {
      context.send_self(SimTime::zero(), port(graph_begin_kind), std::uint32_t{0});
    }
  }

  void handle(pdes::Context& context, const pdes::Event& event) override {
    Npu& npu = npus_[context.index()];
    if (npu.number == Npu::unused) {
      accesses_.answer(context, event.as<network::Arrival>(), event.tag);
      return;
    }
    if (outlook_) {
      outlook_->touch(context.index());
    }
    switch (event.port.kind()) {
      case graph_begin_kind:
        if (outlook_) {
          outlook_->begin(context.index());
        }
        break;
      case graph_over_kind:
        end_task(context, npu, event.as<Place>());
        break;
      case graph_accessed_kind:
        if (outlook_) {
          outlook_->end_access(context.index(), event.tag);
        }
        end_part(context, npu, event.tag);
        break;
      case graph_executed_kind:
        end_task(context, npu, npu.begun_task(work_, Lane::compute, event.tag).place);
        break;
      case graph_arrival_kind:
        if (!take_arrival(context, npu, event.as<network::Arrival>(), event.tag)) {
          return;
        }
        break;
      case graph_launched_kind:
        collectives_.begin(context, npu, event.as<Place>());
        return;
      case graph_noted_kind:
        log_.hear(context, npu.unreported, event);
        ++notes_heard_;
        context.pass();
        return;
      default:
        collectives_.elapsed(context, npu, event);
        return;  // a collective that is over ends its task in an event of its own
    }
    go_on(context, npu);
  }

  void visit_results(const std::function<void(const TileResult&)>& visit) const override {
    for (std::size_t index = 0; index < npus_.size(); ++index) {
      const Npu& npu = npus_[index];
      if (npu.number == Npu::unused) {
        continue;
      }
      visit(npu.result(setup_.members[index], finished(npu)));
    }
  }

  std::uint64_t unfinished() const override { return unfinished_; }
  std::uint64_t instructions_done() const override { return tasks_done_; }
  std::uint64_t events_for_observers() const override { return notes_heard_; }

  std::vector<std::string> waiting(std::size_t most) const override {
    std::vector<std::string> lines;
    for (std::size_t index = 0; index < npus_.size() && lines.size() < most; ++index) {
      const Npu& npu = npus_[index];
      if (npu.number != Npu::unused && !finished(npu)) {
        lines.push_back(waiting_of(setup_, npu));
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
    if (npus_[index].number != Npu::unused) {
      save_npu(npus_[index], writer);
    }
  }

  void restore(std::uint32_t index, pdes::StateReader& reader) override {
    Npu& npu = npus_[index];
    if (npu.number != Npu::unused) {
      restore_npu(npu, collectives_, reader);
      unfinished_ -= finished(npu) ? 1 : 0;
      // One that has not begun does so by its event.
      if (outlook_ && (finished(npu) || npu.tasks.read_so_far() > 0)) {
        outlook_->learn(index, npu);
        outlook_->begin(index);
      }
    }
  }

  void save_totals(pdes::StateWriter& writer) const override {
    writer.put(tasks_done_);
    writer.put(sent_);
    writer.put(taken_);
    writer.put(accesses_.asked());
    writer.put(sent_bytes_);
    writer.put(taken_bytes_);
    writer.put(notes_heard_);
    collectives_.save(writer);
  }
  void add_totals(pdes::StateReader& reader) override {
    tasks_done_ += reader.get<std::uint64_t>();
    sent_ += reader.get<std::uint64_t>();
    taken_ += reader.get<std::uint64_t>();
    accesses_.add_asked(reader.get<AskedOfMemory>());
    sent_bytes_ += reader.get<std::uint64_t>();
    taken_bytes_ += reader.get<std::uint64_t>();
    notes_heard_ += reader.get<std::uint64_t>();
    collectives_.add(reader);
  }
  // Cores access memory by themselves.
  std::optional<AskedOfMemory> asked_of_memory() const override {
    return setup_.is_core ? std::nullopt : std::optional(accesses_.asked());
  }
  std::optional<SentBytes> sent_bytes() const override {
    return SentBytes{sent_bytes_, collectives_.sent_bytes()};
  }
  std::vector<Balance> balances() const override {
    std::vector<Balance> all = collectives_.balances();
    all.push_back({"messages sent and received", sent_, taken_});
    if (work_.survey.open_receives == 0) {
      all.push_back({"bytes of messages sent and received", sent_bytes_, taken_bytes_});
    }
    return all;
  }

 private:
  pdes::Port port(unsigned kind) const { return pdes::Port(setup_.slot, kind); }
  GraphPorts ports() const {
    return {port(graph_over_kind), port(graph_accessed_kind), port(graph_arrival_kind),
            port(graph_step_kind)};
  }
  bool finished(const Npu& npu) const { return npu.iteration == setup_.iterations; }

  // --- outlook ---

  // Whether the receiver of a send, here, is watched.
  bool expects(const pdes::Context& context, const Task& send) {
    return outlook_ && outlook_->send(context.self(), work_.nodes[send.peer], Bytes(send.bytes),
                                      {context.self(), 0, send.tag, context.now()});
  }

  // Begins whatever can begin now.
  void go_on(pdes::Context& context, Npu& npu) {
    while (!finished(npu)) {
      const bool idle = std::all_of(npu.under_way.begin(), npu.under_way.end(),
                                    [](std::uint32_t count) { return count == 0; });
      ready_.clear();
      if (npu.tasks.read(work_, npu.number, idle && nothing_queued(npu), ready_) && outlook_) {
        outlook_->learn(context.index(), npu);
      }
      enqueue_ready(npu);
      if (npu.tasks.is_behind()) {  // tasks that do nothing were over at once
        continue;
      }
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
      const Lane lane = lane_of(work_, task);
      std::vector<Place>& queue = npu.queues[static_cast<std::size_t>(lane)];
      queue.push_back(place);
      std::push_heap(queue.begin(), queue.end(), begins_later(npu, lane));
    }
  }

  BeginsLater begins_later(const Npu& npu, Lane lane) const {
    return {npu.tasks, lane == Lane::collective && work_.options.newest_collective_first};
  }

  // As many as lanes allow, of all lanes the first to begin first, as what begins at one instant
  // may meet on links and in memories. Whether there was any.
  bool begin_tasks(pdes::Context& context, Npu& npu) {
    bool any = false;
    for (std::size_t lane = next_lane(npu); lane < lanes; lane = next_lane(npu)) {
      std::vector<Place>& queue = npu.queues[lane];
      std::pop_heap(queue.begin(), queue.end(), begins_later(npu, static_cast<Lane>(lane)));
      const Place place = queue.back();
      queue.pop_back();
      begin_task(context, npu, place);
      any = true;
    }
    return any;
  }

  // With room for a task, whose task comes first; `lanes` when there is none.
  std::size_t next_lane(const Npu& npu) const {
    std::size_t best = lanes;
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const std::uint32_t slots = work_.options.slots[lane];
      const std::vector<Place>& queue = npu.queues[lane];
      if (!queue.empty() && (slots == 0 || npu.under_way[lane] < slots) &&
          (best == lanes || BeginsLater{npu.tasks}(npu.queues[best].front(), queue.front()))) {
        best = lane;
      }
    }
    return best;
  }

  void begin_task(pdes::Context& context, Npu& npu, Place place) {
    const Task& task = npu.tasks[place];
    npu.tasks.begin(place);
    npu.book(context.now());
    ++npu.under_way[static_cast<std::size_t>(lane_of(work_, task))];
    npu.begun.push_back({place, 1, context.now()});
    switch (task.action) {
      case GraphAction::compute:
        begin_computing(context, npu, place);
        return;
      case GraphAction::load:
      case GraphAction::store:
        accesses_.begin(context, npu, place);
        return;
      case GraphAction::send:
        ++sent_;
        sent_bytes_ += task.bytes;
        network::send(context, setup_.network_slot, work_.nodes[task.peer], Bytes(task.bytes),
                      port(graph_arrival_kind), 0, task.tag,
                      expects(context, task) ? network::followed_flag : std::uint8_t{0});
        log_.send(context, work_.nodes[task.peer], {task.tag, 0, 0}, Bytes(task.bytes));
        end_after(context, place, send_time(setup_, context.self(), task));
        return;
      case GraphAction::receive: {
        const MessageId message{task.tag, work_.nodes[task.peer].value(), 0};
        if (npu.take_early(message)) {
          take_message(task);
          log_.take(context, npu.unreported, message);
          end_after(context, place, SimTime::zero());
        } else {
          npu.receives.push_back({message, place});
        }
        return;
      }
      case GraphAction::collective:
        if (const SimTime before = before_collective(task); before > SimTime::zero()) {
          context.send_self(before, port(graph_launched_kind), place);
        } else {
          collectives_.begin(context, npu, place);
        }
        return;
      case GraphAction::nothing:
        break;
    }
    throw InternalError("a task that cannot begin");
  }

  SimTime before_collective(const Task& task) {
    const std::size_t members = work_.groups[task.group].members.size();
    const std::uint64_t parts = workload::counts_parts(task.collective) ? members : 1;
    return setup_.collective.before(task.collective, members, Bytes(task.bytes * parts)) +
           (setup_.library ? collectives_.plan_of(task).held() : SimTime::zero());
  }

  void take_message(const Task& receive) {
    ++taken_;
    taken_bytes_ += receive.bytes;
  }

  void end_after(pdes::Context& context, Place place, SimTime time) {
    context.send_self(time, port(graph_over_kind), place);
  }

  void begin_computing(pdes::Context& context, Npu& npu, Place place) {
    const Task& task = npu.tasks[place];
    const auto on_core = number_on_core(setup_, context.self(), task, npu.tasks.shape_of(task));
    if (on_core) {
      compute::execute(context, setup_.compute_slot, *on_core, port(graph_executed_kind),
                       static_cast<std::uint16_t>(place));
    } else {
      end_after(context, place, issued_time(setup_, context, npu, task));
    }
  }

  // Whether the access is over now.
  bool end_part(pdes::Context& context, Npu& npu, std::uint16_t tag) {
    BegunTask& begun = npu.begun_task(work_, Lane::memory, tag);
    if (--begun.parts == 0) {
      end_task(context, npu, begun.place);
      return true;
    }
    return false;
  }

  void end_task(pdes::Context& context, Npu& npu, Place place) {
    const Task& task = npu.tasks[place];
    npu.book(context.now());
    --npu.under_way[static_cast<std::size_t>(lane_of(work_, task))];
    const auto begun = std::find_if(npu.begun.begin(), npu.begun.end(),
                                    [place](const auto& entry) { return entry.place == place; });
    ensure(begun != npu.begun.end(), "a task that ends has begun");
    if (setup_.observer != nullptr && begun->time != context.now()) {
      setup_.observer->on_operator({context.self(), task.name, plan::Phase::forward,
                                    activity_of(lane_of(work_, task)),
                                    npu.iteration * work_.source->iterations() + task.iteration,
                                    begun->time, context.now()});
    }
    npu.begun.erase(begun);
    ready_.clear();
    npu.tasks.end(place, ready_);
    ++tasks_done_;
    enqueue_ready(npu);
  }

  // Whether a task is over now.
  bool take_arrival(pdes::Context& context, Npu& npu, const network::Arrival& arrival,
                    std::uint16_t tag) {
    if (outlook_) {
      outlook_->arrive(context.index(), arrival.source, tag, arrival.word);
    }
    if (is_of_memory(arrival.word)) {
      return !accesses_.answer_others(context, arrival, tag) && end_part(context, npu, tag);
    }
    if (is_of_collective(arrival.word)) {
      collectives_.arrived(context, npu, arrival, tag);
      return false;
    }
    const MessageId message{arrival.word, arrival.source.value(), 0};
    log_.arrive(context, npu.unreported, message);
    const auto receive =
        std::find_if(npu.receives.begin(), npu.receives.end(),
                     [&](const WaitingReceive& one) { return one.message == message; });
    if (receive == npu.receives.end()) {
      ++npu.early[message];
      return false;
    }
    const Place place = receive->place;
    npu.receives.erase(receive);
    take_message(npu.tasks[place]);
    log_.take(context, npu.unreported, message);
    end_task(context, npu, place);
    return true;
  }

  GraphSetup setup_;
  const GraphWork& work_;
  GraphMessageLog log_;
  GraphCollectives collectives_;
  GraphAccesses accesses_;
  std::vector<Npu> npus_;  // by index of the entity
  std::uint64_t unfinished_ = 0;
  std::uint64_t tasks_done_ = 0;
  std::uint64_t notes_heard_ = 0;
  std::uint64_t sent_ = 0;  // messages of sends, and those that receives took
  std::uint64_t taken_ = 0;
  std::uint64_t sent_bytes_ = 0;  // as senders say, and as receivers do
  std::uint64_t taken_bytes_ = 0;
  std::vector<Place> ready_;  // of the present event
  GraphStanding standing_;
  std::optional<GraphOutlook> outlook_;  // of a run on several ranks
};

}  // namespace

std::unique_ptr<Executor> make_graph_executor(const GraphSetup& setup) {
  return std::make_unique<GraphExecutor>(setup);
}

}  // namespace tessera::executor
