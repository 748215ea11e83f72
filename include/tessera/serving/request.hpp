// Requests of a tenant, and when they arrive.
//
// Arrivals are by name (`arrivals()`); each gives the same requests on every rank, from a seed.
//   fixed    one every `interval`, the first at `begin`
//   poisson  `rate` a second on average, independent of each other
//   closed   `clients` that each send the next request when the one before is over
//   list     each with its own time (a trace)
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
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
};

// Requests by number, in order of arrival. Immutable.
class RequestSource {
 public:
  virtual ~RequestSource() = default;
  // Requests there are; none: as many as asked for.
  virtual std::optional<std::uint64_t> count() const = 0;
  virtual Request request(std::uint64_t number) const = 0;
  // Of a closed loop; 0: requests come by themselves.
  virtual std::uint32_t clients() const { return 0; }
  // The largest that can come.
  virtual Request largest() const = 0;
  // Numbers of samples that one may have, ascending.
  virtual std::vector<std::uint32_t> samples() const = 0;
};

// What is asked of a tenant's requests.
struct RequestNeeds {
  bool of_language = false;  // prompts and tokens, else samples
  bool endless = false;      // a closed loop without an end
  std::uint64_t seed = 0;
};

using ArrivalMaker =
    std::function<std::unique_ptr<RequestSource>(config::Section&, const RequestNeeds&)>;
Registry<ArrivalMaker>& arrivals();
// The key that names them, in the section `requests` of a tenant.
ParameterInfo arrivals_parameter();

// Reads the section `requests` of a tenant; null after complaints.
std::unique_ptr<RequestSource> read_requests(config::Section section, const RequestNeeds& needs);

}  // namespace tessera::serving
