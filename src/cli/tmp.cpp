#include "tessera/trace/summary.hpp"
#include "commands.hpp"
namespace tessera::trace {
std::string to_json(const Summary& s) { return "{\"digest\":\"" + s.result_digest + "\"}\n"; }
Summary read_summary(const std::string&) { return {}; }
std::string to_table(const Summary& s) {
  std::string t = s.status + " " + s.message + " sim " + std::to_string(s.simulated_time_ps) + " ps ideal " + std::to_string(s.ideal_time_ps) + " events " + std::to_string(s.events) +
   " hops " + std::to_string(s.packet_hops) + " msgs " + std::to_string(s.messages) + " wall " + std::to_string(s.wall_s) + " cpu " + std::to_string(s.cpu_s)+ " ev/s " + std::to_string(s.events_per_s) + " digest " + s.result_digest +
   " rounds " + std::to_string(s.rounds) + " windows " + std::to_string(s.windows) + " wait " + std::to_string(s.waiting_s) + " samples/s " + std::to_string(s.throughput_samples_per_s) + " tflops " + std::to_string(s.achieved_flops_per_s/1e12) + "/" + std::to_string(s.peak_flops_per_s/1e12) + " rss " + std::to_string(s.peak_rss_bytes.empty()?0:s.peak_rss_bytes[0]/1048576) + " pred " + std::to_string(s.predicted_bytes/1048576) + "\n";
  for (size_t i = 0; i < s.breakdown.size(); ++i) { if (i>4 && i+2 < s.breakdown.size()) continue; t += s.breakdown[i].name; for (auto& [n, v] : s.breakdown[i].mean_ps) t += " " + n + " " + std::to_string(100.0*double(v)/double(s.simulated_time_ps)).substr(0,5); t += "\n"; }
  return t; }
}
namespace tessera::cli { int export_command(const Words&, comm::Communicator&) { return 0; } }
