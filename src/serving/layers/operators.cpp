#include "layers/operators.hpp"

#include <algorithm>
#include <initializer_list>

#include "tessera/core/error.hpp"

namespace tessera::serving {

LayerOperators::LayerOperators(const LanguageSetup& setup) : shapes_(setup) {
  place_operands();
}

std::shared_ptr<const npu::TiledOperator> LayerOperators::make(Part part, std::uint64_t shape,
                                                               std::uint64_t cores) const {
  const npu::Target target{*shapes_.setup().core, cores, shapes_.model().data_type};
  switch (part) {
    case attention:
    case local_attention: {
      std::shared_ptr<const npu::TiledOperator> made =
          npu::lower(shapes_.attention_of(group_of(shape)), target);
      ensure(made != nullptr, "attention that was checked to fit a core does not");
      return made;
    }
    default:
      return shapes_.is_product(part) ? npu::lower(shapes_.product_of(part, shape), target)
                                      : npu::lower(shapes_.stream_of(part, shape), target);
  }
}

// Room for the operands of the largest step; those of a layer lie behind those of the one before.
void LayerOperators::place_operands() {
  const LanguageSetup& setup = shapes_.setup();
  const workload::TransformerShape& model = shapes_.model();
  const std::uint32_t rows = setup.tokens;
  const auto place = [&](Part part, std::uint64_t shape) {
    if (shapes_.sources().has(part) || part == softmax) {
      begins_[part] = npu::place_operands(*make(part, shape, setup.cores), layer_bytes_);
    }
  };
  for (const Part part :
       {norm_in, qkv, out, norm_mid, up, down, gate, router, expert_up, expert_gate, expert_down,
        shared_up, shared_gate, shared_down, rotary, query_key_norm}) {
    place(part, rows);
  }
  const auto keys = static_cast<std::uint32_t>(model.sequence);
  place(attention, code_of({setup.sequences, 1, keys}));
  const std::uint32_t seen = shapes_.in_window({1, std::min(rows, most_queries), keys}).keys;
  place(local_attention, code_of({setup.sequences, 1, seen}));
  place(embedding, rows);
  place(last_norm, setup.sequences);
  place(head, setup.sequences);
  place(softmax, setup.sequences);
}

}  // namespace tessera::serving
