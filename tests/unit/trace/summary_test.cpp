#include "tessera/trace/summary.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "trace_test_support.hpp"

namespace tessera::trace::test::summary_test {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::uint64_t beyond_double = (std::uint64_t{1} << 53) + 1;

Summary sample() {
  Summary s;
  s.status = "finished";
  s.experiment = "gpt \"small\"";
  s.machine = "4x4 mesh";
  s.workload = "transformer";
  s.notes = {"a tile stands for 4", "no link is shared"};
  s.simulated_time_ps = std::numeric_limits<std::int64_t>::max();
  s.iteration_time_ps = 2'000'000'000;
  s.ideal_time_ps = 1'000'000'000;
  s.iterations = std::numeric_limits<std::uint32_t>::max();
  s.throughput_samples_per_s = 0.1;
  s.achieved_flops_per_s = 1.25e12;
  s.peak_flops_per_s = 5e12;
  s.breakdown = {{"total", 16, {{"compute", beyond_double}, {"bubble", beyond_double}}},
                 {"stage 0", 8, {{"compute", 3}, {"bubble", 1}}},
                 {"stage 1", 8, {{"compute", 0}, {"bubble", 0}}}};
  s.tiles = 16;
  s.events = std::numeric_limits<std::uint64_t>::max();
  s.packet_hops = beyond_double;
  s.messages = 3;
  s.windows = 4;
  s.rounds = 5;
  s.remote_events = 6;
  s.waiting_s = 0.25;
  s.wall_s = 1.5;
  s.cpu_s = 3;
  s.events_per_s = 1.25e7;
  s.ranks = 2;
  s.communicator = "mpi";
  s.partition = "blocks";
  s.weights = "predicted";
  s.synchronization = "window";
  s.links = 48;
  s.cut_links = 12;
  s.imbalance = 1.0625;
  s.rank_events = {10, 30};
  s.peak_rss_bytes = {beyond_double, 1};
  s.predicted_bytes = 1'500'000'000;
  s.result_digest = "00ff";
  s.trace = "full";
  s.version = "0.1.0";
  s.git_hash = "abc";
  s.mpi = "Open MPI";
  s.hdf5 = "1.10.8";
  return s;
}

Summary sample_of_tenants() {
  Summary s = sample();
  s.tenants = {{"chat", "gpt", 12, 3, 5, beyond_double, 7, 0.5, 1e12, 2e12}, {}};
  return s;
}

Summary read_text(const std::string& text) {
  const TempFolder folder;
  write_contents(folder.file("summary.json"), text);
  return read_summary(folder.file("summary.json"));
}

TEST(Summary, ComesBackAsItWas) {
  const Summary before = sample_of_tenants();
  const std::string text = to_json(before);
  const Summary after = read_text(text);
  EXPECT_EQ(to_json(after), text);
  EXPECT_EQ(after.simulated_time_ps, before.simulated_time_ps);
  EXPECT_EQ(after.iterations, before.iterations);
  EXPECT_EQ(after.events, before.events);
  EXPECT_EQ(after.packet_hops, beyond_double);
  EXPECT_EQ(after.throughput_samples_per_s, 0.1);
  EXPECT_EQ(after.peak_rss_bytes, before.peak_rss_bytes);
  EXPECT_EQ(after.experiment, before.experiment);
  EXPECT_EQ(after.trace, "full");
  EXPECT_EQ(after.hdf5, "1.10.8");
  ASSERT_EQ(after.breakdown.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(after.breakdown[i].name, before.breakdown[i].name);
    EXPECT_EQ(after.breakdown[i].tiles, before.breakdown[i].tiles);
    EXPECT_EQ(after.breakdown[i].mean_ps, before.breakdown[i].mean_ps);
  }
  ASSERT_EQ(after.tenants.size(), 2U);
  EXPECT_EQ(after.tenants[0].name, "chat");
  EXPECT_EQ(after.tenants[0].workload, "gpt");
  EXPECT_EQ(after.tenants[0].end_ps, static_cast<std::int64_t>(beyond_double));
  EXPECT_EQ(after.tenants[0].peak_flops_per_s, 2e12);
  EXPECT_TRUE(read_text(to_json([] {
                Summary s;
                s.status = "running";
                return s;
              }()))
                  .breakdown.empty());
}

TEST(Summary, IsJsonWithUnitsInItsKeys) {
  const std::string text = to_json(sample());
  EXPECT_THAT(text, ::testing::StartsWith("{\n  \"file_type\": \"tessera-summary\",\n"));
  EXPECT_EQ(text.back(), '\n');
  EXPECT_THAT(text, HasSubstr("\"events\": 18446744073709551615"));
  EXPECT_THAT(text, HasSubstr("\"simulated_time_ps\": 9223372036854775807"));
  const Json json = Json::parse(text);
  EXPECT_EQ(json["breakdown"]["total"]["tiles"], 16);
  EXPECT_EQ(json["breakdown"]["total"]["compute"]["mean_ps"].get<std::uint64_t>(), beyond_double);
  EXPECT_EQ(json["breakdown"]["total"]["compute"]["share"], 0.5);
  EXPECT_EQ(json["breakdown"]["stages"][0]["name"], "stage 0");
  EXPECT_EQ(json["breakdown"]["stages"][0]["compute"]["share"], 0.75);
  EXPECT_EQ(json["breakdown"]["stages"][1]["compute"]["share"], 0.0);
  EXPECT_EQ(json["versions"],
            (Json{{"tessera", "0.1.0"}, {"git", "abc"}, {"mpi", "Open MPI"}, {"hdf5", "1.10.8"}}));
}

TEST(Summary, KeepsWhatWorkHasMeasured) {
  Summary s = sample_of_tenants();
  s.measured = {
      {"noise", {{"sent", beyond_double}, {"sent_rate", 2.0}, {"latency_mean_ps", 1500U}}},
      {"other", {{"sent_bytes", 64'000U}}}};
  const Summary after = read_text(to_json(s));
  EXPECT_EQ(to_json(after), to_json(s));
  ASSERT_EQ(after.measured.size(), 2U);
  EXPECT_EQ(after.measured[0].tenant, "noise");
  ASSERT_EQ(after.measured[0].measures.size(), 3U);
  EXPECT_EQ(std::get<std::uint64_t>(after.measured[0].measures[0].value), beyond_double);
  EXPECT_EQ(std::get<double>(after.measured[0].measures[1].value), 2.0);
  const std::string table = to_table(s);
  EXPECT_THAT(table, ::testing::ContainsRegex("measured +noise +other\n"));
  EXPECT_THAT(table, ::testing::ContainsRegex("latency mean +1.5 ns +-\n"));
  EXPECT_THAT(table, ::testing::ContainsRegex("sent bytes +- +64 kB\n"));
}

// Of a machine file that states constants for all kinds of work.
TEST(Summary, NamesKeysOfTheMachineWithoutEffectTogether) {
  const std::string rows = "machine.compute.norm_row_bandwidth has no effect with such work";
  const std::string fill = "machine.compute.attention_fill has no effect with other work";
  const std::string way = "machine.network.library has no effect with analytical";
  const std::string own = "strategy.prefetch has no effect with less than zero: 3";
  const std::string also = "strategy.gather has no effect with less than zero: 3";
  const std::vector<std::string> alone{way, rows, own, also};
  EXPECT_EQ(notes_for_people(alone), alone);
  EXPECT_THAT(notes_for_people({own, rows, way, fill, also}),
              ::testing::ElementsAre(own,
                                     "machine.compute: norm_row_bandwidth, attention_fill have no "
                                     "effect with this work (tessera check says why)",
                                     way, also));
  Summary s = sample();
  s.notes = {rows, fill};
  EXPECT_THAT(to_table(s), HasSubstr("norm_row_bandwidth, attention_fill have no effect"));
  EXPECT_THAT(to_json(s), ::testing::AllOf(HasSubstr(rows), HasSubstr(fill)));
}

TEST(Summary, ShowsTenantsInATable) {
  const std::string text = to_table(sample_of_tenants());
  EXPECT_THAT(text,
              ::testing::ContainsRegex("chat +gpt +12 +3 +5 ps +[0-9.]+ s +7 ps +0.5 samples/s"));
  EXPECT_THAT(to_table(sample()), Not(HasSubstr("tenant")));
}

TEST(Summary, ShowsHowRequestsOfATenantWereServed) {
  Summary s;
  s.simulated_time_ps = 4'000'000'000;
  s.tenants = {{"chat", "serving", 4, 1, 500'000'000, 2'500'000'000, 1, 0, 0, 0}, {}};
  s.services.resize(2);
  s.services[0].tenant = "chat/long";
  s.services[1].tenant = "by itself";
  for (Service& service : s.services) {
    service.tokens = 8;
  }
  EXPECT_THAT(to_table(s), ::testing::ContainsRegex("chat/long +0 +4 ktokens/s"));
  EXPECT_THAT(to_table(s), ::testing::ContainsRegex("by itself +0 +2 ktokens/s"));
}

TEST(Summary, IsValidJsonWhateverItHolds) {
  Summary s = sample();
  s.message = "bad byte \xff, quote \", line\nend";
  s.wall_s = std::nan("");
  s.events_per_s = std::numeric_limits<double>::infinity();
  const Summary after = read_text(to_json(s));
  EXPECT_EQ(after.message, "bad byte \xEF\xBF\xBD, quote \", line\nend");
  EXPECT_EQ(after.wall_s, 0);
  EXPECT_EQ(after.events_per_s, 0);
}

TEST(Summary, ToleratesUnknownAndMissingKeys) {
  const Summary s = read_text(R"({"file_type": "tessera-summary", "format_version": "1.9",
      "status": "stopped", "new": {"a": [1]}, "wall_s": 3, "events": null,
      "breakdown": {"note": 1, "total": {"tiles": 2, "note": "x", "compute": {"mean_ps": 7}}},
      "versions": {"mpi": "m", "cuda": 3}})");
  EXPECT_EQ(s.status, "stopped");
  EXPECT_EQ(s.wall_s, 3.0);
  EXPECT_EQ(s.events, 0U);
  EXPECT_EQ(s.mpi, "m");
  ASSERT_EQ(s.breakdown.size(), 1U);
  EXPECT_THAT(s.breakdown[0].mean_ps,
              ElementsAre(std::pair<std::string, std::uint64_t>("compute", 7)));
}

TEST(Summary, RefusesWhatIsNone) {
  const auto fault = [](const std::string& text) {
    return message_of<IoError>([&] { read_text(text); });
  };
  const auto with = [](const std::string& member) {
    return R"({"file_type": "tessera-summary", "format_version": "1.0", "status": "x", )" + member +
           "}";
  };
  EXPECT_THAT(fault(""), HasSubstr("summary.json: error: is no summary of a run: not JSON"));
  EXPECT_THAT(fault("{\"status\": "), HasSubstr("not JSON"));
  EXPECT_THAT(fault(std::string(200'000, '[')), HasSubstr("not JSON"));
  EXPECT_THAT(fault(std::string(200'000, '[') + std::string(200'000, ']')),
              HasSubstr("not JSON"));  // of this program: it nests a few levels
  EXPECT_THAT(fault("[]"), HasSubstr("no keys and values"));
  EXPECT_THAT(fault("{}"), HasSubstr("its file type is ''"));
  EXPECT_THAT(fault(R"({"file_type": "tessera-manifest"})"), HasSubstr("'tessera-manifest'"));
  EXPECT_THAT(fault(R"({"file_type": "tessera-summary", "format_version": "2.0"})"),
              HasSubstr("its format version is '2.0'; this program reads 1.x"));
  EXPECT_THAT(fault(R"({"file_type": "tessera-summary", "format_version": "1.0"})"),
              HasSubstr("no status"));
  for (const char* number : {"1.5", "-1", "18446744073709551616", "\"3\"", "true", "[]"}) {
    EXPECT_THAT(fault(with(R"("events": )" + std::string(number))),
                HasSubstr("'events' is not a whole number in range"))
        << number;
  }
  EXPECT_THAT(fault(with(R"("iterations": 4294967296)")), HasSubstr("'iterations'"));
  EXPECT_THAT(fault(with(R"("ranks": -2147483649)")), HasSubstr("'ranks'"));
  EXPECT_THAT(fault(with(R"("simulated_time_ps": 9223372036854775808)")),
              HasSubstr("'simulated_time_ps'"));
  EXPECT_THAT(fault(with(R"("machine": 3)")), HasSubstr("'machine' is not a text"));
  EXPECT_THAT(fault(with(R"("wall_s": "3")")), HasSubstr("'wall_s' is not a number"));
  EXPECT_THAT(fault(with(R"("peak_rss_bytes": 3)")), HasSubstr("is not a list"));
  EXPECT_THAT(fault(with(R"("peak_rss_bytes": [1, 1.5])")), HasSubstr("'peak_rss_bytes'"));
  EXPECT_THAT(fault(with(R"("breakdown": [])")), HasSubstr("'breakdown' has no keys"));
  EXPECT_THAT(fault(with(R"("breakdown": {"stages": {}})")),
              HasSubstr("'breakdown.stages' is not a list"));
  EXPECT_THAT(fault(with(R"("breakdown": {"stages": [{}, 3]})")),
              HasSubstr("'breakdown.stages.1' has no keys"));
  EXPECT_THAT(fault(with(R"("breakdown": {"total": {"compute": {"mean_ps": -1}}})")),
              HasSubstr("'breakdown.total.compute.mean_ps'"));
  EXPECT_THAT(fault(with(R"("versions": 1)")), HasSubstr("'versions' has no keys"));
  const TempFolder folder;
  EXPECT_THAT(message_of<IoError>([&] { read_summary(folder.file("none.json")); }),
              HasSubstr("No such file"));
  EXPECT_THAT(message_of<IoError>([&] { read_summary(folder.path()); }), HasSubstr("directory"));
}

TEST(Summary, SurvivesEveryDamage) {
  const TempFolder folder;
  const std::string path = folder.file("summary.json");
  const std::string text = to_json(sample());
  int refused = 0;
  for (std::size_t place = 0; place < text.size(); ++place) {
    std::string damaged = text;
    if (place % 3 == 0) {
      damaged.resize(place);
    } else {
      damaged[place] = static_cast<char>(damaged[place] ^ (1 << place % 8));
    }
    write_contents(path, damaged);
    try {
      EXPECT_FALSE(read_summary(path).status.empty());
    } catch (const IoError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, static_cast<int>(text.size() / 3));
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::stringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(line);
  }
  return lines;
}

TEST(SummaryTable, SaysWhatMatters) {
  Summary s = sample();
  s.simulated_time_ps = 4'000'000'000;
  s.iterations = 2;
  s.throughput_samples_per_s = 1234.5678;
  s.peak_rss_bytes = {1'000'000'000, 1'234'567'890};
  const std::vector<std::string> lines = lines_of(to_table(s));
  EXPECT_THAT(
      lines,
      ElementsAre(
          "status          finished", "experiment      gpt \"small\"", "machine         4x4 mesh",
          "workload        transformer", "simulated time  4 ms",
          "iteration time  2 ms, 2 iterations",
          "ideal time      1 ms (50.0 % of the iteration time)", "throughput      1.235 ksamples/s",
          "achieved        1.25 TFLOP/s (25.0 % of the peak of 5 TFLOP/s)", "tiles           16",
          "messages        3, 9007199254740993 packet hops",
          "events          18446744073709551615, 12.5 Mevents/s",
          "wall time       1.500 s, processors 3.000 s, waiting 0.250 s a rank",
          "ranks           2, mpi, blocks, window",
          "balance         1.062 by weight (predicted), 1.5 by events, 12 links "
          "cut (25.0 % of all)",
          "memory          1.235 GB of the largest rank, 1.5 GB predicted", "digest          00ff",
          "note            a tile stands for 4", "note            no link is shared", "",
          "share of time  tiles  compute %  bubble %", "total             16       50.0      50.0",
          "stage 0            8       75.0      25.0", "stage 1            8  -          -"));
}

TEST(SummaryTable, SaysThatARunThatHasNotEndedHasNoIterationTime) {
  Summary s = sample();
  s.status = "stopped";
  s.iteration_time_ps = 0;
  s.throughput_samples_per_s = 0;
  EXPECT_THAT(to_table(s), HasSubstr("iteration time  not known: the run has not ended\n"));
  EXPECT_THAT(to_table(s), Not(HasSubstr("samples/s")));
}

TEST(SummaryTable, RoundsToTheNextPrefix) {
  Summary s;
  s.status = "finished";
  s.throughput_samples_per_s = 999.96;
  EXPECT_THAT(to_table(s), HasSubstr("throughput      1 ksamples/s\n"));
  s.throughput_samples_per_s = 999.94;
  EXPECT_THAT(to_table(s), HasSubstr("throughput      999.9 samples/s\n"));
  s.throughput_samples_per_s = 0.0123449;
  EXPECT_THAT(to_table(s), HasSubstr("throughput      0.01234 samples/s\n"));
  s.achieved_flops_per_s = 1.7e308;
  s.wall_s = 1.7e308;
  s.waiting_s = std::numeric_limits<double>::infinity();
  EXPECT_THAT(to_table(s), HasSubstr("waiting inf s"));
}

TEST(SummaryTable, LeavesOutAnIdealTimeThatIsNotKnown) {
  Summary s = sample();
  EXPECT_THAT(to_table(s), HasSubstr("ideal time "));
  s.ideal_time_ps = 0;
  EXPECT_THAT(to_table(s), Not(HasSubstr("ideal time")));
  EXPECT_THAT(to_table(s), HasSubstr("iteration time "));
}

TEST(SummaryTable, ShowsWhyARunEnded) {
  Summary s;
  s.status = "deadlock";
  s.message = "two tiles wait:\n  tile 1\n  tile 2";
  EXPECT_THAT(to_table(s), ::testing::StartsWith("status          deadlock: two tiles wait:\n"
                                                 "                  tile 1\n"
                                                 "                  tile 2\n"));
  EXPECT_THAT(to_table(s), Not(HasSubstr("%"))) << "no shares of nothing";
}

TEST(SummaryTable, LeavesOutReplicasInTheMiddle) {
  const auto table_of = [](std::size_t replicas) {
    Summary s = sample();
    for (std::size_t number = 0; number < replicas; ++number) {
      s.services.emplace_back().tenant = "chat." + std::to_string(number);
    }
    s.service_totals.emplace_back().tenant = "chat";
    return to_table(s);
  };
  const auto rows = [](const std::string& text) {
    return std::count(text.begin(), text.end(), '\n');
  };
  EXPECT_THAT(table_of(64), Not(HasSubstr("…")));
  EXPECT_EQ(rows(table_of(64)) - rows(table_of(512)), 64 - (8 + 1 + 8));
  EXPECT_THAT(table_of(512), HasSubstr("\nchat.7 "));
  EXPECT_THAT(table_of(512), Not(HasSubstr("\nchat.8 ")));
  EXPECT_THAT(table_of(512), Not(HasSubstr("\nchat.503 ")));
  EXPECT_THAT(table_of(512), HasSubstr("\nchat.504 "));
  EXPECT_THAT(table_of(512), HasSubstr("\nchat (all replicas)"));
}

TEST(SummaryTable, LeavesOutMiddleStages) {
  Summary s = sample();
  const auto names = [&s](std::size_t stages) {
    s.breakdown.resize(1);
    for (std::size_t stage = 0; stage < stages; ++stage) {
      s.breakdown.push_back({"stage " + std::to_string(stage), 1, {{"compute", 1}}});
    }
    std::vector<std::string> lines = lines_of(to_table(s));
    lines.erase(lines.begin(), std::find(lines.begin(), lines.end(), "") + 3);
    std::vector<std::string> result;
    for (const std::string& line : lines) {
      result.push_back(line.substr(0, line.find("  ")));
    }
    return result;
  };
  EXPECT_THAT(names(12), ::testing::SizeIs(12));
  EXPECT_THAT(names(13), ElementsAre("stage 0", "stage 1", "stage 2", "stage 3", "stage 4", "…",
                                     "stage 8", "stage 9", "stage 10", "stage 11", "stage 12"));
}

}  // namespace
}  // namespace tessera::trace::test::summary_test
