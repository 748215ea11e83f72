// Columns of sweeps that are numbers of services.
//   services.N.NUMBER, service_totals.N.NUMBER   as summary.json has them, items counted from 0
//   services.NAME.NUMBER                         of the service of this name; of a model that has
//                                                replicas all of them together
// NUMBER is a path such as met_per_s, first_token_ps.p99 or windows.3.arrived.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/trace/summary.hpp"

namespace tessera::explore {

// Whether a name begins as these do.
bool is_of_services(const std::string& column);

struct ServiceColumn {
  bool of_totals = false;
  std::string service;  // name or number
  std::string number;
  bool is_numbered() const { return service.find_first_not_of("0123456789") == std::string::npos; }
};
// None: services have no such number.
std::optional<ServiceColumn> split_name(const std::string& column);

// Names of the models that an experiment serves, of classes of their requests with them ("chat
// [short]"), as summaries have them. As the configuration stands.
std::vector<std::string> served_names(const config::Value& experiment);
// Whether one of `served` has this name, or a replica of it: NAME.2.
bool is_served(const std::string& name, const std::vector<std::string>& served);

// Of each served model the times of its 99th percentile, requests a second that met their targets,
// and the cost of tokens where there is a price.
std::vector<std::string> usual_service_columns(const config::Value& experiment);
// Requests a second that met their targets, where one model is all that is served and it has
// targets; else empty.
std::string met_column(const config::Value& experiment);

// Adds numbers of services under their names to those under their places.
void name_services(const trace::Summary& summary, std::map<std::string, std::string>& numbers);

}  // namespace tessera::explore
