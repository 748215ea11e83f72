#include "sweep/service_columns.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <string_view>

#include "capacity/more_requests.hpp"
#include "tessera/explore/table/table.hpp"

namespace tessera::explore {
namespace {

const std::string services_head = "services.";
const std::string totals_head = "service_totals.";
constexpr std::string_view windows_head = "windows.";

// Paths of a service's numbers, with window 0 for any.
const std::set<std::string>& known_numbers() {
  static const std::set<std::string> known = [] {
    trace::Summary summary;
    trace::Service& service = summary.services.emplace_back();
    service.cost_a_million_tokens = 0;
    service.windows.resize(1);
    std::set<std::string> names;
    const std::string head = services_head + "0.";
    for (const auto& [name, number] : numbers_of(summary)) {
      if (name.starts_with(head)) {
        names.insert(name.substr(head.size()));
      }
    }
    return names;
  }();
  return known;
}

std::string of_any_window(const std::string& number) {
  if (!number.starts_with(windows_head)) {
    return number;
  }
  const std::size_t end = number.find_first_not_of("0123456789", windows_head.size());
  const bool is_numbered = end != std::string::npos && end > windows_head.size();
  return is_numbered ? std::string(windows_head) + "0" + number.substr(end) : number;
}

// A model that is served, with the name that its service has.
struct Served {
  std::string name;
  const config::Value* tenant = nullptr;
};

std::string text_of(const config::Value& value, const char* key) {
  const config::Value::Member* const member = value.find(key);
  return member == nullptr ? "" : member->value.text;
}

void add_served(const config::Value& job, const std::string& head, std::vector<Served>& served) {
  const config::Value* const tenants = value_at(job, "workload.tenants");
  if (tenants == nullptr) {
    return;
  }
  for (const config::Value& tenant : tenants->items) {
    const std::string name = text_of(tenant, "name");
    if (!name.empty() && tenant.find("requests") != nullptr) {
      served.push_back({head + name, &tenant});
    }
  }
}

// Of jobs that share the machine too, whose services are named JOB/NAME. `experiment` outlives it.
std::vector<Served> served_by(const config::Value& experiment) {
  std::vector<Served> served;
  add_served(experiment, "", served);
  const config::Value* const tenants = value_at(experiment, "workload.tenants");
  for (std::size_t i = 0; served.empty() && tenants != nullptr && i < tenants->items.size(); ++i) {
    add_served(tenants->items[i], text_of(tenants->items[i], "name") + "/", served);
  }
  return served;
}

}  // namespace

bool is_of_services(const std::string& column) {
  return column.starts_with(services_head) || column.starts_with(totals_head);
}

std::optional<ServiceColumn> split_name(const std::string& column) {
  ServiceColumn found;
  found.of_totals = column.starts_with(totals_head);
  const std::size_t begin = (found.of_totals ? totals_head : services_head).size();
  for (std::size_t dot = column.find('.', begin); dot != std::string::npos;
       dot = column.find('.', dot + 1)) {
    found.service = column.substr(begin, dot - begin);
    found.number = column.substr(dot + 1);
    if (!found.service.empty() && known_numbers().contains(of_any_window(found.number))) {
      const bool has_place = !found.of_totals || found.is_numbered();
      return has_place ? std::optional(found) : std::nullopt;
    }
  }
  return std::nullopt;
}

std::vector<std::string> served_names(const config::Value& experiment) {
  std::vector<std::string> names;
  for (const Served& served : served_by(experiment)) {
    names.push_back(served.name);
    const config::Value* const classes = value_at(*served.tenant, "classes");
    for (std::size_t i = 0; classes != nullptr && i < classes->items.size(); ++i) {
      names.push_back(served.name + " [" + text_of(classes->items[i], "name") + "]");
    }
  }
  return names;
}

bool is_served(const std::string& name, const std::vector<std::string>& served) {
  const std::size_t dot = name.rfind('.');
  const bool is_replica = dot != std::string::npos && dot + 1 < name.size() &&
                          name.find_first_not_of("0123456789", dot + 1) == std::string::npos;
  return std::ranges::any_of(served, [&](const std::string& one) {
    return one == name || (is_replica && one == name.substr(0, dot));
  });
}

std::vector<std::string> usual_service_columns(const config::Value& experiment) {
  std::vector<std::string> names;
  for (const Served& served : served_by(experiment)) {
    const std::string head = services_head + served.name + ".";
    if (served.tenant->find("language_model") != nullptr) {
      names.push_back(head + "first_token_ps.p99");
      names.push_back(head + "between_tokens_ps.p99");
    } else {
      names.push_back(head + "latency_ps.p99");
    }
    names.push_back(head + "met_per_s");
    if (served.tenant->find("price") != nullptr) {
      names.push_back(head + "cost_a_million_tokens");
    }
  }
  return names;
}

std::string met_column(const config::Value& experiment) {
  const std::vector<Served> served = served_by(experiment);
  return served.size() == 1 && has_target(*served.front().tenant) &&
                 value_at(experiment, "workload.tenants")->items.size() == 1
             ? services_head + served.front().name + ".met_per_s"
             : "";
}

namespace {

// Quantiles of nothing are 0 in a summary, beside a count of 0: here they are not there.
void leave_out_empty(std::map<std::string, std::string>& numbers) {
  constexpr std::string_view count = "_ps.count";
  std::erase_if(numbers, [&](const auto& number) {
    const std::string& name = number.first;
    const std::size_t dot = name.rfind('.');
    if (dot == std::string::npos || name.ends_with(count) || !is_of_services(name) ||
        !std::string_view(name).substr(0, dot).ends_with("_ps")) {
      return false;
    }
    const auto of_all = numbers.find(name.substr(0, dot) + ".count");
    return of_all != numbers.end() && of_all->second == "0";
  });
}

}  // namespace

void name_services(const trace::Summary& summary, std::map<std::string, std::string>& numbers) {
  leave_out_empty(numbers);
  const auto copy = [&](const std::string& from, const std::string& name) {
    const std::string to = services_head + name + ".";
    for (auto at = numbers.lower_bound(from); at != numbers.end() && at->first.starts_with(from);
         ++at) {
      numbers.emplace(to + at->first.substr(from.size()), at->second);
    }
  };
  for (std::size_t i = 0; i < summary.service_totals.size(); ++i) {
    copy(totals_head + std::to_string(i) + ".", summary.service_totals[i].tenant);
  }
  for (std::size_t i = 0; i < summary.services.size(); ++i) {
    copy(services_head + std::to_string(i) + ".", summary.services[i].tenant);
  }
}

}  // namespace tessera::explore
