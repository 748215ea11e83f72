// What executors' outlooks have in common: which entities of a rank are watched, what each waits
// for, and when it will next send to another rank.
//
// Method: each watched entity says what it waits for and how long it takes at least from there to
// its next event in another region. Heaps by region keep these bounds; one whose entity was touched
// since is outdated and dropped when it comes to the top, so that an entity is looked at again when
// the next promise is made, not at each event. A bound so far ahead that nobody needs more is kept
// as a time ("roughly"): it stays true whatever happens to the entity. An exact one is brought up
// to date with what was learnt of messages under way only where it is too early for who asks, or
// for who will hear of it before being told again.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "tessera/executor/program/executor.hpp"
#include "tessera/network/messages.hpp"
#include "tessera/pdes/outlook.hpp"

namespace tessera::executor {

// What an entity, or one of several things that it does at a time, waits for.
struct Resumption {
  enum class Kind : std::uint8_t {
    at,     // it goes on at `time` or later
    next,   // `time` after the next event of this rank, or later
    input,  // `time` after the next event that comes in, or later
  };
  Kind kind = Kind::next;
  SimTime time;
};

// What has been under way and is delivered by this event.
inline network::Progress delivered_by(const pdes::Event& event) {
  const auto arrival = event.as<network::Arrival>();
  return {arrival.source, EntityId(event.target), event.port, event.tag, arrival.word, event.time};
}

class WatchedOutlook {
 public:
  // `setup.regions` is not null. All is kept by reference.
  WatchedOutlook(const OutlookSetup& setup, std::span<const EntityId> members, std::uint32_t nodes);
  virtual ~WatchedOutlook() = default;
  WatchedOutlook(const WatchedOutlook&) = delete;
  WatchedOutlook& operator=(const WatchedOutlook&) = delete;

  // Something has happened at the entity.
  void touch(std::uint32_t index) {
    if ((marks_[index] & is_exact) != 0) {
      touch_watch(watch_of_[index]);
    }
  }
  // Its work begins, or goes on from a checkpoint.
  void begin(std::uint32_t index);
  // Whether that of the entity at this index, which is watched, has.
  bool has_begun(std::uint32_t index) const { return watches_[watch_of_[index]].has_begun; }

  // A message, or a reply of the memory, on its way to an entity. Of one source and tag there may
  // be several: of a ring over and over again, where a member need not wait for the next one. They
  // may overtake each other.
  struct UnderWay {
    EntityId source;  // none: a reply, or what the entity sends itself
    std::uint16_t tag = 0;
    std::uint64_t word = 0;  // that the message carries
    SimTime earliest;
  };
  // Messages under way to watched entities; of one that is not, false.
  bool send(EntityId source, EntityId target, Bytes bytes, const UnderWay& sent_now);
  bool expect(EntityId target, const UnderWay& message);
  // One that has come in from another rank: to `arrival` of a watched entity, or of the memory.
  // Whether it is to be followed.
  bool take_in(const network::Progress& message, pdes::Port arrival, unsigned memory_slot);
  // It has come so far that it does not arrive before `message.earliest`.
  void follow(EntityId target, const UnderWay& message);
  void arrive(std::uint32_t index, EntityId source, std::uint16_t tag, std::uint64_t word);
  // Of a reply of the entity's memory; `end_access` when it is complete.
  void expect_reply(EntityId target, std::uint16_t tag, SimTime earliest);
  void end_access(std::uint32_t index, std::uint16_t tag);

  SimTime horizon() const { return horizon_; }

 protected:
  static constexpr std::uint32_t none = 0xFFFFFFFFU;

  bool is_watched(std::uint32_t index) const { return watch_of_[index] != none; }
  bool is_watched_exactly(std::uint32_t index) const { return (marks_[index] & is_exact) != 0; }
  // Whether something is known to be under way to it.
  bool is_expecting(EntityId target) const {
    const std::uint32_t number = watch_at_node_[target.value()];
    return number != none && (marks_[watches_[number].index] & expects) != 0;
  }
  // From now on; returns its number.
  std::uint32_t watch(std::uint32_t index);
  // One with more than this to compute before it sends out is watched roughly.
  void set_horizon(SimTime horizon) { horizon_ = horizon; }
  // Of the longest time to compute before one sends out, the part at its end in which it is watched
  // exactly. One that waits is looked at again about as many times at most.
  static constexpr std::int64_t horizon_part = 64;

  template <class Visit>
  void visit_under_way(std::uint32_t index, const Visit& visit) const {
    for (const UnderWay& message : watches_[watch_of_[index]].under_way) {
      visit(message);
    }
  }
  // The earliest of the messages to it that `matches` takes; never: none is under way.
  template <class Matches>
  SimTime earliest_under_way(std::uint32_t index, const Matches& matches) const {
    SimTime earliest = SimTime::never();
    for (const UnderWay& message : watches_[watch_of_[index]].under_way) {
      if (matches(message)) {
        earliest = std::min(earliest, message.earliest);
      }
    }
    return earliest;
  }
  // Of a message that is not under way, as far as this rank knows.
  Resumption not_sent_yet(std::uint32_t index, EntityId source, Bytes bytes) const;
  // Of an access: `is_coming` when a reply is under way.
  Resumption access(std::uint32_t index, bool is_coming) const;

  using Regions = std::map<std::uint32_t, SimTime>;  // least latency to each other one
  // Where a message leaves this rank, if it does.
  void add_exit(Regions& regions, EntityId from, EntityId to) const;
  static void add_exit(Regions& regions, const pdes::Exit& exit);

  // Tells where the entity stands, by `add`.
  virtual void tell(std::uint32_t index) = 0;
  // While it does: the one it is about sends to `region` no sooner than `further` after that.
  void add(std::uint32_t region, const Resumption& resumption, SimTime further);
  // What is told of it now holds only until something happens at it.
  void stay_exact() { may_be_rough_ = false; }
  // The number of the one that is told of.
  std::uint32_t telling() const { return telling_; }

  pdes::Outlook outlook_of(std::uint32_t rank, const pdes::Moment& moment);

  EntityId member(std::uint32_t index) const { return members_[index]; }
  // That the outlook is asked of.
  const pdes::Moment& now() const { return moment_; }
  const OutlookSetup& setup() const { return setup_; }

 private:
  // Marks of an entity.
  static constexpr std::uint8_t is_exact = 1;  // what is known of it holds until it is touched
  static constexpr std::uint8_t expects = 2;   // messages are under way to it
  static constexpr std::uint8_t is_late = 4;   // was to go on before now, and has not

  struct Watch {
    std::uint32_t index = 0;
    std::uint32_t version = 0;
    bool is_touched = false;
    bool has_begun = false;
    bool knows_more = false;  // than when it was looked at: of messages under way
    std::vector<UnderWay> under_way;
  };
  struct Entry {
    SimTime key;   // least time to the crossing: absolute, or after what is waited for
    SimTime base;  // of `at`: when the entity goes on; never: it is watched roughly
    std::uint32_t watch = 0;
    std::uint32_t version = 0;
  };
  struct Later {
    bool operator()(const Entry& a, const Entry& b) const { return a.key > b.key; }
  };
  using Heap = std::vector<Entry>;
  struct Region {
    Heap at;
    Heap next;
    Heap input;
  };

  void touch_watch(std::uint32_t number);
  void look_at(std::uint32_t number);
  void push(Heap& heap, const Entry& entry);
  void forget_expectation(std::uint32_t index);
  bool is_current(const Entry& entry) const {
    return watches_[entry.watch].version == entry.version;
  }
  void drop_outdated(Heap& heap) const;
  // Up to where this rank is expected to come, at its pace, before ranks that do not wait are told
  // anew; at most `enough`.
  SimTime until_told_again(SimTime enough);

  const OutlookSetup& setup_;
  std::span<const EntityId> members_;
  std::vector<std::uint8_t> marks_;           // [local entities]
  std::vector<std::uint32_t> watch_of_;       // [local entities]
  std::vector<std::uint32_t> watch_at_node_;  // [entities]
  std::vector<Watch> watches_;
  SimTime horizon_;
  std::vector<std::uint32_t> touched_;
  std::vector<Region> regions_;  // [ranks]
  std::uint32_t telling_ = none;
  pdes::Moment moment_;        // at which
  SimTime asked_at_;           // the latest `next` of an outlook so far
  SimTime pace_;               // from the outlook before
  bool may_be_rough_ = false;  // what is being told
};

}  // namespace tessera::executor
