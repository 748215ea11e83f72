// The largest rate at which a service meets its targets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>

#include "tessera/comm/communicator.hpp"
#include "tessera/core/error.hpp"
#include "tessera/explore/capacity.hpp"

namespace tessera::explore::capacity_test {
namespace {

using ::testing::HasSubstr;

// A step of a token reads 200 kB of weights at 64 GB/s: some 4 us; sixteen tokens a request, one at
// a time, are some 60 us.
std::string experiment(const std::string& target) {
  return "name: capacity\nmachine:\n"
         "  topology: {kind: mesh, rows: 2, columns: 2, bandwidth: 64 GB/s, latency: 10 ns}\n"
         "  tile: {peak: {fp16: 1 TFLOP/s}, operands: dram}\n"
         "  dram: {at: each, bandwidth: 64 GB/s, latency: 100 ns, capacity: 4 MB}\n"
         "  network: {model: analytical}\n  compute: {model: roofline}\n"
         "workload:\n  kind: serving\n  steps: whole\n  tenants:\n    - name: chat\n"
         "      language_model: {layers: 2, hidden: 64, heads: 4, sequence: 256, vocabulary: 64}\n"
         "      batching: {sequences: 1}\n" +
         target +
         "      requests: {arrivals: fixed, interval: 1 ms, count: 100, prompt: 8, generate: 16}\n";
}

CapacityOutcome find(const std::string& text, CapacityRequest request = {}) {
  request.experiment = "e.yaml";
  const std::unique_ptr<comm::Communicator> alone = comm::make_in_process();
  return find_capacity(request, *alone, [&](const std::string&) { return text; });
}

std::string poisson(const std::string& target, const std::string& rate = "1000") {
  std::string text = experiment(target);
  const std::string fixed = "arrivals: fixed, interval: 1 ms";
  return text.replace(text.find(fixed), fixed.size(), "arrivals: poisson, rate: " + rate);
}

// A request a millisecond.
std::string trace_file() {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / "tessera_capacity_trace.csv";
  std::ofstream file(path);
  file << "arrival_s,input_tokens,output_tokens\n";
  for (int number = 0; number < 100; ++number) {
    file << number << "e-3,8,16\n";
  }
  return path.string();
}

const std::string in_time = "      target: {latency: 500 us}\n";

TEST(Capacity, LiesBetweenARateThatMeetsAndOneThatDoesNot) {
  CapacityRequest request;
  request.within = 0.05;
  const CapacityOutcome outcome = find(poisson(in_time), request);
  ASSERT_EQ(outcome.rows.size(), 1U);
  const CapacityRow& row = outcome.rows[0];
  EXPECT_EQ(row.status, "met");
  EXPECT_GT(row.beyond, row.rate);
  EXPECT_LE(row.beyond, 1.05 * row.rate);
  ASSERT_EQ(row.services.size(), 1U);
  EXPECT_GE(row.services[0].met, 90U);
  // From elsewhere it is found too, and one that asks for all is slower.
  const CapacityRow again = find(poisson(in_time, "3e6"), request).rows.at(0);
  EXPECT_NEAR(again.rate, row.rate, 0.1 * row.rate);
  request.share = 1;
  EXPECT_LE(find(poisson(in_time), request).rows.at(0).rate, row.beyond);
}

TEST(Capacity, GrowsWithReplicasAndRefusesWhatHasNoPlace) {
  CapacityRequest request;
  request.within = 0.1;
  request.over = {"workload.tenants.0.replicas=1,4,5", "workload.tenants.0.router=least-work"};
  const CapacityOutcome outcome = find(poisson(in_time), request);
  ASSERT_EQ(outcome.rows.size(), 3U);
  EXPECT_EQ(outcome.rows[0].values[0], "4");
  EXPECT_EQ(outcome.rows[0].services.at(0).tenant, "chat");
  EXPECT_EQ(outcome.rows[0].services[0].npus, 4U);
  EXPECT_GT(outcome.rows[0].rate, 3 * outcome.rows[1].rate);
  EXPECT_EQ(outcome.rows[2].status, "refused");
  EXPECT_THAT(to_table(outcome), HasSubstr("the machine has 4"));
  EXPECT_THAT(to_json(outcome), HasSubstr("\"status\": \"refused\""));
}

TEST(Capacity, IsTheSameOnAnyNumberOfRanks) {
  CapacityRequest request;
  request.experiment = "e.yaml";
  request.within = 0.2;
  request.over = {"workload.tenants.0.replicas=1,2,3,4,5",
                  "workload.tenants.0.batching.sequences=1,2"};
  const CapacityOutcome expected = find(poisson(in_time), request);
  ASSERT_EQ(expected.rows.size(), 10U);
  comm::run_ranks_as_threads(3, [&](comm::Communicator& communicator) {
    const CapacityOutcome outcome =
        find_capacity(request, communicator, [](const std::string&) { return poisson(in_time); });
    EXPECT_EQ(to_json(outcome), to_json(expected));
    EXPECT_EQ(to_table(outcome), to_table(expected));
  });
}

TEST(Capacity, SaysThatNoRateIsLowEnough) {
  const CapacityOutcome outcome = find(poisson("      target: {latency: 1 ns}\n"));
  EXPECT_EQ(outcome.rows.at(0).status, "late");
  EXPECT_EQ(outcome.rows[0].rate, 0);
  EXPECT_THAT(to_table(outcome), HasSubstr("targets are not met at a rate of"));
  // It had been halved 24 times.
  EXPECT_EQ(outcome.rows[0].runs, 3U);
  EXPECT_THAT(outcome.rows[0].message,
              HasSubstr("no lower rate helps, as requests that do not overlap are late: "
                        "target.latency of chat is 1 ns, and 90 % of its requests take up to "));
  EXPECT_THAT(why_none(outcome, "layout"), HasSubstr("no layout meets the targets: no lower rate"));
}

// Requests that overlap much are late, and those that do not are in time.
TEST(Capacity, IsFoundFarBelowTheFirstRate) {
  const CapacityRow row = find(poisson("      target: {latency: 100 us}\n", "3e6")).rows.at(0);
  EXPECT_EQ(row.status, "met") << row.message;
  EXPECT_GT(row.rate, 100);
}

// What a thousand requests show may be a queue that grows slowly.
TEST(Capacity, IsConfirmedByMoreRequests) {
  const CapacityRow row = find(poisson("      target: {latency: 2 ms}\n")).rows.at(0);
  ASSERT_EQ(row.status, "met");
  EXPECT_GE(row.times_count, 8U);
  EXPECT_EQ(row.services.at(0).served, 100 * row.times_count);
  EXPECT_GE(static_cast<double>(row.services[0].met), 0.9 * 100 * row.times_count);
  // One at a time, each takes 58 us.
  EXPECT_LT(row.rate, 17267);
}

std::string with_count(std::string text, const std::string& count) {
  return text.replace(text.find("count: 100"), 10, "count: " + count);
}

const std::string unhurried = "      target: {latency: 1 s}\n";

// All requests at once had met the target, and no rate had been searched.
TEST(Capacity, IsTheRateThatIsKeptUpWhereTargetsAreNeverMissed) {
  const CapacityOutcome outcome = find(poisson(unhurried));
  const CapacityRow& row = outcome.rows.at(0);
  EXPECT_EQ(row.status, "met");
  EXPECT_THAT(row.message, HasSubstr("does not keep up"));
  EXPECT_THAT(to_table(outcome), HasSubstr("more and more are there"));
  const CapacityRow hurried = find(poisson(in_time)).rows.at(0);
  EXPECT_GE(row.rate, hurried.rate);
  EXPECT_LE(row.rate, 1.2 * hurried.rate);
  // From wherever the search begins.
  EXPECT_NEAR(find(poisson(unhurried, "3e6")).rows.at(0).rate, row.rate, 0.1 * row.rate);
  // Of all at once 17267 end in a second.
  EXPECT_NEAR(row.rate, 17267, 0.1 * 17267);
}

// Few requests had been a burst that was soon over, and stood for a rate.
TEST(Capacity, DoesNotDependOnTheNumberOfRequests) {
  const std::string batches = "      target: {first_token: 2 ms, latency: 100 ms}\n";
  std::string text = poisson(batches);
  text.replace(text.find("sequences: 1"), 12, "sequences: 32");
  const CapacityRow few = find(with_count(text, "60")).rows.at(0);
  const CapacityRow many = find(with_count(text, "6000")).rows.at(0);
  EXPECT_EQ(many.times_count, 8U);
  EXPECT_GT(few.times_count, 8U);
  EXPECT_EQ(few.services.at(0).served, 60 * few.times_count);
  EXPECT_NEAR(few.rate, many.rate, 0.12 * many.rate);
  EXPECT_THAT(few.message, HasSubstr("too few to show whether this rate is kept up"));
}

TEST(Capacity, RanksByRateAndNamesThoseThatAreAsGood) {
  CapacityRequest request;
  request.over = {"workload.tenants.0.replicas=1,4",
                  "workload.tenants.0.router=least-work,least-work"};
  const CapacityOutcome outcome = find(poisson(unhurried), request);
  ASSERT_EQ(outcome.rows.size(), 4U);
  EXPECT_EQ(outcome.rows[0].values[0], "4");
  EXPECT_EQ(outcome.rows[3].values[0], "1");
  EXPECT_GT(outcome.rows[0].rate, 2 * outcome.rows[3].rate);
  EXPECT_THAT(to_table(outcome), HasSubstr("as good as the first: 4, least-work\n"));
}

// They reached nobody.
TEST(Capacity, SaysTheNotesOfTheRun) {
  CapacityRequest request;
  request.within = 0.5;
  request.overrides = {"machine.host={bandwidth: 10 GB/s, latency: 1 us}"};
  const std::string note =
      "machine.host has no effect with work that copies nothing to hosts (strategy.offload, or "
      "tiers and adapters of served models)";
  const CapacityOutcome outcome = find(poisson(in_time), request);
  EXPECT_THAT(outcome.rows.at(0).notes, ::testing::Contains(note));
  EXPECT_THAT(to_table(outcome), HasSubstr(note));
  EXPECT_THAT(to_json(outcome), HasSubstr(note));
  for (const std::string& text : outcome.rows[0].notes) {
    EXPECT_FALSE(text.starts_with("run.")) << text;
  }
}

CapacityRow row_of(const std::string& status, const std::string& message) {
  CapacityRow row;
  row.status = status;
  row.message = message;
  return row;
}

TEST(Capacity, SaysWhyNothingCouldBeTried) {
  CapacityOutcome outcome;
  outcome.rows = {row_of("refused", "no place"), row_of("refused", "too long"),
                  row_of("failed", "too long")};
  EXPECT_EQ(why_none(outcome, "layout"),
            "no layout could be tried: all 3 are refused or fail, 2 of them as: too long");
  outcome.rows.push_back(row_of("late", ""));
  EXPECT_EQ(why_none(outcome, "layout"),
            "no layout meets the targets; 3 of 4 are refused or fail, 2 of them as: too long");
  outcome.rows = {row_of("late", "")};
  EXPECT_EQ(why_none(outcome, "layout"), "no layout meets the targets");
}

TEST(Capacity, PrintsFourDigits) {
  EXPECT_EQ(rate_text(524288000), "524300000");
  EXPECT_EQ(rate_text(0.0123456), "0.01235");
  EXPECT_EQ(rate_text(99999), "100000");
  EXPECT_EQ(rate_text(5243), "5243");
}

std::string complaint_about(const std::string& text, const CapacityRequest& request = {}) {
  try {
    find(text, request);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

// Targets of classes alone had been overlooked.
TEST(Capacity, TargetsOfClassesAreMetToo) {
  CapacityRequest request;
  request.within = 0.1;
  const CapacityRow row =
      find(poisson("      classes: [{name: all, target: {latency: 500 us}}]\n"), request)
          .rows.at(0);
  EXPECT_EQ(row.status, "met");
  EXPECT_NEAR(row.rate, find(poisson(in_time), request).rows.at(0).rate, 0.1 * row.rate);
}

// A trace is sped up from the speed it has by default.
TEST(Capacity, BeginsWithADefault) {
  std::string text = poisson(in_time);
  const std::size_t begin = text.find("requests: {");
  text.replace(begin, std::string::npos,
               "requests: {arrivals: trace, file: " + trace_file() + "}\n");
  CapacityRequest request;
  request.within = 0.5;
  request.key = "workload.tenants.0.requests.speed";
  EXPECT_GT(find(text, request).rows.at(0).rate, 1);
}

// A file has no more requests than it has: what they do not show is not answered.
TEST(Capacity, DoesNotPromiseWhatAFileCannotShow) {
  std::string text = poisson(unhurried);
  const std::size_t begin = text.find("requests: {");
  text.replace(begin, std::string::npos,
               "requests: {arrivals: trace, file: " + trace_file() + "}\n");
  CapacityRequest request;
  request.within = 0.05;
  request.key = "workload.tenants.0.requests.speed";
  const CapacityRow row = find(text, request).rows.at(0);
  EXPECT_EQ(row.status, "met");
  EXPECT_EQ(row.times_count, 1U);
  // A thousand requests a second at speed 1.
  EXPECT_NEAR(1000 * row.rate, 17267, 0.15 * 17267);
  EXPECT_THAT(row.message, HasSubstr("too few to show that the service keeps up"));
  EXPECT_THAT(row.message, HasSubstr("a list or a file has no more requests"));
}

// A tenant that is given all of its requests at once is as it is meant.
TEST(Capacity, LeavesBurstsOfOthersAlone) {
  const std::string one = poisson(in_time) + "      npus: [0]\n";
  const std::size_t tenant = one.find("    - name: chat");
  std::string other = one.substr(tenant);
  other.replace(other.find("chat"), 4, "list");
  const std::size_t begin = other.find("requests: {");
  other.replace(begin, std::string::npos,
                "requests: {arrivals: list, list: [{at: 0 s, prompt: 8, generate: 16}, "
                "{at: 0 s, prompt: 8, generate: 16}]}\n      npus: [1]\n");
  CapacityRequest request;
  request.within = 0.2;
  const CapacityRow row = find(one + other, request).rows.at(0);
  EXPECT_EQ(row.status, "met") << row.message;
}

TEST(Capacity, NeedsTargetsAndARate) {
  EXPECT_THAT(complaint_about(poisson("")), HasSubstr("none of workload.tenants has a 'target'"));
  EXPECT_THAT(complaint_about(experiment(in_time)), HasSubstr("has no such rate to begin with"));
  std::string below = poisson(in_time);
  below.replace(below.find("rate: ") + 6, 0, "-");
  EXPECT_THAT(complaint_about(below), HasSubstr("rate: must be between"));
  CapacityRequest request;
  request.over = {"workload.tenants.0.tensor"};
  EXPECT_THAT(complaint_about(poisson(in_time), request), HasSubstr("expected KEY=VALUE,..."));
  request.over = {"workload.tenants.0.tensor=1,,2"};
  EXPECT_THAT(complaint_about(poisson(in_time), request), HasSubstr("a value is missing"));
}

}  // namespace
}  // namespace tessera::explore::capacity_test
