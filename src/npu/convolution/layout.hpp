// How a convolution is cut, and where its parts lie in memory: what its tiles and their programs
// have in common.
//
// Images are [height, width, channels]. Weights of one group at a time are put into blocks of the
// array beforehand, each of whole bytes; those of several groups at a time lie group by group
// without the zeros between them.
#pragma once

#include <cstdint>
#include <vector>

#include "convolution/tiling.hpp"
#include "cut.hpp"
#include "tessera/npu/specs.hpp"

namespace tessera::npu {

enum ConvolutionOperand : std::uint8_t { image, weights, output_place, bias, residual };

// Parts of the cuts. As a shape: what a program differs by, which is how much of the padding is
// seen and whether parts are the last ones.
struct ConvolutionPlace {
  std::uint64_t image = 0;
  std::uint64_t groups = 0;
  std::uint64_t row = 0;
  std::uint64_t column = 0;
  std::uint64_t outputs = 0;
  std::uint64_t kernel_row = 0;
  std::uint64_t kernel_column = 0;
  std::uint64_t channels = 0;
  bool last_groups = false;
  bool last_outputs = false;
  bool first_step = false;
  bool last_step = false;
  bool last_channels = false;

  std::uint64_t code() const;
  static ConvolutionPlace from(std::uint64_t code);
};

class ConvolutionLayout {
 public:
  // The cuts, in the order of tiles, the last fastest; an image has no parts. The first five are of
  // the output.
  struct Cuts {
    Cut groups;
    Cut rows;
    Cut columns;
    Cut outputs;  // of a group
    Cut kernel_rows;
    Cut kernel_columns;
    Cut channels;  // of a group
  };

  ConvolutionLayout(const ConvolutionSpec& spec, const ConvolutionTiles& tiles,
                    const Target& target);

  const CoreConfig& core() const { return target_.core; }
  const Target& target() const { return target_; }
  const ConvolutionSpec& spec() const { return spec_; }
  const ConvolutionShape& shape() const { return spec_.shape; }
  const ConvolutionTiles& tiles() const { return tiles_; }
  const Cuts& cuts() const { return cuts_; }
  std::uint64_t element() const { return element_; }  // [B]
  std::uint64_t output_bytes() const;
  const StoredWeights& stored() const { return stored_; }
  std::uint64_t weight_bytes() const;

  std::uint64_t groups() const;  // of tiles
  std::uint64_t steps() const;
  ConvolutionPlace place(std::uint64_t group, std::uint64_t step) const;
  // The first part of a direction that looks like `part`: parts that see no padding and are whole
  // are alike.
  std::uint64_t alike(std::size_t direction, const Cut& cut, std::uint64_t part) const;
  // Of the input, in one direction: what some positions see through some of the kernel, without
  // the padding. May be empty.
  Range seen(std::size_t direction, const Range& positions, const Range& kernel) const;
  // The same from the first one on that a stride meets which begins where the positions do. May
  // begin behind its end.
  Range met(std::size_t direction, const Range& positions, const Range& kernel) const;

  // Where the weights of a block begin, counted from those of its group [B].
  std::uint64_t weight_begin(std::uint64_t outputs, std::uint64_t kernel_row,
                             std::uint64_t kernel_column, std::uint64_t channels) const;
  // Where those of a group begin [B].
  std::uint64_t group_begin(std::uint64_t group) const;

 private:
  std::uint64_t block_bytes() const;

  Target target_;
  ConvolutionSpec spec_;
  ConvolutionTiles tiles_;
  std::uint64_t element_;
  StoredWeights stored_;
  Cuts cuts_;
};

// The program of the tiles that look like `place`.
TileProgram convolution_program(const ConvolutionLayout& layout, const ConvolutionPlace& place);

}  // namespace tessera::npu
