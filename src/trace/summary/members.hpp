// Every member of a summary with its key, in the order of the file: what writes summary.json and
// what reads it go by one list, so that they cannot differ.
#pragma once

#include "tessera/trace/summary.hpp"

namespace tessera::trace {

inline constexpr const char* summary_file_type = "tessera-summary";

// Calls visit(key, member) for every member that is a plain value or a list of them.
template <class AnySummary, class Visit>
void visit_members(AnySummary& summary, Visit visit) {
  visit("status", summary.status);
  visit("message", summary.message);
  visit("experiment", summary.experiment);
  visit("machine", summary.machine);
  visit("workload", summary.workload);
  visit("notes", summary.notes);
  visit("simulated_time_ps", summary.simulated_time_ps);
  visit("iteration_time_ps", summary.iteration_time_ps);
  visit("ideal_time_ps", summary.ideal_time_ps);
  visit("iterations", summary.iterations);
  visit("replayed_micro_batches", summary.replayed_micro_batches);
  visit("throughput_samples_per_s", summary.throughput_samples_per_s);
  visit("steady_throughput_samples_per_s", summary.steady_throughput_samples_per_s);
  visit("achieved_flops_per_s", summary.achieved_flops_per_s);
  visit("peak_flops_per_s", summary.peak_flops_per_s);
  visit("samples_per_iteration", summary.samples_per_iteration);
  visit("tokens_per_iteration", summary.tokens_per_iteration);
  visit("flops_per_iteration", summary.flops_per_iteration);
  visit("executed_flops_per_iteration", summary.executed_flops_per_iteration);
  visit("energy_j_per_iteration", summary.energy_j_per_iteration);
  visit("power_w_per_tile", summary.power_w_per_tile);
  visit("message_bytes", summary.message_bytes);
  visit("collective_bytes", summary.collective_bytes);
  visit("memory_read_bytes", summary.memory_read_bytes);
  visit("memory_written_bytes", summary.memory_written_bytes);
  visit("memory_bytes", summary.memory_bytes);
  visit("breakdown", summary.breakdown);
  visit("peak_memory", summary.peak_memory);
  visit("services", summary.services);
  visit("service_totals", summary.service_totals);
  visit("measured", summary.measured);
  visit("tenants", summary.tenants);
  visit("tiles", summary.tiles);
  visit("events", summary.events);
  visit("packet_hops", summary.packet_hops);
  visit("messages", summary.messages);
  visit("windows", summary.windows);
  visit("rounds", summary.rounds);
  visit("waits", summary.waits);
  visit("remote_events", summary.remote_events);
  visit("waiting_s", summary.waiting_s);
  visit("wall_s", summary.wall_s);
  visit("cpu_s", summary.cpu_s);
  visit("events_per_s", summary.events_per_s);
  visit("ranks", summary.ranks);
  visit("communicator", summary.communicator);
  visit("partition", summary.partition);
  visit("weights", summary.weights);
  visit("synchronization", summary.synchronization);
  visit("links", summary.links);
  visit("cut_links", summary.cut_links);
  visit("imbalance", summary.imbalance);
  visit("rank_events", summary.rank_events);
  visit("segments", summary.segments);
  visit("peak_rss_bytes", summary.peak_rss_bytes);
  visit("predicted_bytes", summary.predicted_bytes);
  visit("result_digest", summary.result_digest);
  visit("trace", summary.trace);
}

template <class AnyService, class Visit>
void visit_service(AnyService& service, Visit visit) {
  visit("tenant", service.tenant);
  visit("served", service.served);
  visit("samples", service.samples);
  visit("tokens", service.tokens);
  visit("again", service.again);
  visit("late_requests", service.late_requests);
  visit("late_tokens", service.late_tokens);
  visit("cache_blocks", service.cache_blocks);
  visit("met", service.met);
  visit("npus", service.npus);
  visit("met_per_s", service.met_per_s);
  visit("cost_a_million_tokens", service.cost_a_million_tokens);
  visit("on_s", service.on_s);
  visit("first_token_ps", service.first_token);
  visit("between_tokens_ps", service.between_tokens);
  visit("a_token_ps", service.a_token);
  visit("latency_ps", service.latency);
  visit("window_ps", service.window_ps);
  visit("last_window_ps", service.last_window_ps);
  visit("windows", service.windows);
}

template <class AnyWindow, class Visit>
void visit_window(AnyWindow& window, Visit visit) {
  visit("arrived", window.arrived);
  visit("served", window.served);
  visit("met", window.met);
  visit("tokens", window.tokens);
  visit("running", window.running);
  visit("waiting", window.waiting);
  visit("cache_blocks", window.cache_blocks);
  visit("replicas", window.replicas);
  visit("first_token_ps", window.first_token);
  visit("a_token_ps", window.a_token);
  visit("latency_ps", window.latency);
}

template <class AnyQuantiles, class Visit>
void visit_quantiles(AnyQuantiles& quantiles, Visit visit) {
  visit("count", quantiles.count);
  visit("mean", quantiles.mean);
  visit("p50", quantiles.p50);
  visit("p90", quantiles.p90);
  visit("p95", quantiles.p95);
  visit("p99", quantiles.p99);
  visit("most", quantiles.most);
}

template <class AnyPeak, class Visit>
void visit_peak(AnyPeak& peak, Visit visit) {
  visit("name", peak.name);
  visit("bytes", peak.bytes);
  visit("phase", peak.phase);
  visit("micro_batch", peak.micro_batch);
  visit("chunk", peak.chunk);
}

template <class AnyTenant, class Visit>
void visit_tenant(AnyTenant& tenant, Visit visit) {
  visit("name", tenant.name);
  visit("workload", tenant.workload);
  visit("tiles", tenant.tiles);
  visit("iterations", tenant.iterations);
  visit("start_ps", tenant.start_ps);
  visit("end_ps", tenant.end_ps);
  visit("iteration_time_ps", tenant.iteration_time_ps);
  visit("throughput_samples_per_s", tenant.throughput_samples_per_s);
  visit("achieved_flops_per_s", tenant.achieved_flops_per_s);
  visit("peak_flops_per_s", tenant.peak_flops_per_s);
  visit("samples_per_iteration", tenant.samples_per_iteration);
  visit("flops_per_iteration", tenant.flops_per_iteration);
  visit("executed_flops_per_iteration", tenant.executed_flops_per_iteration);
}

template <class AnySummary, class Visit>
void visit_versions(AnySummary& summary, Visit visit) {
  visit("tessera", summary.version);
  visit("git", summary.git_hash);
  visit("mpi", summary.mpi);
  visit("hdf5", summary.hdf5);
}

}  // namespace tessera::trace
