// A textbook sequential event-driven engine, to compare Tessera's with: one std::priority_queue of
// whole events, popped one at a time.
//
// Same event record and same results; the order is total over (time, target, source, sequence).
// Models see the same context as on Tessera and are reached by one virtual call an event, as there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "reference/queue.hpp"
#include "tessera/core/ids.hpp"
#include "tessera/core/time.hpp"
#include "tessera/pdes/event.hpp"

namespace tessera::bench::reference {

class Engine;

// What pdes::Context offers, for one rank.
class Context {
 public:
  SimTime now() const { return now_; }
  EntityId self() const { return self_; }
  std::uint32_t index() const { return self_.value(); }

  template <class Payload>
  void send_self(SimTime delay, pdes::Port port, const Payload& payload, std::uint16_t tag = 0,
                 std::uint8_t flags = 0) {
    send(self_, delay, port, payload, tag, flags);
  }
  template <class Payload>
  void send(EntityId target, SimTime delay, pdes::Port port, const Payload& payload,
            std::uint16_t tag = 0, std::uint8_t flags = 0);

 private:
  friend class Engine;
  explicit Context(Engine& engine) : engine_(&engine) {}

  Engine* engine_;
  SimTime now_;
  EntityId self_;
};

class Handler {
 public:
  virtual ~Handler() = default;
  virtual void start(Context& context) = 0;
  virtual void handle(Context& context, const pdes::Event& event) = 0;
};

class Engine {
 public:
  // Entities 0 ... `entities` - 1, all of one model (not owned).
  Engine(std::uint32_t entities, Handler& model)
      : model_(model), sequences_(entities), queue_(entities), context_(*this) {}

  void run() {
    for (std::uint32_t entity = 0; entity < sequences_.size(); ++entity) {
      context_.self_ = EntityId(entity);
      model_.start(context_);
    }
    while (!queue_.empty()) {
      largest_pending_ = queue_.size() > largest_pending_ ? queue_.size() : largest_pending_;
      const pdes::Event event = queue_.top();
      queue_.pop();
      context_.now_ = event.time;
      context_.self_ = EntityId(event.target);
      ++events_;
      model_.handle(context_, event);
    }
  }

  std::uint64_t events() const { return events_; }
  SimTime last_event_time() const { return context_.now_; }
  std::size_t largest_pending() const { return largest_pending_; }
  std::size_t process_bytes() const { return sequences_.capacity() * sizeof(std::uint32_t); }
  std::size_t event_bytes() const { return queue_.resident_bytes(); }

 private:
  friend class Context;

  Handler& model_;
  std::vector<std::uint32_t> sequences_;
  EventQueue queue_;
  Context context_;
  std::uint64_t events_ = 0;
  std::size_t largest_pending_ = 0;
};

template <class Payload>
void Context::send(EntityId target, SimTime delay, pdes::Port port, const Payload& payload,
                   std::uint16_t tag, std::uint8_t flags) {
  pdes::Event event;
  event.time = now_ + delay;
  event.target = target.value();
  event.source = self_;
  event.sequence = engine_->sequences_[self_.value()]++;
  event.port = port;
  event.tag = tag;
  event.flags = flags;
  event.set_payload(payload);
  engine_->queue_.push(event);
}

}  // namespace tessera::bench::reference
