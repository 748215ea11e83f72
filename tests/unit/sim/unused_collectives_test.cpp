// Keys of `execution` that have no effect in what graphs do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "files.hpp"

namespace tessera::sim::unused_collectives_test {
namespace {

using testing::complaint_of;
using ::testing::Contains;
using testing::Files;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::read;
using ::testing::StartsWith;

// All members send their part to all others.
std::string gather_of(const std::string& members, const std::string& transfers) {
  return "collective: all-gather\nmembers: " + members + "\ntransfers:\n" + transfers;
}

const std::string of_two =
    gather_of("2", "  - {from: 0, to: 1, chunks: [0]}\n  - {from: 1, to: 0, chunks: [1]}\n");
const std::string of_four =
    gather_of("4",
              "  - {from: 0, to: 1, chunks: [0]}\n  - {from: 0, to: 2, chunks: [0]}\n"
              "  - {from: 0, to: 3, chunks: [0]}\n  - {from: 1, to: 0, chunks: [1]}\n"
              "  - {from: 1, to: 2, chunks: [1]}\n  - {from: 1, to: 3, chunks: [1]}\n"
              "  - {from: 2, to: 0, chunks: [2]}\n  - {from: 2, to: 1, chunks: [2]}\n"
              "  - {from: 2, to: 3, chunks: [2]}\n  - {from: 3, to: 0, chunks: [3]}\n"
              "  - {from: 3, to: 1, chunks: [3]}\n  - {from: 3, to: 2, chunks: [3]}\n");

Files files_with(const std::string& collectives, const std::string& workload = "all-reduce",
                 const std::string& shape = "Ring(4)") {
  return {{"lab/experiment.yaml",
           "machine:\n"
           "  topology: {kind: stack, shape: " +
               shape + ", dimensions: [" +
               (shape == "Ring(4)" ? "" : "{bandwidth: 10 GB/s, latency: 1 us}, ") +
               "{bandwidth: 10 GB/s, latency: 1 us}]}\n"
               "  tile: {peak: {fp16: 1 TFLOP/s}}\n"
               "  network: {model: packet}\n"
               "workload: {kind: collective, collective: " +
               workload + (workload.find("sizes") == std::string::npos ? ", size: 1 MB" : "") +
               "}\nexecution: {collectives: {" + collectives + "}}\n"},
          {"lab/two.yaml", of_two},
          {"lab/four.yaml", of_four},
          {"lab/again.yaml", of_four}};
}

// What is said of keys of the section, the same of the resolved configuration.
std::vector<std::string> notes_of(const Files& files) {
  const Experiment experiment = read(files);
  Files resolved = files;
  for (const auto& [path, text] : files) {
    resolved[std::filesystem::absolute(path).string()] = text;  // as it names programs
  }
  resolved["lab/experiment.yaml"] = experiment.resolved;
  EXPECT_EQ(read(resolved).notes, experiment.notes);
  return experiment.notes;
}

const auto any = Contains(HasSubstr("no effect"));

void expect_note(const Files& files, const std::string& key, const std::string& with) {
  EXPECT_THAT(notes_of(files),
              Contains("execution.collectives." + key + " has no effect with " + with));
}

const std::string two_dimensions = "Ring(2)_Ring(2)";

TEST(UnusedCollectives, OfFlatCommunicators) {
  const std::string flat = "communicators: flat, which use other_algorithm";
  expect_note(files_with("communicators: flat, algorithms: [direct]"), "algorithms", flat);
  expect_note(files_with("communicators: flat, all_to_all: [direct]", "all-to-all"), "all_to_all",
              flat);
  EXPECT_THAT(notes_of(files_with("communicators: flat, algorithms: [ring]")), Not(any));
  EXPECT_THAT(notes_of(files_with("communicators: flat, other_algorithm: direct")), Not(any));
}

TEST(UnusedCollectives, OfWhatIsInOnePiece) {
  expect_note(files_with("active_chunks: 2"), "active_chunks", "chunks: 1");
  expect_note(files_with("queue: lifo"), "queue", "chunks: 1");
  expect_note(files_with("queues: [2]"), "queues", "chunks: 1");
  EXPECT_THAT(notes_of(files_with("chunks: 2, active_chunks: 2, queue: lifo, queues: [2]")),
              Not(any));
  EXPECT_THAT(notes_of(files_with("queues: [2, 2]", "all-reduce", two_dimensions)), Not(any));
}

TEST(UnusedCollectives, OfOneDimension) {
  expect_note(files_with("order: round-robin"), "order", "one dimension");
  expect_note(files_with("decomposition: baseline"), "decomposition", "one dimension");
  EXPECT_THAT(notes_of(files_with("order: themis, decomposition: baseline")), Not(any));
  EXPECT_THAT(notes_of(files_with("order: round-robin, decomposition: baseline", "all-reduce",
                                  two_dimensions)),
              Not(any));
}

TEST(UnusedCollectives, OfWhatGraphsDoNotDo) {
  expect_note(files_with("all_to_all: [direct]"), "all_to_all", "graphs without all-to-alls");
  expect_note(files_with("local_memory: 100 GB/s", "all-gather"), "local_memory",
              "collectives without reductions");
  expect_note(files_with("algorithm_window: 2"), "algorithm_window", "algorithms without one");
  EXPECT_THAT(notes_of(files_with("all_to_all: [direct], algorithm_window: 2", "all-to-all")),
              Not(any));
  EXPECT_THAT(notes_of(files_with("local_memory: 100 GB/s")), Not(any));
  const auto with = [](const std::string& key) {
    return read(files_with(""), {"execution={" + key + "}"}).notes;
  };
  EXPECT_THAT(with("times: recorded"),
              Contains("execution.times has no effect with graphs without recorded times of nodes "
                       "that have work"));
  EXPECT_THAT(with("sends: delivered"),
              Contains("execution.sends has no effect with graphs that send no messages"));
}

TEST(UnusedCollectives, OfAllToAllsOfASizeForEachPair) {
  const std::string sizes =
      "all-to-all, sizes: [[0 B, 1 B, 1 B, 1 B], [1 B, 0 B, 1 B, 1 B], [1 B, 1 B, 0 B, 1 B], "
      "[1 B, 1 B, 1 B, 0 B]]";
  const std::string with = "all-to-alls with a size for each pair";
  expect_note(files_with("algorithms: [direct]", sizes), "algorithms", with);
  expect_note(files_with("chunks: 2", sizes), "chunks", with);
  expect_note(files_with("all_to_all: [halving-doubling]", sizes), "all_to_all", with);
  expect_note(files_with("communicators: flat, other_algorithm: direct", sizes), "other_algorithm",
              with);
  EXPECT_THAT(notes_of(files_with("algorithm_window: 2", sizes)), Not(any));
}

// Nodes that differ in one bit are neighbours: 7 and 8 are four hops apart.
TEST(UnusedCollectives, DimensionsThatAreNotKnownAreOneRing) {
  const auto notes = [](const std::string& topology, const std::string& collectives) {
    Files files = files_with(collectives);
    std::string& text = files.at("lab/experiment.yaml");
    const std::size_t begin = text.find("{kind: stack");
    text.replace(begin, text.find('\n', begin) - begin, topology);
    return notes_of(files);
  };
  const auto ring_of = [](int hops) {
    return Contains(
        "collectives run as one ring of NPUs in the order of their numbers, with steps of up to " +
        std::to_string(hops) +
        " hops: the dimensions of this machine are not known (execution.collectives.shape gives "
        "them)");
  };
  const auto no_ring = Not(Contains(HasSubstr("one ring")));
  const std::string links = ", bandwidth: 10 GB/s, latency: 1 us}";
  const std::string cube = "{kind: hypercube, dimensions: 4" + links;
  EXPECT_THAT(notes(cube, ""), ring_of(4));
  EXPECT_THAT(notes("{kind: twisted-torus, rows: 4, columns: 4, twist: 2" + links, ""),
              Contains(HasSubstr("one ring")));
  EXPECT_THAT(notes(cube, "shape: [2, 2, 2, 2]"), no_ring);
  EXPECT_THAT(notes(cube, "algorithms: [halving-doubling]"), no_ring);
  EXPECT_THAT(notes("{kind: torus, rows: 4, columns: 4" + links, ""), no_ring);
  EXPECT_THAT(notes("{kind: double-ring, size: 8" + links, ""), no_ring);
}

TEST(UnusedCollectives, QueuesThatHoldMoreChunksThanWereAskedFor) {
  const std::string four = "chunks: 8, queues: [2], active_chunks: ";
  EXPECT_THAT(notes_of(files_with(four + "3")),
              Contains("execution.collectives.active_chunks: each queue holds 2 chunks, those of "
                       "the first dimension 4 together"));
  EXPECT_THAT(notes_of(files_with(four + "4")), Not(Contains(HasSubstr("each queue holds"))));
}

TEST(UnusedCollectives, OfProgramsThatAllGoBy) {
  const std::string with = "programs, which all collectives use";
  const std::string by_hand = "programs: [four.yaml], ";
  expect_note(files_with(by_hand + "algorithms: [direct]", "all-gather"), "algorithms", with);
  expect_note(files_with(by_hand + "chunks: 4", "all-gather"), "chunks", with);
  EXPECT_THAT(notes_of(files_with(by_hand + "algorithms: [direct], chunks: 4")),
              Not(Contains(HasSubstr(with))));
  EXPECT_THAT(notes_of(files_with("programs: [four.yaml]", "all-gather")), Not(any));
}

TEST(UnusedCollectives, ProgramsThatNoCommunicatorTakes) {
  EXPECT_THAT(notes_of(files_with("programs: [four.yaml]")),
              Contains(HasSubstr("has no effect, as no communicator asks for all_gather")));
  EXPECT_THAT(notes_of(files_with("programs: [two.yaml]", "all-gather")),
              Contains(HasSubstr("has no effect, as no communicator has 2 members")));
  EXPECT_THAT(complaint_of(files_with("programs: [four.yaml, again.yaml]", "all-gather")),
              StartsWith("lab/experiment.yaml:6:49: error: execution.collectives.programs: given "
                         "twice: all_gather of 4 members"));
}

}  // namespace
}  // namespace tessera::sim::unused_collectives_test
