// Small runs to export for Chrome, and what of a timeline is looked at.
#pragma once

#include <gtest/gtest.h>
#include <zlib.h>

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tessera/trace/chrome/export.hpp"
#include "tessera/trace/records.hpp"
#include "tessera/trace/run_folder.hpp"
#include "trace_test_support.hpp"

namespace tessera::trace::test::chrome {

using Json = nlohmann::json;

inline constexpr std::int64_t beyond_double = (std::int64_t{1} << 53) + 1;

// Rows of one rank, by table.
struct RankRows {
  std::vector<NodeRow> nodes;
  std::vector<NameRow> names;
  std::vector<OperatorRow> operators;
  std::vector<MessageRow> messages;
  std::vector<LinkRow> link_bins;
  std::vector<LinkRow> links;
  std::vector<ChannelRow> channel_bins;
};

inline void write_run(const TempFolder& folder, const std::vector<RankRows>& run) {
  const int ranks = static_cast<int>(run.size());
  for (int rank = 0; rank < ranks; ++rank) {
    TraceFile file(folder.file(trace_name(rank, ranks)), tables(),
                   {{"phases", "forward,backward"},
                    {"activities", "compute,tensor,data,pipeline,memory,bubble"},
                    {"traffic", "activation,gradient"},
                    {"tenants", "chat,voice"},
                    {"experiment", "a \"test\""}});
    const auto append = [&](Table table, const auto& rows) {
      for (const auto& row : rows) {
        file.append(table, row);
      }
    };
    const RankRows& rows = run[static_cast<std::size_t>(rank)];
    append(nodes, rows.nodes);
    append(names, rows.names);
    append(operators, rows.operators);
    append(messages, rows.messages);
    append(link_bins, rows.link_bins);
    append(links, rows.links);
    append(channel_bins, rows.channel_bins);
    file.close(SimTime::from_ps(1));
  }
  write_manifest(folder.path(), ranks);
}

inline NodeRow node_of(std::uint32_t node, std::int64_t stage) {
  NodeRow row{};
  row.node = node;
  row.stage = stage;
  return row;
}

inline OperatorRow step(std::uint32_t node, std::int64_t start_ps, std::int64_t end_ps,
                        std::uint8_t activity = 0, std::uint16_t name = 0) {
  return {start_ps, end_ps, node, 3, name, 1, activity};
}

inline ChannelRow channel_bin(std::int64_t begin_ps, std::int64_t end_ps, std::uint64_t read,
                              std::uint64_t written = 0) {
  ChannelRow row;
  row.begin_ps = begin_ps;
  row.end_ps = end_ps;
  row.read_bytes = read;
  row.written_bytes = written;
  row.channel = 5;
  return row;
}

inline LinkRow link_bin(std::int64_t begin_ps, std::int64_t end_ps, std::uint64_t bytes,
                        std::int64_t busy_ps, std::uint8_t port = 0) {
  return {begin_ps, end_ps, bytes, busy_ps, 0, 0, 1, port};
}

// Two ranks, two stages of two tiles (10, 11 and 20, 21), and names on rank 0 as a run has them.
inline std::vector<RankRows> small_run() {
  RankRows first;
  first.nodes = {node_of(10, 0), node_of(11, 0), node_of(30, -1)};
  first.names = {{0, text64("attention")}, {1, text64("say \"hi\"\n\\ \xff é")}};
  first.operators = {step(10, 0, 1'234'567), step(10, 1'234'567, 2'000'000, 1, 1),
                     step(10, 2'000'000, 2'000'001, 4), step(10, 2'000'001, beyond_double, 5),
                     step(11, 0, 7)};
  RankRows second;
  second.nodes = {node_of(20, 1), node_of(21, 1)};
  second.operators = {step(20, 500, 600, 0, 99), step(21, 500, 600, 77)};
  second.messages = {{5, 1'000'005, beyond_double, std::uint64_t{1} << 63, 10, 20, 0},
                     {6, 6, 6, 0, 20, 21, 1}};
  return {first, second};
}

inline std::string unpacked(const std::string& path) {
  gzFile file = gzopen(path.c_str(), "rb");
  std::string text;
  std::array<char, 4096> buffer{};
  for (int count = gzread(file, buffer.data(), buffer.size()); count > 0;
       count = gzread(file, buffer.data(), buffer.size())) {
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  EXPECT_EQ(gzclose(file), Z_OK);
  return text;
}

// An exported timeline, and what the program says about it.
struct Timeline {
  ChromeExport result;
  std::string text;
  Json json;

  std::vector<Json> events(const std::string& phase) const {
    std::vector<Json> found;
    for (const Json& event : json["traceEvents"]) {
      if (event["ph"] == phase) {
        found.push_back(event);
      }
    }
    return found;
  }
  // Name of each process or thread.
  std::string name_of(const std::string& kind, const Json& event) const {
    for (const Json& metadata : events("M")) {
      if (metadata["name"] == kind + "_name" && metadata["pid"] == event["pid"] &&
          (kind == "process" || metadata["tid"] == event["tid"])) {
        return metadata["args"]["name"];
      }
    }
    return "";
  }
};

inline Timeline exported(const TempFolder& folder, ChromeExportOptions options = {}) {
  options.folder = folder.path();
  Timeline timeline;
  timeline.result = export_chrome(options);
  timeline.text = unpacked(timeline.result.output);
  timeline.json = Json::parse(timeline.text);
  return timeline;
}

// "tile lane start-end" of each slice.
inline std::vector<std::string> slices_of(const Timeline& timeline) {
  std::vector<std::string> slices;
  for (const Json& slice : timeline.events("X")) {
    slices.push_back(timeline.name_of("thread", slice) + " " + slice["args"]["start_ps"].dump());
  }
  return slices;
}

// Eight tiles that are never without a step.
inline RankRows busy_rows() {
  RankRows rows;
  for (std::uint32_t tile = 0; tile < 8; ++tile) {
    rows.nodes.push_back(node_of(tile, tile / 2));
    std::int64_t now = 0;
    for (std::uint64_t i = 0; i < 200; ++i) {
      const std::uint64_t random = mix64(tile * 1000 + i + 1);
      const std::int64_t end = now + static_cast<std::int64_t>(random % 3'000'000) + 1;
      rows.operators.push_back(step(tile, now, end, static_cast<std::uint8_t>(random >> 40) % 6));
      now = end;
    }
  }
  return rows;
}

}  // namespace tessera::trace::test::chrome
