#include "tessera/trace/records.hpp"

#include <gmock/gmock.h>

#include <algorithm>

#include "trace_test_support.hpp"

namespace tessera::trace::test::records_test {
namespace {

using ::testing::ElementsAre;

std::string text_of(const std::array<char, 64>& field) {
  return {field.begin(), std::find(field.begin(), field.end(), '\0')};
}

TEST(Text64, KeepsWhatFits) {
  EXPECT_EQ(text_of(text64("")), "");
  EXPECT_EQ(text_of(text64("attention")), "attention");
  EXPECT_EQ(text_of(text64(std::string(63, 'x'))), std::string(63, 'x'));
  EXPECT_EQ(text64("ab")[63], '\0');
}

TEST(Text64, CutsAtAWholeCharacter) {
  EXPECT_EQ(text_of(text64(std::string(64, 'x'))), std::string(63, 'x'));
  EXPECT_EQ(text_of(text64(std::string(62, 'x') + "é")), std::string(62, 'x'));
  EXPECT_EQ(text_of(text64(std::string(61, 'x') + "é!")), std::string(61, 'x') + "é");
  EXPECT_EQ(text_of(text64(std::string(61, 'x') + "→")), std::string(61, 'x'));
  EXPECT_EQ(text_of(text64(std::string(100, '\x80'))), "") << "no character begins there";
}

std::vector<std::string> fields_of(Table table) {
  const std::vector<TableSpec> specs = tables();
  std::vector<std::string> names;
  for (const Field& field : specs[table].fields) {
    names.push_back(field.name);
  }
  return names;
}

TEST(Tables, StandInTheOrderOfTheEnumeration) {
  std::vector<std::string> names;
  for (const TableSpec& spec : tables()) {
    names.push_back(spec.name);
  }
  ASSERT_EQ(names.size(), engine + 1U);
  EXPECT_EQ(names[nodes], "nodes");
  EXPECT_EQ(names[trace::names], "names");
  EXPECT_EQ(names[operators], "operators");
  EXPECT_EQ(names[messages], "messages");
  EXPECT_EQ(names[collective_phases], "collective_phases");
  EXPECT_EQ(names[link_bins], "link_bins");
  EXPECT_EQ(names[links], "links");
  EXPECT_EQ(names[channel_bins], "channel_bins");
  EXPECT_EQ(names[channels], "channels");
  EXPECT_EQ(names[core_bins], "core_bins");
  EXPECT_EQ(names[cores], "cores");
  EXPECT_EQ(names[requests], "requests");
  EXPECT_EQ(names[tokens], "tokens");
  EXPECT_EQ(names[service_load], "service_load");
  EXPECT_EQ(names[memory], "memory");
  EXPECT_EQ(names[engine], "engine");
}

TEST(Tables, DescribeEveryMember) {
  EXPECT_THAT(fields_of(nodes), ElementsAre("node", "stage", "replica", "shard", "x", "y", "rank",
                                            "computes", "tenant"));
  EXPECT_THAT(fields_of(trace::names), ElementsAre("name", "text"));
  EXPECT_THAT(fields_of(requests),
              ElementsAre("arrival", "begun", "first", "end", "request", "prompt", "generated",
                          "samples", "again", "tenant"));
  EXPECT_THAT(fields_of(tokens), ElementsAre("time", "since", "request", "tenant"));
  EXPECT_THAT(fields_of(service_load),
              ElementsAre("time", "running", "waiting", "cache_blocks", "tenant"));
  EXPECT_THAT(fields_of(operators),
              ElementsAre("start", "end", "node", "micro_batch", "name", "phase", "activity"));
  EXPECT_THAT(fields_of(messages),
              ElementsAre("sent", "arrived", "taken", "bytes", "source", "target", "traffic"));
  EXPECT_THAT(fields_of(link_bins), ElementsAre("begin", "end", "bytes", "busy", "largest_queue",
                                                "node", "to", "port", "class"));
  EXPECT_THAT(fields_of(collective_phases),
              ElementsAre("start", "end", "bytes", "node", "chunk", "name", "kind", "dimension"));
  EXPECT_THAT(fields_of(channel_bins),
              ElementsAre("begin", "end", "read", "written", "busy", "longest_wait", "row_hits",
                          "row_misses", "row_conflicts", "channel", "node"));
  EXPECT_THAT(fields_of(core_bins),
              ElementsAre("begin", "end", "matrix_busy", "vector_busy", "dma_busy", "matrix_active",
                          "loaded", "stored", "tiles", "node"));
  EXPECT_THAT(fields_of(trace::memory),
              ElementsAre("end", "weights", "gradients", "optimizer", "activations", "recomputed",
                          "gathered", "scattered", "working", "communicators", "context", "reserve",
                          "node", "micro_batch", "chunk", "phase"));
  EXPECT_EQ(fields_of(cores), fields_of(core_bins));
  EXPECT_THAT(fields_of(engine),
              ElementsAre("simulated", "wall", "waiting", "events", "windows", "rounds",
                          "remote_events", "batches", "pending", "resident"));
  EXPECT_EQ(fields_of(links), fields_of(link_bins));
  EXPECT_EQ(fields_of(channels), fields_of(channel_bins));
  for (const TableSpec& spec : tables()) {
    EXPECT_FALSE(spec.description.empty()) << spec.name;
    for (const Field& field : spec.fields) {
      EXPECT_FALSE(field.description.empty()) << spec.name << "." << field.name;
    }
  }
}

TEST(Tables, KeepWhatIsWritten) {
  const TempFolder folder;
  const std::string path = folder.file("trace.h5");
  const OperatorRow step{(std::int64_t{1} << 53) + 1, (std::int64_t{1} << 62) + 1, 7, 8, 9, 2, 5};
  const MessageRow message{1, 2, 3, std::uint64_t{1} << 63, 4, 5, 3};
  const LinkRow link{10, 20, 30, 40, 50, 60, 70, 300, 4};
  const CollectivePhaseRow phase{12, 22, 32, 42, 52, 62, 7, 8};
  const ChannelRow channel{11, 21, 31, 41, 51, 61, 1, 2, 3, 71, 81};
  TraceFile file(path, tables(), {});
  file.append(nodes, NodeRow{});
  file.append(trace::names, NameRow{3, text64("attention")});
  file.append(operators, step);
  file.append(messages, message);
  file.append(links, link);
  file.append(collective_phases, phase);
  file.append(channel_bins, channel);
  file.close(SimTime::from_ps(100));

  const TraceReader reader(path);
  const auto node = reader.read("nodes").record<NodeRow>(0);
  EXPECT_EQ(node.stage, -1);
  EXPECT_EQ(node.computes, 1);
  const auto name = reader.read("names").record<NameRow>(0);
  EXPECT_EQ(name.name, 3U);
  EXPECT_EQ(text_of(name.text), "attention");
  const auto read_step = reader.read("operators").record<OperatorRow>(0);
  EXPECT_EQ(read_step.start_ps, step.start_ps);
  EXPECT_EQ(read_step.end_ps, step.end_ps);
  EXPECT_EQ(read_step.node, 7U);
  EXPECT_EQ(read_step.micro_batch, 8U);
  EXPECT_EQ(read_step.name, 9);
  EXPECT_EQ(read_step.phase, 2);
  EXPECT_EQ(read_step.activity, 5);
  const auto read_message = reader.read("messages").record<MessageRow>(0);
  EXPECT_EQ(read_message.taken_ps, 3);
  EXPECT_EQ(read_message.bytes, std::uint64_t{1} << 63);
  EXPECT_EQ(read_message.traffic, 3);
  EXPECT_EQ(reader.read("links").record<LinkRow>(0).port, 300U);
  EXPECT_EQ(reader.read("links").record<LinkRow>(0).largest_queue_bytes, 50U);
  EXPECT_EQ(reader.read("links").record<LinkRow>(0).link_class, 4);
  EXPECT_EQ(reader.read("collective_phases").record<CollectivePhaseRow>(0).dimension, 8);
  EXPECT_EQ(reader.read("collective_phases").record<CollectivePhaseRow>(0).bytes, 32U);
  EXPECT_EQ(reader.read("channel_bins").record<ChannelRow>(0).longest_wait_ps, 61);
  EXPECT_EQ(reader.read("channel_bins").record<ChannelRow>(0).row_conflicts, 3U);
  EXPECT_EQ(reader.read("channel_bins").record<ChannelRow>(0).node, 81U);
  EXPECT_EQ(reader.committed_rows("engine"), 0U);
}

std::size_t size_of(FieldType type) {
  switch (type) {
    case FieldType::u8:
      return 1;
    case FieldType::u16:
      return 2;
    case FieldType::u32:
      return 4;
    case FieldType::text32:
      return 32;
    case FieldType::text64:
      return 64;
    default:
      return 8;
  }
}

// Fields have the widths that their types say, whatever a pointer's is, lie inside the row and on
// none of its other fields; where they lie, the file says.
TEST(Tables, DoNotDependOnTheSizeOfPointers) {
  for (const TableSpec& spec : tables()) {
    std::size_t end = 0;
    std::vector<Field> fields = spec.fields;
    std::ranges::sort(fields, {}, &Field::offset);
    for (const Field& field : fields) {
      EXPECT_GE(field.offset, end) << spec.name << "." << field.name;
      end = field.offset + size_of(field.type);
    }
    EXPECT_LE(end, spec.row_bytes) << spec.name;
  }
}

}  // namespace
}  // namespace tessera::trace::test::records_test
