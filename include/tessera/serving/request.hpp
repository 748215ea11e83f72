// Requests of a tenant, and when they arrive.
//
// Arrivals are by name (`arrivals()`); each gives the same requests on every rank, from a seed.
//   fixed    one every `interval`, the first at `begin`
//   poisson  `rate` a second on average, independent of each other
//   gamma    the same with gaps of a gamma distribution: bursts, where they vary more
//   diurnal  independent of each other, at a rate that goes up and down with the time of day
//   closed   `clients` that each send the next request when the one before is over, after a while
//   list     each with its own time
//   trace    the same, of a file as services and benchmarks write them
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/core/registry.hpp"
#include "tessera/core/time.hpp"

namespace tessera::serving {

struct Request {
  SimTime arrival;             // of a closed loop: set when it arrives
  std::uint32_t samples = 1;   // of models that are no language models
  std::uint32_t prompt = 0;    // tokens
  std::uint32_t generate = 0;  // tokens
  std::uint32_t prefix = 0;    // number of a prompt's beginning that others share; 0: none
  std::uint32_t prefix_tokens = 0;
  std::uint32_t of_class =
      0;                      // number of its class, from 1 on (serving/request_class.hpp); 0: none
  std::uint32_t adapter = 0;  // number of its adapter, from 1 on; 0: none
};

// Times of arrival of requests, one after the other. Its source must outlive it.
class ArrivalTimes {
 public:
  virtual ~ArrivalTimes() = default;
  virtual SimTime next() = 0;
};

// Requests by number, in order of arrival. Immutable.
class RequestSource {
 public:
  virtual ~RequestSource() = default;
  // Requests there are; none: as many as asked for.
  virtual std::optional<std::uint64_t> count() const = 0;
  virtual Request request(std::uint64_t number) const = 0;
  // The same without its arrival, which may take long where it follows from those before.
  virtual Request untimed(std::uint64_t number) const { return request(number); }
  // Times from that request on.
  virtual std::unique_ptr<ArrivalTimes> times_from(std::uint64_t number) const;
  // Of the last request, where there is one and they come by themselves.
  virtual SimTime last_arrival() const { return request(*count() - 1).arrival; }
  // Of a closed loop; 0: requests come by themselves.
  virtual std::uint32_t clients() const { return 0; }
  // Of a closed loop: how long a client waits with request `number` after it was served before, or
  // since the beginning.
  virtual SimTime think(std::uint64_t /*number*/) const { return SimTime::zero(); }
  // Numbers of the blocks of `piece_tokens` that a prompt begins with, which stand for these tokens
  // and all before them; requests that have the same ones first have that much in common. None
  // where nothing is known. Valid until others are asked for.
  virtual std::span<const std::uint32_t> pieces(std::uint64_t /*number*/) const { return {}; }
  virtual std::uint32_t piece_tokens() const { return 0; }
  // Whether prompts may begin as others do, by name or by such blocks.
  virtual bool shares_beginnings() const = 0;
  // As of the request; for those who ask for nothing else.
  virtual std::uint32_t class_of(std::uint64_t /*number*/) const { return 0; }
  // The largest number of samples that can come; prompt and tokens to generate of the request that
  // has most of both together.
  virtual Request largest() const = 0;
  // Numbers of samples that one may have, ascending.
  virtual std::vector<std::uint32_t> samples() const = 0;
  virtual std::size_t resident_bytes() const { return 0; }
  // Whether the seed decides anything of them.
  virtual bool is_drawn() const { return true; }
  // What should be known of them: what a file has that was left out.
  virtual std::vector<std::string> notes() const { return {}; }
};

// What is asked of a tenant's requests.
struct RequestNeeds {
  bool of_language = false;  // prompts and tokens, else samples
  bool endless = false;      // a closed loop without an end
  std::uint64_t seed = 0;
  std::span<const std::string> classes{};  // names that requests may say they belong to
  std::uint32_t adapters = 0;              // that requests may say they use
  std::uint32_t longest = 0;               // tokens of a request with those it generates; 0: any
};

using ArrivalMaker =
    std::function<std::unique_ptr<RequestSource>(config::Section&, const RequestNeeds&)>;
Registry<ArrivalMaker>& arrivals();
// The key that names them, in the section `requests` of a tenant.
ParameterInfo arrivals_parameter();

// Reads the section `requests` of a tenant; null after complaints.
std::unique_ptr<RequestSource> read_requests(config::Section section, const RequestNeeds& needs);

}  // namespace tessera::serving
