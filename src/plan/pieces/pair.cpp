#include "pieces/pair.hpp"

#include <algorithm>
#include <utility>

#include "pieces/writer.hpp"
#include "tessera/core/error.hpp"

namespace tessera::plan {
namespace {

using Code = std::vector<Instruction>;

bool is_exchange(const Instruction& instruction) {
  return instruction.group == Group::expert &&
         (instruction.action == Action::collective || instruction.action == Action::elapse);
}

// One of the two passes, as far as it has been written.
class Strand {
 public:
  Strand(Code code, std::uint8_t slot, bool beside) : code_(std::move(code)), slot_(slot) {
    for (Instruction& instruction : code_) {
      instruction.beside = beside;
      if (instruction.action == Action::read || instruction.action == Action::write) {
        throw ConfigError(
            "overlap_passes: passes that take turns cannot stream operands; SRAM "
            "must hold what they need, or 'operands: dram'");
      }
    }
    const auto sends = std::stable_partition(
        code_.begin(), code_.end(), [](const Instruction& i) { return i.action != Action::send; });
    sends_.assign(sends, code_.end());
    code_.erase(sends, code_.end());
  }

  bool is_over() const { return next_ == code_.size(); }

  // Up to the last of what comes in.
  void take_in(Code& to) {
    const auto last = std::find_if(code_.rbegin(), code_.rend(), [](const Instruction& i) {
      return i.action == Action::receive;
    });
    const auto end = static_cast<std::size_t>(code_.rend() - last);
    to.insert(to.end(), code_.begin(), code_.begin() + static_cast<std::ptrdiff_t>(end));
    next_ = end;
  }

  // After the exchange under way, up to the next one, which begins.
  void go_on(Code& to) {
    if (is_under_way_) {
      Instruction wait;
      wait.action = Action::wait_collectives;
      wait.name = code_[next_ - 1].name;
      wait.beside = code_[next_ - 1].beside;
      wait.bytes = slot_bit(slot_);
      to.push_back(wait);
      is_under_way_ = false;
    }
    for (; !is_over() && !is_exchange(code_[next_]); ++next_) {
      to.push_back(code_[next_]);
    }
    for (; !is_over() && is_exchange(code_[next_]); ++next_) {
      Instruction& begun = to.emplace_back(code_[next_]);
      begun.action =
          begun.action == Action::elapse ? Action::start_elapse : Action::start_collective;
      begun.slot = slot_;
      is_under_way_ = true;
    }
  }
  bool goes_on() const { return is_under_way_ || !is_over(); }
  const Code& sends() const { return sends_; }

 private:
  Code code_;
  Code sends_;
  std::uint8_t slot_;
  std::size_t next_ = 0;
  bool is_under_way_ = false;
};

}  // namespace

Code in_turns(Code one, Code other) {
  Strand first(std::move(one), turn_slot, false);
  Strand second(std::move(other), static_cast<std::uint8_t>(turn_slot + 1), true);
  Code code;
  first.take_in(code);
  second.take_in(code);
  while (first.goes_on() || second.goes_on()) {
    for (Strand* strand : {&first, &second}) {
      if (strand->goes_on()) {
        strand->go_on(code);
      }
    }
  }
  for (const Strand* strand : {&first, &second}) {
    code.insert(code.end(), strand->sends().begin(), strand->sends().end());
  }
  return code;
}

}  // namespace tessera::plan
