// The state of routers: one block of plain bytes each, in a row for all of a rank.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "flit/settings.hpp"

namespace tessera::network {

inline constexpr std::uint64_t no_cycle = std::numeric_limits<std::uint64_t>::max();
inline constexpr std::uint16_t no_port = 0xffff;
inline constexpr std::uint32_t no_message = 0xffffffff;

// A flit. Only a head needs target and source; words are those of the packet:
//   head of a message's last packet: the sender's word; of the others: the message's number;
//   flit after the head of the last packet, where there are several: number and count of packets.
// Nodes have 28 bits, which leaves four of the source for what the flit is.
struct Flit {
  static constexpr std::uint32_t head = 1U << 28;
  static constexpr std::uint32_t tail = 1U << 29;
  static constexpr std::uint32_t last_packet = 1U << 30;
  static constexpr std::uint32_t one_of_many = 1U << 31;
  static constexpr std::uint32_t node_bits = head - 1;

  std::uint32_t target = 0;
  std::uint32_t source = 0;
  std::uint32_t word[2] = {0, 0};

  bool is(std::uint32_t bit) const { return (source & bit) != 0; }
  std::uint64_t whole_word() const { return std::uint64_t{word[1]} << 32 | word[0]; }
  void set_word(std::uint64_t value) {
    word[0] = static_cast<std::uint32_t>(value);
    word[1] = static_cast<std::uint32_t>(value >> 32);
  }
};
static_assert(sizeof(Flit) == 16);

// What travels with the sender's word: event tag and port to deliver to.
struct FlitLabel {
  std::uint16_t tag = 0;
  std::uint8_t deliver = 0;
};

// A virtual channel of an input: its buffer is a ring.
struct InputVc {
  enum State : std::uint8_t { idle, routing, wanting, active };
  std::uint8_t state = idle;
  std::uint8_t first = 0;  // in the ring
  std::uint8_t count = 0;
  std::uint8_t out_vc = 0;
  std::uint16_t port = 0;         // chosen output, or the first of two that will do
  std::uint16_t other = no_port;  // the second
  std::uint32_t vcs = 0;          // virtual channels that will do there
  std::uint16_t turn = 0;         // of the allocation of virtual channels
  std::uint16_t ready = at_once;  // cycle of the next stage, lowest bits, until it has come

  static constexpr std::uint16_t at_once = 0x8000;
  static constexpr std::uint16_t cycle_bits = at_once - 1;
  void be_ready_at(std::uint64_t cycle) { ready = static_cast<std::uint16_t>(cycle & cycle_bits); }
  // Asked in every cycle until it is: the router is awake.
  bool is_ready(std::uint64_t cycle) {
    if (ready != at_once && ((cycle - ready) & cycle_bits) <= cycle_bits / 2) {
      ready = at_once;
    }
    return ready == at_once;
  }
};
static_assert(sizeof(InputVc) == 16);

struct OutputVc {
  std::uint8_t credits = 0;
  std::uint8_t unused = 0;
  std::uint16_t turn = 0;
};

// An output port with its link.
struct OutputPort {
  std::uint32_t to = 0;            // node; no_message where the port leads nowhere
  std::uint16_t reverse = 0;       // the port there that leads back
  std::uint16_t link_class = 0;    // of the link
  std::uint32_t busy = 0;          // virtual channels in use
  std::uint32_t tailed = 0;        // those whose tail has gone
  std::uint64_t free_at = 0;       // cycle in which the link takes the next flit
  std::uint64_t flits = 0;         // sent so far
  std::uint32_t longest_wait = 0;  // cycles that a flit waited for the link
  std::uint16_t back_class = 0;    // of the link that leads back
  std::uint16_t wait_in_bin = 0;   // the longest since a time bin began
};
static_assert(sizeof(OutputPort) == 40);
inline constexpr std::uint16_t most_wait_in_bin = 0xffff;  // or more

// The packet that comes out by a virtual channel of the node's port.
struct Leaving {
  Flit head;
  std::uint32_t number = 0;
  std::uint32_t packets = 0;
  std::uint16_t tag = 0;
  std::uint8_t deliver = 0;
  std::uint8_t flits = 0;  // so far, up to 2
};

// Once a router, with the node's side of the injection link.
struct RouterHead {
  std::uint64_t next_wake = no_cycle;
  std::uint64_t credited = 0;                // local credits were taken up to this cycle
  std::uint64_t message_flits = 0;           // of the message being sent, still to send
  std::uint32_t first_message = no_message;  // queue, in the rank's pool
  std::uint32_t last_message = no_message;
  std::uint32_t packet_flits = 0;    // of the packet being sent, still to send
  std::uint32_t packet = 0;          // number of the packet in the message
  std::uint32_t message = 0;         // number of the message at its sender
  std::uint32_t injection_busy = 0;  // virtual channels
  std::uint32_t injection_tailed = 0;
  std::uint16_t local_credits = 0;  // on their way
  std::uint8_t injection_vc = 0;    // of the packet being sent, or of the last one
  std::uint8_t after_head = 0;      // the next flit is the second of its packet
};

// Where things are in a block, for routers with `ports` outputs (the node's is the last one).
class RouterLayout {
 public:
  RouterLayout(unsigned ports, const FlitSettings& settings) : ports_(ports) {
    const std::size_t vcs = std::size_t{ports} * settings.vcs;
    words_ = static_cast<unsigned>((vcs + 63) / 64);
    ring_ = 8;
    while (ring_ <= std::max(settings.ejection_credit(), settings.injection_credit())) {
      ring_ *= 2;
    }
    std::size_t at = sizeof(RouterHead);
    const auto place = [&at](std::size_t count, std::size_t size) {
      const std::size_t here =
          (at + std::min<std::size_t>(size, 8) - 1) & ~(std::min<std::size_t>(size, 8) - 1);
      at = here + count * size;
      return static_cast<std::uint32_t>(here);
    };
    sets = place(std::size_t{3} * words_, 8);
    ports_at = place(ports, sizeof(OutputPort));
    inputs = place(vcs, sizeof(InputVc));
    outputs = place(vcs, sizeof(OutputVc));
    rings = place(std::size_t{2} * ring_, 4);
    leaving = place(settings.vcs, sizeof(Leaving));
    const std::size_t expanded_inputs = std::size_t{ports} * settings.input_speedup;
    const std::size_t expanded_outputs = std::size_t{ports} * settings.output_speedup;
    const std::size_t allocators = settings.speculative ? 2 : 1;
    switch_inputs = place(allocators * expanded_inputs, 2);
    switch_outputs = place(allocators * expanded_outputs, 2);
    switch_vcs = place(expanded_inputs, 1);
    injection_credits = place(settings.vcs, 1);
    flits = place(vcs * settings.buffer, sizeof(Flit));
    tags = place(vcs * settings.buffer, 2);
    delivers = place(vcs * settings.buffer, 1);
    bytes_ = (at + 7) & ~std::size_t{7};
  }
  unsigned ports() const { return ports_; }
  unsigned words() const { return words_; }
  unsigned ring() const { return ring_; }
  std::size_t bytes() const { return bytes_; }

  // Byte offsets.
  std::uint32_t sets = 0;  // three sets of input virtual channels
  std::uint32_t ports_at = 0;
  std::uint32_t inputs = 0;
  std::uint32_t outputs = 0;
  std::uint32_t rings = 0;  // of local credits: injection, ejection
  std::uint32_t leaving = 0;
  std::uint32_t switch_inputs = 0;
  std::uint32_t switch_outputs = 0;
  std::uint32_t switch_vcs = 0;
  std::uint32_t injection_credits = 0;
  std::uint32_t flits = 0;
  std::uint32_t tags = 0;
  std::uint32_t delivers = 0;

 private:
  unsigned ports_;
  unsigned words_ = 0;
  unsigned ring_ = 0;
  std::size_t bytes_ = 0;
};

// A block as what it holds.
struct RouterView {
  RouterView(std::byte* block, const RouterLayout& layout)
      : base(block), at(&layout), head(reinterpret_cast<RouterHead*>(block)) {}
  std::byte* base;
  const RouterLayout* at;
  RouterHead* head;

  template <class T>
  T* in(std::uint32_t offset) const {
    return reinterpret_cast<T*>(base + offset);
  }
  std::uint64_t* routing() const { return in<std::uint64_t>(at->sets); }
  std::uint64_t* wanting() const { return routing() + at->words(); }
  std::uint64_t* sending() const { return wanting() + at->words(); }
  OutputPort& port(unsigned number) const { return in<OutputPort>(at->ports_at)[number]; }
  InputVc& input(std::uint32_t vc) const { return in<InputVc>(at->inputs)[vc]; }
  OutputVc& output(std::uint32_t vc) const { return in<OutputVc>(at->outputs)[vc]; }
  std::uint32_t* injection_ring() const { return in<std::uint32_t>(at->rings); }
  std::uint32_t* ejection_ring() const { return injection_ring() + at->ring(); }
  Leaving& leaving(unsigned vc) const { return in<Leaving>(at->leaving)[vc]; }
  std::uint16_t* switch_inputs() const { return in<std::uint16_t>(at->switch_inputs); }
  std::uint16_t* switch_outputs() const { return in<std::uint16_t>(at->switch_outputs); }
  std::uint8_t* switch_vcs() const { return in<std::uint8_t>(at->switch_vcs); }
  std::uint8_t* injection_credits() const { return in<std::uint8_t>(at->injection_credits); }
  Flit& flit(std::size_t place) const { return in<Flit>(at->flits)[place]; }
  std::uint16_t& tag(std::size_t place) const { return in<std::uint16_t>(at->tags)[place]; }
  std::uint8_t& deliver(std::size_t place) const { return in<std::uint8_t>(at->delivers)[place]; }
  unsigned node_port() const { return at->ports() - 1; }
};

}  // namespace tessera::network
