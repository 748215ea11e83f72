// Models as YAML names them.
#include "tessera/onnx/description.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/error.hpp"

namespace tessera::onnx::description_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Description read(const std::string& text) {
  config::Diagnostics diagnostics;
  config::Section section(config::parse("folder/model.yaml", text, diagnostics), "", diagnostics);
  Description description = read_description(section);
  section.finish();
  diagnostics.throw_if_any();
  return description;
}

TEST(Description, HasAllChoices) {
  const Description description = read(R"(
model: net.onnx
dimensions: {batch: 8, input.1: 512}
shapes: {image: [1, 3, 32, 32]}
values: {rate: 16000, sizes: [2, 3]}
branches: {choice: then, "*": else}
loops: {steps: 5}
optimize: extended
unknown: traffic
)");
  EXPECT_EQ(description.path, "folder/net.onnx");
  EXPECT_EQ(description.options.dimensions.at("input.1"), 512);
  EXPECT_THAT(description.options.shapes.at("image"), ElementsAre(1, 3, 32, 32));
  EXPECT_THAT(description.options.values.at("rate"), ElementsAre(16000));
  EXPECT_THAT(description.options.values.at("sizes"), ElementsAre(2, 3));
  EXPECT_TRUE(description.options.branches.at("choice"));
  EXPECT_FALSE(description.options.branches.at("*"));
  EXPECT_EQ(description.options.loops.at("steps"), 5);
  EXPECT_EQ(description.level, Level::extended);
  EXPECT_EQ(description.options.unknown, Unknown::traffic);
}

TEST(Description, ComplainsWithAPlace) {
  try {
    read("model: net.onnx\noptimize: extendet\ndimension: {a: 1}\n");
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("folder/model.yaml:2:"));
    EXPECT_THAT(error.what(), HasSubstr("did you mean 'dimensions'"));
  }
}

}  // namespace
}  // namespace tessera::onnx::description_test
