#include "tessera/config/key.hpp"

#include "reading.hpp"

namespace tessera::config::key_test {
namespace {

enum class Colour { red, green };

const Key<Bytes> size_key{"cache.size", Bytes(4096), "of the cache", at_least(Bytes(1))};
const Key<unsigned> count_key{"count", 4, "of them", between(1U, 32U)};
const Key<std::uint8_t> narrow_key{"narrow", 7, "in a byte"};
const RequiredKey<std::int64_t> rows_key{"rows", "from north to south", at_least<std::int64_t>(2)};
const OptionalKey<SimTime> limit_key{"limit", "none", "of waiting"};
const DerivedKey<std::uint64_t> width_key{"width", "4 * hidden", "inside"};
const ChoiceKey<Colour> colour_key{
    "colour", {{"red", Colour::red}, {"green", Colour::green}}, "green", "of paint"};
const NameKey shape_key{"shape",
                        [] {
                          return std::vector<std::string>{"ring", "line"};
                        },
                        "line", "of the group"};
const ListKey<double> rates_key{"rates", {0.5, 1}, "offered"};

TEST(Key, DeclaresWhatItReads) {
  const ParameterInfo info = size_key;
  EXPECT_EQ(info.name, "cache.size");
  EXPECT_EQ(info.unit, "B");
  EXPECT_EQ(info.default_value, "4 KiB");
  EXPECT_TRUE(info.is_value);
  EXPECT_FALSE(info.is_required);
  EXPECT_EQ(info.type, "size");
  EXPECT_EQ(info.low, "1 B");
  EXPECT_EQ(info.high, "");
  EXPECT_EQ(ParameterInfo(count_key).high, "32");
  EXPECT_EQ(ParameterInfo(rates_key).default_value, "[0.5, 1]");
  EXPECT_EQ(ParameterInfo(rates_key).type, "list of number");
  EXPECT_EQ(ParameterInfo(colour_key).names, (std::vector<std::string>{"red", "green"}));
  EXPECT_EQ(ParameterInfo(shape_key).names, (std::vector<std::string>{"ring", "line"}));
  EXPECT_TRUE(ParameterInfo(rows_key).is_required);
  EXPECT_FALSE(ParameterInfo(width_key).is_value);
  EXPECT_TRUE(of_cost(Key<bool>("shown", true, "")).info().is_cost);
}

TEST(Key, GivesItsDefault) {
  Reading reading("{}");
  EXPECT_EQ(size_key.read(reading.root), Bytes(4096));
  EXPECT_EQ(count_key.read(reading.root), 4U);
  EXPECT_EQ(limit_key.read(reading.root), std::nullopt);
  EXPECT_EQ(width_key.read(reading.root, 64), 64U);
  EXPECT_EQ(colour_key.read(reading.root), Colour::green);
  EXPECT_EQ(shape_key.read(reading.root), "line");
  EXPECT_EQ(rates_key.read(reading.root), (std::vector<double>{0.5, 1}));
  EXPECT_TRUE(reading.diagnostics.empty());
}

TEST(Key, ReadsTheLastPartOfItsName) {
  Reading reading("{size: 2 KiB, count: 9, limit: 3 ns, width: 5, colour: red, shape: ring}");
  EXPECT_EQ(size_key.read(reading.root), Bytes(2048));
  EXPECT_EQ(count_key.read(reading.root), 9U);
  EXPECT_EQ(limit_key.read(reading.root), SimTime::from_ps(3000));
  EXPECT_EQ(width_key.read(reading.root, 64), 5U);
  EXPECT_EQ(colour_key.read(reading.root), Colour::red);
  EXPECT_EQ(shape_key.read(reading.root), "ring");
  EXPECT_TRUE(reading.diagnostics.empty());
}

TEST(Key, RefusesWhatItsTypeOrRangeDoesNotHold) {
  const auto complaint = [](const std::string& text, const auto& key) {
    Reading reading(text);
    key.read(reading.root);
    return reading.diagnostics.empty() ? std::string() : reading.diagnostics.list().front().message;
  };
  EXPECT_EQ(complaint("{count: 33}", count_key), "count: must be between 1 and 32; got '33'");
  EXPECT_EQ(complaint("{narrow: 256}", narrow_key), "narrow: must be between 0 and 255; got '256'");
  EXPECT_EQ(complaint("{}", rows_key), "rows: missing; give a whole number, e.g. 4");
  EXPECT_EQ(complaint("{colour: gren}", colour_key),
            "colour: unknown name 'gren'; did you mean 'green'? known: red, green");
}

TEST(Key, ChoicesMayBeMadeElsewhere) {
  const ChoiceKey<Colour>::Choices choices{{"green", Colour::green}, {"red", Colour::red}};
  const auto key = ChoiceKey<Colour>("colour", choices, "as the wall", "of paint").derived();
  EXPECT_FALSE(key.info().is_value);
  EXPECT_FALSE(key.info().is_required);
  EXPECT_EQ(key.info().names, (std::vector<std::string>{"green", "red"}));
  Reading absent("{}");
  EXPECT_EQ(key.read(absent.root, "red"), Colour::red);
  Reading given("{colour: green}");
  EXPECT_EQ(key.read(given.root, "red"), Colour::green);
}

TEST(Key, IsCompiledForTypesThatNoOtherHas) {
  const Key<std::int16_t> key{"depth", -3, "below ground", between<std::int16_t>(-9, 9)};
  EXPECT_EQ(ParameterInfo(key).low, "-9");
  Reading reading("{depth: 7}");
  EXPECT_EQ(key.read(reading.root), 7);
}

}  // namespace
}  // namespace tessera::config::key_test
