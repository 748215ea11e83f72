// Programs as execution traces of the members.
#include <algorithm>
#include <deque>
#include <map>
#include <tuple>
#include <utility>

#include "program/maker.hpp"
#include "tessera/core/error.hpp"

namespace tessera::collective {
namespace {

using Action = TracedOperation::Action;

// Members that one has heard of, a bit each.
using Heard = std::vector<std::uint64_t>;

class Traced {
 public:
  Traced(Program& program, const TracedOperations& operations)
      : program_(program), operations_(operations) {
    program_.operations.resize(operations.size());
    for (Member member = 0; member < operations.size(); ++member) {
      for (const TracedOperation& traced : operations[member]) {
        program_.operations[member].push_back(operation_of(member, traced));
      }
      for (std::uint32_t number = 0; number < operations[member].size(); ++number) {
        for (const std::uint32_t before : operations[member][number].after) {
          program_.operations[member][before].next.push_back(number);
        }
      }
    }
  }

  // The nth receive of a tag takes the nth send.
  void match() {
    std::map<std::tuple<Member, Member, std::uint32_t>, std::deque<std::uint32_t>> sends;
    for_each(Action::send, [&](Member member, std::uint32_t number) {
      const TracedOperation& sent = operations_[member][number];
      sends[{member, sent.peer, sent.tag}].push_back(number);
    });
    for_each(Action::receive, [&](Member member, std::uint32_t number) {
      const TracedOperation& received = operations_[member][number];
      std::deque<std::uint32_t>& waiting = sends[{received.peer, member, received.tag}];
      if (waiting.empty()) {
        throw ConfigError(received.place + " receives what member " +
                          std::to_string(received.peer) + " does not send");
      }
      const TracedOperation& sent = operations_[received.peer][waiting.front()];
      if (sent.bytes != received.bytes) {
        throw ConfigError(received.place + " receives " + std::to_string(received.bytes) +
                          " B, but " + sent.place + " sends " + std::to_string(sent.bytes));
      }
      program_.operations[received.peer][waiting.front()].taken_by = number;
      waiting.pop_front();
    });
    for (const auto& [key, waiting] : sends) {
      if (!waiting.empty()) {
        throw ConfigError(operations_[std::get<0>(key)][waiting.front()].place +
                          " sends what member " + std::to_string(std::get<1>(key)) +
                          " does not receive");
      }
    }
  }

  // What each member has heard of when all is over.
  std::vector<Heard> follow() {
    const std::size_t words = (operations_.size() + word_bits - 1) / word_bits;
    std::vector<Heard> of_member(operations_.size(), Heard(words));
    std::vector<std::vector<Heard>> of(operations_.size());
    std::vector<std::vector<std::uint32_t>> waits_for(operations_.size());
    std::deque<std::pair<Member, std::uint32_t>> ready;
    for (Member member = 0; member < operations_.size(); ++member) {
      of_member[member][member / word_bits] |= std::uint64_t{1} << member % word_bits;
      of[member].resize(operations_[member].size());
      for (std::uint32_t number = 0; number < operations_[member].size(); ++number) {
        const bool receives = operations_[member][number].action == Action::receive;
        waits_for[member].push_back(program_.operations[member][number].waits_for +
                                    (receives ? 1U : 0U));
        if (waits_for[member].back() == 0) {
          ready.emplace_back(member, number);
        }
      }
    }
    const auto pass_on = [&](const Heard& heard, Member member, std::uint32_t number) {
      join(of[member][number], heard);
      if (--waits_for[member][number] == 0) {
        ready.emplace_back(member, number);
      }
    };
    std::size_t over = 0;
    for (; !ready.empty(); ready.pop_front(), ++over) {
      const auto [member, number] = ready.front();
      Heard heard = std::exchange(of[member][number], {});
      heard.resize(words);
      heard[member / word_bits] |= std::uint64_t{1} << member % word_bits;
      join(of_member[member], heard);
      const ProgramOperation& operation = program_.operations[member][number];
      for (const std::uint32_t next : operation.next) {
        pass_on(heard, member, next);
      }
      if (operation.send_to != nobody) {
        pass_on(heard, operation.send_to, operation.taken_by);
      }
    }
    check_over(waits_for);
    return of_member;
  }

  std::uint64_t received(Member member) const {
    std::uint64_t bytes = 0;
    for (const TracedOperation& operation : operations_[member]) {
      bytes += operation.action == Action::receive ? operation.bytes : 0;
    }
    return bytes;
  }

 private:
  ProgramOperation operation_of(Member member, const TracedOperation& traced) const {
    ProgramOperation operation;
    operation.share = traced.bytes;
    operation.adds = traced.action == Action::add;
    operation.waits_for = static_cast<std::uint32_t>(traced.after.size());
    if (traced.action == Action::send || traced.action == Action::receive) {
      if (traced.peer >= operations_.size() || traced.peer == member) {
        throw ConfigError(traced.place + " is a message with member " +
                          std::to_string(traced.peer) + ", who is none of the others");
      }
      (traced.action == Action::send ? operation.send_to : operation.receive_from) = traced.peer;
    }
    return operation;
  }

  void check_over(const std::vector<std::vector<std::uint32_t>>& waits_for) const {
    for (Member member = 0; member < operations_.size(); ++member) {
      for (std::uint32_t number = 0; number < operations_[member].size(); ++number) {
        if (waits_for[member][number] > 0) {
          throw ConfigError(operations_[member][number].place + " waits for ever");
        }
      }
    }
  }

  template <typename Visit>
  void for_each(Action action, const Visit& visit) const {
    for (Member member = 0; member < operations_.size(); ++member) {
      for (std::uint32_t number = 0; number < operations_[member].size(); ++number) {
        if (operations_[member][number].action == action) {
          visit(member, number);
        }
      }
    }
  }

  static void join(Heard& into, const Heard& heard) {
    into.resize(heard.size());
    for (std::size_t word = 0; word < heard.size(); ++word) {
      into[word] |= heard[word];
    }
  }

  Program& program_;
  const TracedOperations& operations_;
};

// Bytes that a member has to receive at least: those of the result that it cannot know by itself.
std::uint64_t least_received(Kind kind, std::uint64_t size, std::uint32_t members, Member member) {
  const std::uint64_t part = size / members;
  const bool is_root = member == 0;
  switch (kind) {
    case Kind::all_reduce:
      return size;
    case Kind::reduce_scatter:
      return part;
    case Kind::all_gather:
    case Kind::all_to_all:
      return size - part;
    case Kind::broadcast:
      return is_root ? 0 : size;
    case Kind::scatter:
      return is_root ? 0 : part;
    case Kind::reduce:
      return is_root ? size : 0;
    case Kind::gather:
      return is_root ? size - part : 0;
    case Kind::barrier:
      break;
  }
  return 0;
}

bool must_hear(Kind kind, Member member, Member other) {
  switch (kind) {
    case Kind::broadcast:
    case Kind::scatter:
      return other == 0;
    case Kind::reduce:
    case Kind::gather:
      return member == 0;
    default:
      return true;
  }
}

}  // namespace

Program join_traced(std::string name, Kind kind, std::uint64_t size,
                    const TracedOperations& operations) {
  Program program;
  program.name = std::move(name);
  program.kind = kind;
  program.members = static_cast<std::uint32_t>(operations.size());
  program.chunks = program.members;
  program.whole = size;
  Traced traced(program, operations);
  traced.match();
  const std::vector<Heard> heard = traced.follow();
  for (Member member = 0; member < program.members; ++member) {
    for (Member other = 0; other < program.members; ++other) {
      if (must_hear(kind, member, other) &&
          (heard[member][other / word_bits] >> other % word_bits & 1U) == 0) {
        throw ConfigError(program.name + ": member " + std::to_string(member) +
                          " never hears of what member " + std::to_string(other) + " has");
      }
    }
    const std::uint64_t least = least_received(kind, size, program.members, member);
    if (traced.received(member) < least) {
      throw ConfigError(program.name + ": member " + std::to_string(member) + " receives " +
                        std::to_string(traced.received(member)) + " B; of a vector of " +
                        std::to_string(size) + " B it needs " + std::to_string(least));
    }
  }
  return program;
}

}  // namespace tessera::collective
