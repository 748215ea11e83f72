// The machines that come with Tessera.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "reading.hpp"
#include "tessera/machine/partition/partition.hpp"
#include "tessera/machine/routing/routing.hpp"

namespace tessera::machine::machine_files_test {
namespace {

std::vector<std::string> machine_files() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(TESSERA_MACHINE_FILES)) {
    names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class MachineFile : public ::testing::TestWithParam<std::string> {
 protected:
  static std::string text(const std::string& name) {
    return config::load_text_file(std::string(TESSERA_MACHINE_FILES) + "/" + name + ".yaml");
  }
  // Reads the machine and marks the sections of other rooms as read.
  static Machine machine(const std::string& name) {
    config::Diagnostics diagnostics;
    config::Section section(config::parse(name, text(name), diagnostics), "", diagnostics);
    auto machine = read_machine(section);
    for (const char* room : {"network", "memory", "compute"}) {
      EXPECT_TRUE(section.has(room)) << room;
      section.raw(room);
    }
    section.finish();
    diagnostics.throw_if_any();
    return std::move(machine).value();
  }
};

TEST_P(MachineFile, IsReadWithoutComplaint) {
  const Machine read = machine(GetParam());
  EXPECT_EQ(read.name, GetParam());
  EXPECT_FALSE(read.tile.peak.empty());
  EXPECT_TRUE(read.tile.peak.contains(DataType::fp16));
  EXPECT_GT(read.tile.sram, Bytes(0));
}

// A number without a source beside it is not to be trusted.
TEST_P(MachineFile, StatesTheSourceOfEveryNumber) {
  std::istringstream lines(text(GetParam()));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t comment = std::min(line.find('#'), line.size());
    const std::size_t value = line.find(": ");
    const bool has_number =
        value < comment && line.rfind("name:", 0) != 0 &&
        line.substr(value, comment - value).find_first_of("0123456789") != std::string::npos;
    EXPECT_TRUE(!has_number || comment < line.size()) << line;
  }
}

INSTANTIATE_TEST_SUITE_P(All, MachineFile, ::testing::ValuesIn(machine_files()),
                         [](const auto& test) { return test.param; });

TEST_F(MachineFile, Wse2IsAsFarFromMemoryAsInPalm) {
  const Machine wse2 = machine("wse2");
  EXPECT_EQ(wse2.channels.size(), 2U * 633);
  const auto routing = make_routing("xy", *wse2.topology);
  std::uint32_t farthest = 0;
  for (std::uint32_t node = 0; node < 633; ++node) {
    const EntityId channel = wse2.channels[wse2.channel_of[node]].node;
    farthest =
        std::max(farthest, path_between(*wse2.topology, *routing, EntityId(node), channel).hops);
  }
  EXPECT_EQ(farthest, 316U);  // PALM Table I, maximum hop count to DRAM of WSE2
}

TEST_F(MachineFile, PalmWaferIsThatOfTableVI) {
  const Machine wafer = machine("palm_wafer");
  EXPECT_EQ(wafer.topology->nodes(), 5U * 4 * 4 * 4);
  EXPECT_EQ(wafer.tile.rate(DataType::fp16).flops_per_second() * 16, 256'000'000'000'000U);
  EXPECT_EQ(wafer.tile.sram * 16, Bytes(60'000'000));
  EXPECT_EQ(wafer.channels.size(), 2U * 5 * 4);
  EXPECT_EQ(wafer.channels[0].bandwidth.bytes_per_second() * 4, 256'000'000'000U);
}

}  // namespace
}  // namespace tessera::machine::machine_files_test
