#include <algorithm>
#include <utility>

#include "tessera/collective/program/program.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/wide.hpp"

namespace tessera::collective {

ProgramRun::ProgramRun(const Program& program, Bytes bytes, Member member, Member root,
                       const StepCosts& costs)
    : program_(program),
      operations_(program.operations[(member + program.members - root) % program.members]),
      bytes_(bytes),
      root_(root),
      costs_(costs),
      states_(operations_.size()),
      left_(static_cast<std::uint32_t>(operations_.size())) {
  for (const ProgramOperation& operation : operations_) {
    waits_for_.push_back(operation.waits_for);
  }
}

Bytes ProgramRun::bytes_of(const ProgramOperation& operation) const {
  Bytes bytes;
  for (const std::uint32_t part : operation.parts) {
    bytes += chunk_bytes(bytes_, program_.chunks, part);
  }
  if (operation.share > 0) {
    const Wide scaled = static_cast<Wide>(bytes_.count()) * operation.share;
    bytes += Bytes(static_cast<std::uint64_t>((scaled + program_.whole - 1) / program_.whole));
  }
  return bytes;
}

void ProgramRun::begin(RunActions& actions) {
  for (std::uint32_t number = 0; number < operations_.size(); ++number) {
    if (waits_for_[number] == 0) {
      ready_.push_back(number);
    }
  }
  if (left_ > 0 && costs_.endpoint > SimTime::zero()) {
    actions.wait(costs_.endpoint, {0, 0, 0, before_all});
    return;
  }
  begin_ready(actions);
}

// Operations of lower numbers first.
void ProgramRun::begin_ready(RunActions& actions) {
  while (!ready_.empty()) {
    const auto first = std::min_element(ready_.begin(), ready_.end());
    const std::uint32_t number = *first;
    ready_.erase(first);
    begin_operation(number, actions);
  }
}

void ProgramRun::begin_operation(std::uint32_t number, RunActions& actions) {
  const ProgramOperation& operation = operations_[number];
  states_[number] = State::begun;
  if (operation.send_to != nobody) {
    actions.send(0, (operation.send_to + root_) % program_.members, {0, 0, 0, operation.taken_by},
                 costs_.on_wire(bytes_of(operation)));
  }
  if (operation.receive_from != nobody) {
    if (actions.take_early({0, 0, 0, number})) {
      take(number, actions);
    }
  } else if (operation.adds) {
    take(number, actions);
  } else {
    end(number);
  }
}

// The message of an operation is here, or it needs none.
void ProgramRun::take(std::uint32_t number, RunActions& actions) {
  const ProgramOperation& operation = operations_[number];
  Step step;
  step.receive_bytes = bytes_of(operation);
  step.reduces = operation.adds;
  SimTime time = costs_.after_message(step, number);
  if (operation.receive_from == nobody) {
    time -= costs_.endpoint;
  } else {
    actions.taken(costs_.on_wire(step.receive_bytes));
  }
  if (time > SimTime::zero()) {
    actions.wait(time, {0, 0, 0, number});
  } else {
    end(number);
  }
}

void ProgramRun::end(std::uint32_t number) {
  states_[number] = State::over;
  --left_;
  for (const std::uint32_t next : operations_[number].next) {
    if (--waits_for_[next] == 0) {
      ready_.push_back(next);
    }
  }
}

bool ProgramRun::arrived(const StepName& name, RunActions& actions) {
  ensure(name.step < operations_.size(), "a message for no operation");
  if (states_[name.step] != State::begun) {
    return false;
  }
  take(name.step, actions);
  begin_ready(actions);
  return true;
}

void ProgramRun::elapsed(const StepName& name, RunActions& actions) {
  if (name.step != before_all) {
    end(name.step);
  }
  begin_ready(actions);
}

std::string ProgramRun::waits_in() const {
  const auto begun = std::find(states_.begin(), states_.end(), State::begun);
  return program_.name + (begun == states_.end()
                              ? ", before its first operation"
                              : ", operation " + std::to_string(begun - states_.begin()));
}

std::vector<std::uint32_t> ProgramRun::save() const {
  std::vector<std::uint32_t> state;
  for (const State one : states_) {
    state.push_back(static_cast<std::uint32_t>(one));
  }
  state.insert(state.end(), ready_.begin(), ready_.end());
  return state;
}

void ProgramRun::restore(const std::vector<std::uint32_t>& state) {
  ensure(state.size() >= states_.size(), "the state of a collective ends early");
  for (std::uint32_t number = 0; number < states_.size(); ++number) {
    states_[number] = static_cast<State>(state[number]);
    if (states_[number] == State::over) {
      --left_;
      for (const std::uint32_t next : operations_[number].next) {
        --waits_for_[next];
      }
    }
  }
  ready_.assign(state.begin() + static_cast<std::ptrdiff_t>(states_.size()), state.end());
}

}  // namespace tessera::collective
