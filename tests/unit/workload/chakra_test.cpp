// Chakra traces: what is read, what is refused and where, and that writing gives the same again.
#include "tessera/workload/chakra/chakra.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tessera/core/error.hpp"

namespace tessera::workload::chakra_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The wire format by hand (protobuf's encoding: a key of number and type, then the value).
std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) {
    bytes.push_back(static_cast<char>(value | 0x80));
  }
  bytes.push_back(static_cast<char>(value));
  return bytes;
}
std::string number(unsigned field, std::uint64_t value) {
  return varint(field << 3) + varint(value);
}
std::string text(unsigned field, const std::string& value) {
  return varint(field << 3 | 2) + varint(value.size()) + value;
}
std::string framed(const std::string& message) {
  return varint(message.size()) + message;
}
std::string attribute(const std::string& name, const std::string& value) {
  return text(10, text(1, name) + value);
}
std::string zigzag(unsigned field, std::int64_t value) {
  return number(field,
                static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63));
}
std::string fixed(unsigned field, unsigned type, std::uint64_t value, std::size_t bytes) {
  std::string result = varint(field << 3 | type);
  for (std::size_t i = 0; i < bytes; ++i) {
    result.push_back(static_cast<char>(value >> (8 * i)));
  }
  return result;
}

const std::string metadata = framed(text(1, "0.0.4"));
std::string node(std::uint64_t id, unsigned type, const std::string& more = "") {
  return framed(number(1, id) + text(2, "n" + std::to_string(id)) + number(3, type) + more);
}

class Chakra : public ::testing::Test {
 protected:
  ~Chakra() override { std::remove(path.c_str()); }
  void put(const std::string& bytes) const {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }
  std::vector<GraphNode> read(const std::string& nodes) const {
    put(metadata + nodes);
    ChakraFile file(path);
    std::vector<GraphNode> all;
    GraphNode one;
    while (file.next(one)) {
      all.push_back(one);
    }
    return all;
  }
  std::string complaint(const std::string& nodes) const {
    try {
      read(nodes);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  }
  // Of its own, as tests run side by side.
  const std::string path = ::testing::TempDir() + "tessera_chakra_" +
                           ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".et";
};

TEST_F(Chakra, ReadsNodes) {
  const auto nodes = read(
      node(7, 4,
           text(4, varint(1) + varint(300)) + text(5, varint(2)) + number(7, 5) +
               attribute("num_ops", number(9, 4000)) +
               attribute("tensor_size", number(13, 1 << 20))) +
      node(8, 2, attribute("tensor_size", number(9, 64)) + attribute("tensor_loc", number(9, 1))) +
      node(9, 5,
           attribute("comm_size", number(9, 77)) + attribute("comm_dst", number(7, 3)) +
               attribute("comm_tag", number(11, 12))) +
      node(10, 6, attribute("comm_size", number(9, 78)) + attribute("comm_src", number(9, 4))) +
      node(11, 7,
           attribute("comm_type", number(9, 7)) + attribute("comm_size", number(9, 99)) +
               attribute("pg_name", text(29, "dp")) + attribute("comm_priority", number(7, 2)) +
               attribute("involved_dim", text(28, text(1, std::string("\1\0\1", 3))))) +
      node(12, 1));
  ASSERT_EQ(nodes.size(), 6U);
  EXPECT_EQ(nodes[0].id, 7U);
  EXPECT_EQ(nodes[0].name, "n7");
  EXPECT_EQ(nodes[0].action, GraphAction::compute);
  EXPECT_THAT(nodes[0].control_dependencies, ElementsAre(1U, 300U));
  EXPECT_THAT(nodes[0].data_dependencies, ElementsAre(2U));
  EXPECT_EQ(nodes[0].recorded_duration, SimTime::from_ps(5'000'000));
  EXPECT_EQ(nodes[0].flops, Flops(4000));
  EXPECT_EQ(nodes[0].bytes, Bytes(1 << 20));
  EXPECT_EQ(nodes[1].action, GraphAction::load);
  EXPECT_TRUE(nodes[1].in_remote);
  EXPECT_EQ(nodes[2].action, GraphAction::send);
  EXPECT_EQ(nodes[2].peer, 3U);
  EXPECT_EQ(nodes[2].tag, 12U);
  EXPECT_EQ(nodes[2].bytes, Bytes(77));
  EXPECT_EQ(nodes[3].action, GraphAction::receive);
  EXPECT_EQ(nodes[3].peer, 4U);
  EXPECT_EQ(nodes[4].action, GraphAction::collective);
  EXPECT_EQ(nodes[4].collective, collective::Kind::reduce_scatter);
  EXPECT_EQ(nodes[4].group, "dp");
  EXPECT_EQ(nodes[4].priority, 2U);
  EXPECT_THAT(nodes[4].dimensions, ElementsAre(true, false, true));
  EXPECT_EQ(nodes[5].action, GraphAction::nothing);
}

// Dependencies may also stand one by one, as proto2 writes them.
TEST_F(Chakra, ReadsDependenciesThatAreNotPacked) {
  EXPECT_THAT(read(node(3, 1, number(5, 1) + number(5, 2)))[0].data_dependencies,
              ElementsAre(1U, 2U));
}

TEST_F(Chakra, NumbersOfAllKindsAreOne) {
  for (const std::string& value :
       {number(7, 42), number(9, 42), number(11, 42), number(13, 42), zigzag(15, 42),
        zigzag(17, 42), fixed(19, 5, 42, 4), fixed(21, 1, 42, 8), fixed(23, 5, 42, 4),
        fixed(25, 1, 42, 8), text(29, "42"), fixed(5, 5, 0x42280000, 4),
        fixed(3, 1, 0x4045000000000000, 8)}) {
    EXPECT_EQ(read(node(1, 2, attribute("tensor_size", value)))[0].bytes, Bytes(42));
  }
  EXPECT_TRUE(read(node(1, 1, attribute("is_cpu_op", number(27, 1))))[0].on_host);
  EXPECT_EQ(
      read(node(1, 7, attribute("comm_type", number(9, 9)) + attribute("pg_name", number(9, 5))))[0]
          .group,
      "5");
}

TEST_F(Chakra, RefusesWithNodeAndByte) {
  const std::string first = node(5, 1);
  const std::size_t begin = metadata.size() + first.size();
  const std::string at = " at byte " + std::to_string(begin);
  const auto after_first = [&](const std::string& bytes) { return complaint(first + bytes); };
  EXPECT_THAT(after_first("\x85"), AllOf(HasSubstr(path), HasSubstr("message 2" + at),
                                         HasSubstr("ends within its length")));
  EXPECT_THAT(after_first(node(6, 1).substr(0, 4)),
              AllOf(HasSubstr("message 2" + at), HasSubstr("are left in the file")));
  EXPECT_THAT(after_first(std::string(6, '\xFF')), HasSubstr("no varint of 32 bits"));
  EXPECT_THAT(after_first(framed("\xFF\xFF\xFF")),
              AllOf(HasSubstr("message 2" + at), HasSubstr("no message of a Chakra trace")));
  EXPECT_THAT(after_first(node(6, 0)), AllOf(HasSubstr("node 6" + at), HasSubstr("type 0")));
  EXPECT_THAT(after_first(node(6, 8)), HasSubstr("type 8"));
  EXPECT_THAT(after_first(node(6, 2)), HasSubstr("attribute tensor_size is missing"));
  EXPECT_THAT(after_first(node(6, 2, attribute("tensor_size", zigzag(17, -4)))),
              HasSubstr("tensor_size is no whole number from 0 on"));
  EXPECT_THAT(after_first(node(6, 2, attribute("tensor_size", text(29, "4 MB")))),
              HasSubstr("tensor_size is no whole number from 0 on"));
  EXPECT_THAT(
      after_first(
          node(6, 7, attribute("comm_type", number(9, 10)) + attribute("comm_size", number(9, 1)))),
      HasSubstr("comm_type 10 is none from 0 to 9"));
  EXPECT_THAT(after_first(node(6, 5,
                               attribute("comm_dst", number(13, 1ULL << 40)) +
                                   attribute("comm_size", number(9, 1)))),
              HasSubstr("comm_dst is too large"));
  EXPECT_THAT(after_first(node(6, 4, number(7, 1ULL << 60))), HasSubstr("are too long"));
}

TEST_F(Chakra, RefusesWhatIsNoTrace) {
  put("");
  EXPECT_THROW(ChakraFile{path}, ConfigError);
  put(framed("\xFF\xFF\xFF"));
  EXPECT_THROW(ChakraFile{path}, ConfigError);
  EXPECT_THROW(ChakraFile{path + ".is_not_there"}, ConfigError);
}

TEST_F(Chakra, GoesOnFromAPlace) {
  put(metadata + node(1, 1) + node(2, 1) + node(3, 1));
  GraphNode one;
  GraphPosition place;
  {
    ChakraFile file(path);
    EXPECT_EQ(file.version(), "0.0.4");
    ASSERT_TRUE(file.next(one));
    ASSERT_TRUE(file.next(one));
    place = file.position();
  }
  EXPECT_EQ(place.nodes, 2U);
  ChakraFile file(path, place);
  ASSERT_TRUE(file.next(one));
  EXPECT_EQ(one.id, 3U);
  EXPECT_FALSE(file.next(one));
}

// Numbers of the schema's CollectiveCommType. A block of a reduce-scatter is one of equal parts, as
// all are here, and is written as such.
TEST_F(Chakra, NumbersCollectives) {
  using collective::Kind;
  const std::vector<Kind> kinds{Kind::all_reduce, Kind::reduce,         Kind::all_gather,
                                Kind::gather,     Kind::scatter,        Kind::broadcast,
                                Kind::all_to_all, Kind::reduce_scatter, Kind::reduce_scatter,
                                Kind::barrier};
  std::string all;
  for (std::size_t comm_type = 0; comm_type < kinds.size(); ++comm_type) {
    all +=
        node(comm_type, 7,
             attribute("comm_type", number(9, comm_type)) + attribute("comm_size", number(9, 1)));
  }
  const std::vector<GraphNode> nodes = read(all);
  ASSERT_EQ(nodes.size(), kinds.size());
  for (std::size_t comm_type = 0; comm_type < kinds.size(); ++comm_type) {
    EXPECT_EQ(nodes[comm_type].collective, kinds[comm_type]) << comm_type;
  }
  {
    ChakraWriter writer(path);
    for (const GraphNode& one : nodes) {
      writer.write(one);
    }
    writer.close();
  }
  ChakraFile written(path);
  for (const Kind kind : kinds) {
    GraphNode found;
    ASSERT_TRUE(written.next(found));
    EXPECT_EQ(found.collective, kind);
  }
  EXPECT_THAT(complaint(node(1, 7, attribute("comm_type", number(9, kinds.size())))),
              HasSubstr("comm_type 10 is none from 0 to 9"));
}

// As PyTorch writes them: a list of texts, of which one is JSON.
TEST_F(Chakra, ReadsCommunicatorsOfMetadataNodes) {
  const std::string list =
      R"(['[{"pg_name": "0", "backend_id": 1, "ranks": [0, 1, 2]}, {"pg_name": "tp", "ranks": [4, 2]}]'])";
  put(metadata + node(1, 1, text(8, text(1, list))));
  ChakraFile file(path);
  GraphNode one;
  ASSERT_TRUE(file.next(one));
  EXPECT_THAT(file.groups().at("0"), ElementsAre(0U, 1U, 2U));
  EXPECT_THAT(file.groups().at("tp"), ElementsAre(4U, 2U));
  EXPECT_THAT(complaint(node(1, 1, text(8, text(1, "[{\"pg_name\": 1}]")))),
              HasSubstr("its communicators cannot be read"));
}

TEST(ChakraGroups, AreReadFromJson) {
  const auto groups = [](const std::string& json) {
    return read_groups("w.json", [&](const std::string&) { return json; });
  };
  EXPECT_THAT(groups("{\"1\": [0, 1], \"x\": [5]}"),
              ElementsAre(std::pair("1", std::vector<std::uint32_t>{0, 1}),
                          std::pair("x", std::vector<std::uint32_t>{5})));
  EXPECT_THROW(groups("[1, 2]"), ConfigError);
  EXPECT_THROW(groups("{\"1\": [0, -1]}"), ConfigError);
  EXPECT_THROW(groups("{\"1\": []}"), ConfigError);
}

TEST_F(Chakra, WritesWhatItReads) {
  std::vector<GraphNode> nodes(7);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    nodes[i].id = 100 + i;
    nodes[i].name = "node " + std::to_string(i);
    nodes[i].action = static_cast<GraphAction>(i);
    nodes[i].data_dependencies = {i, 1ULL << 40};
    nodes[i].control_dependencies = {i + 1};
  }
  nodes[1].on_host = true;
  nodes[1].flops = Flops(1ULL << 63);
  nodes[1].recorded_duration = SimTime::from_ps(3'000'000);
  nodes[1].shape = NodeShape{{2, 3, 4, 1}, {}, Kernel::fused_attention};
  nodes[1].shape->twice_keys = 4;
  nodes[1].shape->data_type = DataType::bf16;
  nodes[1].shape->stored_weights = Bytes(24);
  nodes[1].bytes = Bytes(52);
  nodes[2].bytes = Bytes(5);
  nodes[3].bytes = Bytes(6);
  nodes[3].in_remote = true;
  nodes[4].peer = 9;
  nodes[4].tag = 8;
  nodes[5].peer = 1;
  nodes[6].collective = collective::Kind::broadcast;
  nodes[6].root = 3;
  nodes[6].group = "g";
  nodes[6].priority = 4;
  nodes[6].dimensions = {true, false};
  nodes[6].channels = 8;
  {
    ChakraWriter writer(path);
    for (const GraphNode& one : nodes) {
      writer.write(one);
    }
    EXPECT_FALSE(std::ifstream(path).is_open()) << "a part of a trace has its name";
    writer.close();
  }
  ChakraFile file(path);
  EXPECT_EQ(file.version(), "1.0.0");
  for (const GraphNode& expected : nodes) {
    GraphNode found;
    ASSERT_TRUE(file.next(found));
    EXPECT_EQ(found.id, expected.id);
    EXPECT_EQ(found.name, expected.name);
    EXPECT_EQ(found.action, expected.action);
    EXPECT_EQ(found.on_host, expected.on_host);
    EXPECT_EQ(found.in_remote, expected.in_remote);
    EXPECT_EQ(found.data_dependencies, expected.data_dependencies);
    EXPECT_EQ(found.control_dependencies, expected.control_dependencies);
    EXPECT_EQ(found.recorded_duration, expected.recorded_duration);
    EXPECT_EQ(found.flops, expected.flops);
    EXPECT_EQ(found.bytes, expected.bytes);
    EXPECT_EQ(found.shape, expected.shape);
    EXPECT_EQ(found.peer, expected.peer);
    EXPECT_EQ(found.tag, expected.tag);
    EXPECT_EQ(found.collective, expected.collective);
    EXPECT_EQ(found.root, expected.root);
    EXPECT_EQ(found.group, expected.group);
    EXPECT_EQ(found.priority, expected.priority);
    EXPECT_EQ(found.dimensions, expected.dimensions);
    EXPECT_EQ(found.channels, expected.channels);
  }
}

TEST(ChakraWriter, LeavesNothingWhenGivenUp) {
  const std::string path = ::testing::TempDir() + "tessera_chakra_given_up.et";
  { ChakraWriter writer(path); }
  EXPECT_FALSE(std::ifstream(path).is_open());
  EXPECT_FALSE(std::ifstream(path + ".part").is_open());
  EXPECT_THROW(ChakraWriter("/nowhere/at/all.et"), IoError);
}

}  // namespace
}  // namespace tessera::workload::chakra_test
