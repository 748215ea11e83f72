#include "graph/accesses.hpp"

#include "tessera/core/error.hpp"
#include "tessera/memory/messages.hpp"

namespace tessera::executor {
namespace {

bool stores(const Task& task) {
  return task.action == workload::GraphAction::store;
}

}  // namespace

GraphAccesses::GraphAccesses(const GraphSetup& setup, const GraphPorts& ports)
    : setup_(setup), work_(setup.work), ports_(ports), nodes_(setup, ports.arrival) {
  if (work_.coherence && !work_.coherent_in_channels) {
    coherent_.emplace(setup, ports.arrival);
  }
}

void GraphAccesses::begin(pdes::Context& context, GraphNpu& npu, Place place) {
  const Task& task = npu.tasks[place];
  if (task.in_remote && work_.coherence) {
    ask_coherently(context, npu, place);
  } else if (task.in_remote && !work_.remote_of.empty()) {
    ask_node(context, npu, place);
  } else if (task.in_remote && !work_.remote_in_channels) {
    context.send_self(setup_.remote_time(Bytes(task.bytes), task.in_switch), ports_.over, place);
  } else {
    access_locally(context, task, Bytes(task.bytes), place);
  }
}

void GraphAccesses::access_locally(pdes::Context& context, const Task& task, Bytes bytes,
                                   Place place) {
  (stores(task) ? asked_.written : asked_.read) += bytes.count();
  memory::access(context, setup_.memory_slot, bytes, stores(task), ports_.accessed,
                 static_cast<std::uint16_t>(place));
}

void GraphAccesses::ask_node(pdes::Context& context, const GraphNpu& npu, Place place) {
  const Task& task = npu.tasks[place];
  const std::optional<SimTime> time = nodes_.begin(context, npu.number, Bytes(task.bytes),
                                                   stores(task), static_cast<std::uint16_t>(place));
  if (time) {
    context.send_self(*time, ports_.over, place);
  }
}

void GraphAccesses::ask_coherently(pdes::Context& context, GraphNpu& npu, Place place) {
  const Task& task = npu.tasks[place];
  const auto tag = static_cast<std::uint16_t>(place);
  std::uint32_t& parts = npu.begun.back().parts;
  if (coherent_) {
    parts = coherent_->begin(context, {npu.number, Bytes(task.bytes), stores(task), tag},
                             npu.asked_until);
  } else {
    parts = 1;
    memory::access(context, setup_.coherent_slot, Bytes(task.bytes), stores(task), ports_.accessed,
                   tag);
  }
  const Bytes hit = work_.coherence->local_part(Bytes(task.bytes));
  if (work_.hits_in_channels.at(npu.number) && hit > Bytes()) {
    access_locally(context, task, hit, place);
    ++parts;
  }
  if (parts == 0) {
    parts = 1;
    context.send_self(SimTime::zero(), ports_.over, place);
  }
}

void GraphAccesses::answer(pdes::Context& context, const network::Arrival& arrival,
                           std::uint16_t tag) {
  ensure(is_of_memory(arrival.word), "a node that computes nothing is asked for memory");
  if (coherent_) {
    coherent_->answer(context, arrival, tag);
  } else {
    nodes_.answer(context, arrival, tag);
  }
}

}  // namespace tessera::executor
