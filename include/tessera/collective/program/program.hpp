// Collectives that a user has written: a program of messages between the members of a group.
//
// Three forms are read, by the ending of the file and the key `traces`:
//
// .yaml, .yml: transfers in the order in which they would be done one by one.
//   collective: all-reduce         # any kind but barrier
//   members: 4
//   chunks: 4                      # the vector is cut in, a multiple of members; default: members
//   transfers:
//     - {from: 0, to: 1, chunks: [0], add: true}    # added to what is there; default: replaces it
//     - {from: 2, to: 3, chunks: [5], of: 1}        # all-to-all: chunk 5 of the vector of member
//     1;
//                                                   # default: of the sender
//   Two transfers go at once unless the later one reads or writes what the earlier one writes, or
//   writes what it reads, at the same member.
//
// .yaml, .yml with `traces` in place of transfers: execution traces of the members.
//   collective: all-reduce
//   members: 4
//   traces: ring4        # PREFIX of files PREFIX.<member>.et beside this one: sends, receives, and
//                        # nodes that compute, which add up `tensor_size` bytes, or what the
//                        # receives bring that they wait for
//   size: 1 MiB          # of the vector that the traces are for; of others in proportion
//
// .xml: programs of MSCCL (M. Cowan et al., "MSCCLang", ASPLOS 2023, doi:10.1145/3575693.3575724,
//   as its compiler writes them): steps of thread blocks, each after the one before and after the
//   one that it names. Step types s, r, rcs, rrc, rrs, rrcs, cpy, re, nop; buffers i, o, s; in
//   place or not. Chunks of several loops go as one. The time of a copy within a member is not
//   counted.
//
// A program is followed with the contribution of each member marked: it is refused, with the place
// of a step where there is one, if it adds a contribution twice, sends what is not there, adds two
// different chunks, waits for ever, or does not end with every chunk where the collective wants it,
// with all contributions. Messages of traces name no chunks: what is known of them is that each is
// received, none waits for ever, every member hears, by whatever way, of all that it needs, and no
// member gets less than the collective needs at least. Root is member 0; another root turns all
// members.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tessera/collective/algorithm.hpp"
#include "tessera/collective/run.hpp"
#include "tessera/collective/turns.hpp"
#include "tessera/config/document.hpp"
#include "tessera/core/registry.hpp"

namespace tessera::collective {

// What a member does once all it waits for is over: sends, or takes a message, or adds up.
struct ProgramOperation {
  Member send_to = nobody;
  std::uint32_t taken_by = 0;  // with `send_to`: number of the receiver's operation
  Member receive_from = nobody;
  bool adds = false;                 // takes the time of an addition
  std::vector<std::uint32_t> parts;  // of the vector's chunks, by their place in it
  std::uint64_t share = 0;           // bytes more, of a vector of Program::whole bytes
  std::uint32_t waits_for = 0;       // as many operations
  std::vector<std::uint32_t> next;   // those that wait for it
};

struct Program {
  std::string name;  // of the file
  Kind kind = Kind::all_reduce;
  std::uint32_t members = 0;
  std::uint32_t chunks = 0;                               // in the sense of Algorithm's vector
  std::uint64_t whole = 1;                                // see ProgramOperation::share
  std::vector<std::vector<ProgramOperation>> operations;  // [members]
};

// What a member does in the trace of a collective.
struct TracedOperation {
  enum class Action : std::uint8_t { nothing, send, receive, add };
  Action action = Action::nothing;
  Member peer = nobody;
  std::uint32_t tag = 0;
  std::uint64_t bytes = 0;
  std::vector<std::uint32_t> after;  // numbers of operations of the same member
  std::string place;                 // for messages: file and node
};
using TracedOperations = std::vector<std::vector<TracedOperation>>;  // [members]

// Reads the traces under a prefix. Throws ConfigError.
using TraceReader =
    std::function<TracedOperations(const std::string& prefix, std::uint32_t members)>;

// Throws ConfigError with a place.
Program read_program(const std::string& path, const config::TextLoader& load,
                     const TraceReader& traces);

// Keys of a YAML file, for `tessera list`.
std::vector<ParameterInfo> program_parameters();

// `bytes` of the vector, in the sense of Algorithm. The program outlives the run.
class ProgramRun final : public CollectiveRun {
 public:
  ProgramRun(const Program& program, Bytes bytes, Member member, Member root,
             const StepCosts& costs);

  void begin(RunActions& actions) override;
  bool arrived(const StepName& name, RunActions& actions) override;
  void elapsed(const StepName& name, RunActions& actions) override;
  bool is_over() const override { return left_ == 0; }
  std::string waits_in() const override;
  std::vector<std::uint32_t> save() const override;
  void restore(const std::vector<std::uint32_t>& state) override;

 private:
  enum class State : std::uint8_t { waiting, begun, over };
  static constexpr std::uint32_t before_all = 0xFFFFFFFFU;  // StepName::step of the first wait

  Bytes bytes_of(const ProgramOperation& operation) const;
  void begin_ready(RunActions& actions);
  void begin_operation(std::uint32_t number, RunActions& actions);
  void take(std::uint32_t number, RunActions& actions);
  void end(std::uint32_t number);

  const Program& program_;
  const std::vector<ProgramOperation>& operations_;  // of this member
  Bytes bytes_;
  Member root_;
  StepCosts costs_;
  std::vector<State> states_;             // [operations]
  std::vector<std::uint32_t> waits_for_;  // [operations] still
  std::vector<std::uint32_t> ready_;
  std::uint32_t left_;
};

}  // namespace tessera::collective
