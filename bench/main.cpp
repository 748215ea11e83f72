// tessera-bench: what the engine costs, on models that do little else.

#include <exception>
#include <iostream>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "case.hpp"
#include "report.hpp"
#include "tessera/comm/communicator.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/text.hpp"
#include "tessera/pdes/sync_policy.hpp"

namespace tessera::bench {
namespace {

using Words = std::vector<std::string>;

const std::vector<Case>& cases() {
  static const std::vector<Case> list{phold_case(), hold_case(),     mesh_case(),    ring_case(),
                                      flits_case(), flows_case(),    loggops_case(), sparse_case(),
                                      idle_case(),  systolic_case(), dram_case()};
  return list;
}

std::string usage() {
  std::string text =
      "usage: tessera-bench CASE [options]\n"
      "Measures the event engine; runs alone or under mpirun.\n\n";
  for (const Case& each : cases()) {
    std::string left = "  " + each.name;
    left.resize(12, ' ');
    text += left + each.help + "\n";
  }
  return text +
         "\ntessera-bench CASE --help explains the options of one.\n"
         "Exit codes: 0 done, 1 the engines' results differ, 2 bad options, 3 the model cannot go "
         "on,\n70 internal.\n";
}

const Case& case_of(const std::string& name) {
  Words names;
  for (const Case& each : cases()) {
    if (each.name == name) {
      return each;
    }
    names.push_back(each.name);
  }
  throw ConfigError(unknown_name("case", name, names));
}

OptionList options_of(const Case& chosen) {
  OptionList options;
  chosen.describe(options);
  options("engine", join(chosen.engines), text_option("tessera"), "NAME");
  options("policy", "of synchronisation between ranks: " + join(pdes::sync_policies().names()),
          text_option("window"), "NAME");
  options("threads", "ranks, as threads of this process", text_option("1"), "N");
  options("repeat", "runs to make; the best and the median are reported", text_option("1"), "N");
  options("seed", "of the random numbers", text_option("1"), "N");
  options("json", "one JSON object instead of a table");
  options("h,help", "this text");
  return options;
}

Setting setting_of(const CaseOptions& options, const Case& chosen) {
  Setting setting;
  setting.engine = chosen.engines[options.choice("engine", chosen.engines)];
  setting.policy = options.text("policy");
  options.choice("policy", pdes::sync_policies().names());
  setting.repeats = options.count32("repeat", 1, 1000);
  setting.seed = options.count("seed", 0, std::numeric_limits<std::int64_t>::max());
  return setting;
}

std::optional<Report> run(const Case& chosen, const CaseOptions& options,
                          comm::Communicator& world) {
  Setting setting = setting_of(options, chosen);
  const auto threads = static_cast<int>(options.count("threads", 1, 1024));
  std::optional<Report> report;
  const auto body = [&](comm::Communicator& communicator) {
    Report own = chosen.run(options, setting, communicator);
    if (communicator.rank() == 0) {
      own.name = chosen.name;
      report = std::move(own);
    }
  };
  if (threads == 1) {
    body(world);
  } else if (world.size() == 1) {
    setting.ranks_are_threads = true;
    comm::run_ranks_as_threads(threads, body);
  } else {
    throw ConfigError("--threads: not under mpirun");
  }
  return report;
}

int dispatch(const Words& words, comm::Communicator& world) {
  const bool first = world.rank() == 0;
  if (words.empty() || words[0] == "--help" || words[0] == "-h") {
    if (first) {
      (words.empty() ? std::cerr : std::cout) << usage();
    }
    return words.empty() ? 2 : 0;
  }
  const Case& chosen = case_of(words[0]);
  const OptionList description = options_of(chosen);
  const CaseOptions options(description, Words(words.begin() + 1, words.end()));
  if (options.given("help")) {
    std::cout << (first ? description.help("tessera-bench " + chosen.name, chosen.help) : "");
    return 0;
  }
  const std::optional<Report> report = run(chosen, options, world);
  if (!report) {
    return 0;
  }
  std::cout << (options.given("json") ? as_json(*report) : as_table(*report)) << std::flush;
  if (!identical(*report)) {
    std::cerr << "error: the two engines' results differ" << std::endl;
    return 1;
  }
  return 0;
}

// Bad options are the same on all ranks, and said once; what befalls one rank ends the others.
int fail(comm::Communicator& world, const std::string& what, int code, bool all) {
  if (!all || world.rank() == 0) {
    std::cerr << what << std::endl;
  }
  if (!all && world.size() > 1) {
    world.abort(code);
  }
  return code;
}

int guarded(const Words& words, comm::Communicator& world) {
  try {
    return dispatch(words, world);
  } catch (const comm::Aborted& aborted) {
    return aborted.code();
  } catch (const ConfigError& error) {
    std::string what = error.what();
    if (what.find("error: ") == std::string::npos) {
      what = "error: " + what;
    }
    return fail(world, what, error.exit_code(), true);
  } catch (const Error& error) {
    return fail(world, std::string("error: ") + error.what(), error.exit_code(), false);
  } catch (const std::exception& error) {
    return fail(world, std::string("internal error: ") + error.what(), 70, false);
  }
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  try {
    tessera::comm::Session session(argc, argv);
    const std::vector<std::string> words(argv + 1, argv + argc);
    return tessera::bench::guarded(words, session.world());
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << std::endl;
    return 70;
  }
}
