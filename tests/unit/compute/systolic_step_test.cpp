// Systolic arrays stepped with data: products against Eigen's, cycles against the closed forms.

#include <gtest/gtest.h>

#include <Eigen/Core>
#include <algorithm>
#include <string>
#include <vector>

#include "tessera/compute/convolution.hpp"
#include "tessera/compute/systolic.hpp"
#include "tessera/core/random.hpp"

namespace tessera::compute::systolic_step_test {
namespace {

using workload::MatrixProduct;

template <class T>
using Dense = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class T>
using View = Eigen::Map<const Dense<T>>;

template <class Sum, class T>
Dense<Sum> reference(const Operands<T>& operands) {
  const auto [rows, columns, depth, count] = operands.shape;
  Dense<Sum> all(count * rows, columns);
  for (std::uint64_t i = 0; i < count; ++i) {
    const View<T> inputs(operands.inputs.data() + i * rows * depth, rows, depth);
    const View<T> weights(operands.weights.data() + i * depth * columns, depth, columns);
    all.middleRows(i * rows, rows) = inputs.template cast<Sum>() * weights.template cast<Sum>();
  }
  return all;
}

std::vector<MatrixProduct> shapes_of(const auto& products) {
  std::vector<MatrixProduct> shapes;
  for (const auto& product : products) {
    shapes.push_back(product.shape);
  }
  return shapes;
}

std::string text_of(const std::string& name, const MatrixShape& array,
                    const std::vector<MatrixProduct>& shapes) {
  std::string text =
      name + " on " + std::to_string(array.rows) + 'x' + std::to_string(array.columns) + ':';
  for (const auto& [rows, columns, depth, count] : shapes) {
    text += ' ' + std::to_string(rows) + 'x' + std::to_string(depth) + 'x' +
            std::to_string(columns) + '*' + std::to_string(count);
  }
  return text;
}

// Cycles as the closed form, products as Eigen's but for `tolerance`.
template <class Sum, class T>
void expect_right(const std::string& name, const MatrixShape& array,
                  const std::vector<Operands<T>>& products, double tolerance = 0) {
  const auto dataflow = dataflows().at(name)();
  const auto shapes = shapes_of(products);
  SCOPED_TRACE(text_of(name, array, shapes));
  const Stepped<Sum> stepped = dataflow->step(array, products);
  EXPECT_EQ(stepped.completions, dataflow->completions(array, shapes));
  EXPECT_EQ(stepped.cycles,
            *std::max_element(stepped.completions.begin(), stepped.completions.end()));
  ASSERT_EQ(stepped.outputs.size(), products.size());
  for (std::size_t i = 0; i < products.size(); ++i) {
    const Dense<Sum> expected = reference<Sum>(products[i]);
    const View<Sum> found(stepped.outputs[i].data(), expected.rows(), expected.cols());
    const double off = (found - expected).template cast<double>().cwiseAbs().maxCoeff();
    EXPECT_LE(off, tolerance) << "product " << i;
  }
}

class SystolicStep : public ::testing::TestWithParam<std::string> {};

// Sides from 1 on, below and above those of the array; `count` products of one shape; sequences of
// unequal shapes; a third of the operands zero.
TEST_P(SystolicStep, AgreesWithTheClosedFormForAnyShapes) {
  RandomStream random(7, EntityId(0), 0);
  const auto side = [&](std::uint64_t most) { return 1 + random.next_below(most); };
  for (int round = 0; round < 400; ++round) {
    const MatrixShape array{side(7), side(7)};
    std::vector<Operands<std::int8_t>> products;
    for (std::uint64_t left = side(5); left > 0; --left) {
      const std::uint64_t most = random.next_below(4) == 0 ? 2 : 20;
      products.push_back(random_operands<std::int8_t>({side(most), side(most), side(most), side(3)},
                                                      random.next_u64(), 1));
    }
    expect_right<std::int32_t>(GetParam(), array, products);
    ASSERT_FALSE(HasFailure());
  }
}

TEST_P(SystolicStep, TakesTheWholeRangeOfInt8) {
  std::vector<Operands<std::int8_t>> products;
  for (const MatrixProduct& shape :
       {MatrixProduct{33, 17, 40, 1}, {16, 16, 16, 1}, {3, 50, 70, 2}}) {
    products.push_back(random_operands<std::int8_t>(shape, shape.rows, 127));
    products.back().inputs[0] = -128;
    products.back().weights[0] = -128;
  }
  expect_right<std::int32_t>(GetParam(), {16, 16}, products);
}

TEST_P(SystolicStep, SumsInt32ThatWraps) {
  Operands<std::int8_t> product{{1, 1, 200'000, 1},
                                std::vector<std::int8_t>(200'000, -128),
                                std::vector<std::int8_t>(200'000, -128)};
  const auto stepped = dataflows().at(GetParam())()->step({4, 4}, std::span(&product, 1));
  EXPECT_EQ(stepped.outputs[0][0], static_cast<std::int32_t>(200'000U * 16'384U));
}

TEST_P(SystolicStep, SumsFp32) {
  std::vector<Operands<float>> products;
  for (const MatrixProduct& shape : {MatrixProduct{33, 17, 40, 1}, {5, 60, 20, 2}}) {
    products.push_back(random_operands<float>(shape, 1, 100));
    for (float& value : products.back().inputs) {
      value /= 700;
    }
    for (float& value : products.back().weights) {
      value /= 300;
    }
  }
  expect_right<float>(GetParam(), {12, 8}, products, 1e-5);
}

TEST_P(SystolicStep, HasNoSpecialCaseForZeros) {
  for (const MatrixProduct& shape : {MatrixProduct{4, 4, 4, 1}, {9, 3, 7, 2}}) {
    Operands<std::int8_t> zeros = random_operands<std::int8_t>(shape, 1, 1);
    std::fill(zeros.inputs.begin(), zeros.inputs.end(), std::int8_t{0});
    const auto others = random_operands<std::int8_t>({6, 5, 4, 1}, 2, 9);
    expect_right<std::int32_t>(GetParam(), {4, 4}, std::vector{zeros, others, zeros});
  }
}

// A weight-stationary array of one row or column, and one that is all of the product.
TEST_P(SystolicStep, TakesArraysOfOneRowOrColumn) {
  const std::vector products{random_operands<std::int8_t>({5, 6, 7, 1}, 1, 5)};
  for (const MatrixShape& array : {MatrixShape{1, 1}, {1, 9}, {9, 1}, {7, 6}, {64, 64}}) {
    expect_right<std::int32_t>(GetParam(), array, products);
  }
}

TEST_P(SystolicStep, ConvolvesInGroups) {
  const Convolution grouped{.height = 6,
                            .width = 5,
                            .channels = 6,
                            .kernel_height = 3,
                            .kernel_width = 2,
                            .filters = 9,
                            .stride = 2,
                            .padding = 1,
                            .groups = 3};
  const auto random = random_operands<std::int8_t>({6 * 5, 9, 6, 3}, 3, 50);
  const std::span<const std::int8_t> image(random.inputs.data(), 6 * 5 * 6);
  const std::span<const std::int8_t> kernel(random.weights.data(), 3 * 2 * 2 * 9);
  const Operands<std::int8_t> product = lowered(grouped, image, kernel);
  const auto stepped = dataflows().at(GetParam())()->step({5, 4}, std::span(&product, 1));
  ASSERT_EQ(stepped.outputs[0].size(), 3 * 3 * 3 * 3U);
  for (int group = 0; group < 3; ++group) {
    for (int y = 0; y < 3; ++y) {
      for (int x = 0; x < 3; ++x) {
        for (int filter = 0; filter < 3; ++filter) {
          std::int32_t sum = 0;
          for (int dy = 0; dy < 3; ++dy) {
            for (int dx = 0; dx < 2; ++dx) {
              const int row = 2 * y + dy - 1;
              const int column = 2 * x + dx - 1;
              for (int channel = 0; channel < 2; ++channel) {
                if (row >= 0 && row < 6 && column >= 0 && column < 5) {
                  sum += image[(row * 5 + column) * 6 + group * 2 + channel] *
                         kernel[((dy * 2 + dx) * 2 + channel) * 9 + group * 3 + filter];
                }
              }
            }
          }
          EXPECT_EQ(stepped.outputs[0][((group * 3 + y) * 3 + x) * 3 + filter], sum);
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Of, SystolicStep, ::testing::ValuesIn(dataflows().names()),
                         [](const auto& instance) {
                           std::string name = instance.param;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace tessera::compute::systolic_step_test
