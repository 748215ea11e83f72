#include "serving/service_counts.hpp"

namespace tessera::executor {
namespace {

std::uint64_t ps(SimTime time) {
  return static_cast<std::uint64_t>(time.ps());
}

}  // namespace

std::optional<SimTime> ServedTimes::a_token() const {
  if (generated < 2) {
    return std::nullopt;
  }
  return SimTime::from_ps((whole - first).ps() / (generated - 1));
}

bool ServedTimes::meet(const Targets& targets) const {
  return first <= targets.first_token && whole <= targets.latency &&
         a_token().value_or(SimTime::zero()) <= targets.between_tokens;
}

void give_token(Service& service, SimTime now, std::optional<SimTime> since,
                const Targets& targets) {
  ++service.tokens;
  if (since) {
    service.between_tokens.add(ps(now - *since));
    service.late_tokens += now - *since > targets.between_tokens ? 1 : 0;
  }
}

void serve_first(Service& service, SimTime first, const Targets& targets) {
  service.first_token.add(ps(first));
  service.late_requests += first > targets.first_token ? 1 : 0;
}

void serve(Service& service, const ServedTimes& times, std::uint32_t samples,
           const ServiceSettings& tenant, const Targets& targets, bool with_first) {
  ++service.served;
  service.samples += samples;
  service.latency.add(ps(times.whole));
  service.met += times.meet(targets) ? 1 : 0;
  // Late by its end alone: a late first token has counted it, here or elsewhere.
  bool on_time = times.whole <= targets.latency;
  if (tenant.of_language) {
    on_time = on_time || times.first > targets.first_token;
    if (with_first) {
      serve_first(service, times.first, targets);
    }
  }
  service.late_requests += on_time ? 0 : 1;
}

void save(const Service& service, pdes::StateWriter& writer) {
  for (const std::uint64_t count : {service.served, service.samples, service.tokens, service.again,
                                    service.late_requests, service.late_tokens, service.met}) {
    writer.put(count);
  }
  service.first_token.save(writer);
  service.between_tokens.save(writer);
  service.latency.save(writer);
  service.windows.save(writer);
}

void restore(Service& service, pdes::StateReader& reader) {
  for (std::uint64_t* const count :
       {&service.served, &service.samples, &service.tokens, &service.again, &service.late_requests,
        &service.late_tokens, &service.met}) {
    *count = reader.get<std::uint64_t>();
  }
  service.first_token.restore(reader);
  service.between_tokens.restore(reader);
  service.latency.restore(reader);
  service.windows.restore(reader);
}

}  // namespace tessera::executor
