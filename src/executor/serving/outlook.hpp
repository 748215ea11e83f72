// When tiles that serve will next send to another rank: the outlook of a serving system on tiles.
//
// Method: a tile goes through a step by itself, and how long each operator takes is known, so that
// from where it stands the time to its next message is at least that of the operators before it: to
// the next exchange with other units, to what it hands on, to what it hands over of a prompt, to
// the end of the step, which it tells the host. What an exchange waits for is known as in programs.
// The host tells tiles of steps when it has heard of the end of one, by all units, or when a
// request comes; both go by times that are known here or by what comes in, and putting a step
// together takes `batching.host` then, where tenants have NPUs of their own and nothing waits for a
// policy. With whole steps the host says nothing before the last request has come.
//
// `serving_promises` says of what work there is none.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "serving/core.hpp"
#include "tessera/executor/serving/serving.hpp"
#include "watched_outlook.hpp"

namespace tessera::executor {

class ServingHost;
class ServingWalks;

class ServingOutlook final : public WatchedOutlook {
 public:
  static constexpr std::uint32_t no_core = 0xFFFFFFFFU;

  // `setup.outlook.regions` is not null. `core_of`: [local entities] in `cores`. All is kept by
  // reference; `cores`, `walks` and `host` (null: it is elsewhere) are looked at when asked for.
  ServingOutlook(const ServingSetup& setup, std::span<const std::uint32_t> core_of,
                 const std::vector<ServingCore>& cores, ServingWalks& walks,
                 const std::unique_ptr<ServingHost>& host);

  // Once cores are there.
  void watch_all();

  // A message of one entity of this rank to another, or to itself; and one that has come.
  void sent(EntityId source, EntityId target, Bytes bytes, unsigned kind, std::uint16_t tag,
            std::uint64_t word, SimTime now);
  void came(std::uint32_t index, EntityId source, unsigned kind, std::uint16_t tag,
            std::uint64_t word);
  // From another rank, or out of a checkpoint.
  void coming(const network::Progress& message);
  // Something has happened at the entity.
  void happened(std::uint32_t index);

  pdes::Outlook outlook(std::uint32_t rank, const pdes::Moment& moment);

 private:
  // Least latencies to each other rank, of the unit of a tenant.
  struct UnitWays {
    std::uint32_t tenant = 0;
    std::uint32_t unit = 0;
    Regions exchange;  // to units that it exchanges data with
    Regions hand_on;   // to that of the next stage
    Regions carry;     // to those that take over from it
  };
  struct Ways {
    Regions heard;  // to the host
    std::vector<UnitWays> units;
    bool may_begin_beside = false;  // a step, while another is under way at the tile
    std::vector<Regions> told;      // of the host: [leads of tenants] to their tiles
  };

  void watch_tile(std::uint32_t index, const ServingCore& core);
  UnitWays ways_of(const ServiceSettings& tenant, std::uint32_t number, std::uint32_t unit) const;
  EntityId node_of(std::uint32_t tenant, std::uint32_t unit) const;
  const UnitWays& unit_ways(std::uint32_t tenant) const;

  void tell(std::uint32_t index) override;
  void tell_tile(std::uint32_t index, const ServingCore& core);
  void tell_walk(std::uint32_t index, const ServingCore& core, const Walking& walking);
  static bool waits_here(const ServingCore& core, const Walking& walking);
  void tell_from_host(std::uint32_t index, const Regions& regions);
  void tell_taking_over(std::uint32_t index, const UnitWays& unit);
  void tell_host(std::uint32_t index);
  void tell_host_of_slots(std::uint32_t index);
  void tell_host_of_whole_steps();
  void add_all(const Regions& regions, const Resumption& resumption, SimTime further);
  void add_leads(const Resumption& resumption, bool prepares);

  // A message that an entity waits for.
  Resumption message(std::uint32_t index, EntityId source, unsigned kind, std::uint16_t tag,
                     std::uint64_t word, Bytes bytes) const;
  // What a step at a tile goes on with, by each of the calls, and the part behind that.
  template <class Visit>
  void visit_resumptions(std::uint32_t index, const ServingCore& core, const Walking& walking,
                         const Visit& visit);
  // When a step in that place at the host is over at the soonest, as far as is known.
  std::optional<Resumption> end_of_slot(std::uint32_t index, std::uint16_t slot,
                                        std::uint32_t tenant);
  std::optional<Resumption> end_at_tile(EntityId node, std::uint16_t slot);
  SimTime estimate(const Resumption& resumption) const;
  std::uint32_t index_of(EntityId node) const;  // here; no_core: elsewhere

  const ServingWork& work_;
  std::span<const std::uint32_t> core_of_;
  const std::vector<ServingCore>& cores_;
  ServingWalks& walks_;
  const std::unique_ptr<ServingHost>& host_;
  std::map<EntityId, std::uint32_t> index_at_;
  std::uint32_t host_index_ = no_core;
  std::vector<Ways> ways_;  // [watched]
  bool prepares_ = false;   // steps wait for `batching.host` alone
  bool is_silent_ = false;  // nothing is said before the last steps
};

}  // namespace tessera::executor
