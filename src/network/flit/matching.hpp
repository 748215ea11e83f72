// Matches inputs to outputs that they ask for, as the allocators of a router do.
//
// iSLIP (N. McKeown, "The iSLIP scheduling algorithm for input-queued switches", IEEE/ACM Trans.
// Networking 7(2), 1999, doi:10.1109/90.769767): every output grants the request next in its turn,
// every input accepts the grant next in its turn, and both turns move on where a grant of the first
// iteration was accepted. With inputs first the roles are changed (a separable allocator).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tessera::network {

// `who` is the caller's own. No two requests have the same input and output.
struct SwitchRequest {
  std::uint32_t input = 0;
  std::uint32_t output = 0;
  std::uint32_t who = 0;
};

// Work space of one rank. Cost: O(requests · iterations), whatever the number of ports.
class FlitMatching {
 public:
  // `ports`: of inputs and of outputs, the larger.
  explicit FlitMatching(std::uint32_t ports) : offers_(ports), matched_(ports) {}

  // Gives the requests that were granted. `input_turn(i)` and `output_turn(o)` are references to
  // the turns; `inputs` and `outputs` the numbers of each, over which turns go round.
  template <class InputTurn, class OutputTurn>
  std::span<const SwitchRequest> match(std::span<const SwitchRequest> requests, bool outputs_first,
                                       unsigned iterations, std::uint32_t inputs,
                                       std::uint32_t outputs, InputTurn&& input_turn,
                                       OutputTurn&& output_turn) {
    result_.clear();
    if (requests.size() == 1) {  // the usual case of a quiet router
      const SwitchRequest& only = requests.front();
      move_on(only, inputs, outputs, input_turn, output_turn);
      result_.push_back(only);
      return result_;
    }
    ++run_;
    for (unsigned iteration = 0; iteration < iterations; ++iteration) {
      const std::size_t before = result_.size();
      if (outputs_first) {
        choose(requests, inputs, outputs, output_of, input_of, output_turn, input_turn);
      } else {
        choose(requests, outputs, inputs, input_of, output_of, input_turn, output_turn);
      }
      if (result_.size() == before) {
        break;
      }
      for (std::size_t i = before; i < result_.size(); ++i) {
        matched_[result_[i].input].input = run_;
        matched_[result_[i].output].output = run_;
        if (iteration == 0) {
          move_on(result_[i], inputs, outputs, input_turn, output_turn);
        }
      }
    }
    return result_;
  }

 private:
  struct Offer {
    std::uint64_t round = 0;
    std::uint32_t distance = 0;
    std::uint32_t request = 0;
  };
  struct Matched {
    std::uint64_t input = 0;
    std::uint64_t output = 0;
  };
  struct Pair {
    std::vector<Offer> first;
    std::vector<Offer> second;
    explicit Pair(std::size_t ports) : first(ports), second(ports) {}
  };

  static std::uint32_t input_of(const SwitchRequest& request) { return request.input; }
  static std::uint32_t output_of(const SwitchRequest& request) { return request.output; }

  template <class InputTurn, class OutputTurn>
  static void move_on(const SwitchRequest& granted, std::uint32_t inputs, std::uint32_t outputs,
                      InputTurn&& input_turn, OutputTurn&& output_turn) {
    const std::uint32_t after_output = granted.output + 1;
    const std::uint32_t after_input = granted.input + 1;
    input_turn(granted.input) =
        static_cast<std::uint16_t>(after_output == outputs ? 0 : after_output);
    output_turn(granted.output) =
        static_cast<std::uint16_t>(after_input == inputs ? 0 : after_input);
  }

  static std::uint32_t distance(std::uint32_t from, std::uint32_t to, std::uint32_t size) {
    return to >= from ? to - from : to + size - from;
  }

  // One side chooses among the requests, then the other among what was chosen. `seconds` is the
  // number of those over which the first side's turns go round.
  template <class First, class Second, class FirstTurn, class SecondTurn>
  void choose(std::span<const SwitchRequest> requests, std::uint32_t seconds, std::uint32_t firsts,
              First&& first_of, Second&& second_of, FirstTurn&& first_turn,
              SecondTurn&& second_turn) {
    ++round_;
    touched_.clear();
    for (std::uint32_t i = 0; i < requests.size(); ++i) {
      const SwitchRequest& request = requests[i];
      if (matched_[request.input].input == run_ || matched_[request.output].output == run_) {
        continue;
      }
      const std::uint32_t first = first_of(request);
      offer(offers_.first[first], distance(first_turn(first), second_of(request), seconds), i,
            first);
    }
    chosen_.swap(touched_);
    touched_.clear();
    for (const std::uint32_t first : chosen_) {
      const std::uint32_t request = offers_.first[first].request;
      const std::uint32_t second = second_of(requests[request]);
      offer(offers_.second[second], distance(second_turn(second), first, firsts), request, second);
    }
    for (const std::uint32_t second : touched_) {
      result_.push_back(requests[offers_.second[second].request]);
    }
  }

  void offer(Offer& best, std::uint32_t distance, std::uint32_t request, std::uint32_t place) {
    if (best.round != round_) {
      best = {round_, distance, request};
      touched_.push_back(place);
    } else if (distance < best.distance) {
      best.distance = distance;
      best.request = request;
    }
  }

  Pair offers_;
  std::vector<Matched> matched_;
  std::uint64_t round_ = 0;
  std::uint64_t run_ = 0;
  std::vector<std::uint32_t> touched_;
  std::vector<std::uint32_t> chosen_;
  std::vector<SwitchRequest> result_;
};

}  // namespace tessera::network
