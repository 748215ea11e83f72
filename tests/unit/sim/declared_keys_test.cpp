// Rows of keys that `tessera list` shows are made from their declarations.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "tessera/core/data_type.hpp"
#include "tessera/onnx/description.hpp"
#include "tessera/plan/strategy.hpp"
#include "tessera/serving/policy.hpp"
#include "tessera/serving/request.hpp"
#include "tessera/sim/experiment.hpp"
#include "tessera/sim/experiment_keys.hpp"
#include "tessera/sim/traffic/traffic.hpp"
#include "tessera/workload/graph_workload.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::sim::declared_keys_test {
namespace {

using Rows = std::vector<ParameterInfo>;

std::map<std::string, Rows> tables() {
  std::map<std::string, Rows> all{{"strategy", plan::strategy_parameters()},
                                  {"onnx", onnx::description_parameters()},
                                  {"experiment", experiment_parameters()},
                                  {"execution", execution_parameters()},
                                  {"run", run_parameters()},
                                  {"tenants", tenant_parameters()},
                                  {"traffic", traffic_parameters()}};
  for (const std::vector<PartInfo>& parts :
       {workload::workloads().infos(), workload::graph_workloads().infos(),
        serving::arrivals().infos(), serving::policies().infos()}) {
    for (const PartInfo& part : parts) {
      all[part.name] = part.parameters;
    }
  }
  return all;
}

const ParameterInfo& row_of(const Rows& rows, std::string_view name) {
  for (const ParameterInfo& row : rows) {
    if (row.name == name) {
      return row;
    }
  }
  throw ConfigError("there is no key " + std::string(name));
}

TEST(DeclaredKeys, HaveATypeAndAMeaning) {
  for (const auto& [part, rows] : tables()) {
    for (const ParameterInfo& row : rows) {
      EXPECT_NE(row.type, "") << part << "." << row.name;
      EXPECT_NE(row.help, "") << part << "." << row.name;
      EXPECT_FALSE(row.is_required && !row.default_value.empty()) << part << "." << row.name;
    }
  }
}

// A name that is one of some is among them; kinds of operators share a key's name.
TEST(DeclaredKeys, HaveDefaultsThatMayBeGiven) {
  for (const auto& [part, rows] : tables()) {
    for (const ParameterInfo& row : rows) {
      if (row.is_value && !row.names.empty()) {
        const std::set<std::string> names(row.names.begin(), row.names.end());
        EXPECT_TRUE(names.contains(row.default_value)) << part << "." << row.name;
      }
    }
  }
}

TEST(DeclaredKeys, SayRangesAndWhatMustBeGiven) {
  const Rows strategy = plan::strategy_parameters();
  EXPECT_EQ(row_of(strategy, "zero").low + row_of(strategy, "zero").high, "03");
  EXPECT_EQ(row_of(strategy, "micro_batch").unit, "samples");
  EXPECT_FALSE(row_of(strategy, "schedule").is_value);
  const Rows transformer = tables().at("transformer");
  EXPECT_TRUE(row_of(transformer, "hidden").is_required);
  EXPECT_EQ(row_of(transformer, "hidden").high, "1048576");
  EXPECT_EQ(row_of(transformer, "data_type").names, data_type_names());
  EXPECT_EQ(row_of(transformer, "ffn").default_value, "4 * hidden");
  EXPECT_FALSE(row_of(transformer, "ffn").is_value);
  // Of linear only, so that a list of layers can do without.
  EXPECT_FALSE(row_of(tables().at("layers"), "outputs").is_required);
  EXPECT_TRUE(row_of(execution_parameters(), "window").is_cost);
  EXPECT_EQ(row_of(tables().at("deadline"), "slack").default_value, "0.8");
}

}  // namespace
}  // namespace tessera::sim::declared_keys_test
