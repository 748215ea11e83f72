// The layers of a transformer: decoder-only with the norm before each part as GPT-2, GPT-3 and
// Megatron-LM train it (Shoeybi et al., arXiv:1909.08053, figures 2 to 4), encoder-only (Devlin et
// al., BERT, arXiv:1810.04805), or both with cross attention (Vaswani et al., arXiv:1706.03762;
// Raffel et al., T5, arXiv:1910.10683).
//
// s tokens a sample, h hidden, a heads, f the width inside the MLP, V vocabulary; one sample.
//
// A layer's products have 8 s h^2 + 4 s h f + 4 s^2 h FLOPs forward, that is 24 s h^2 + 4 s^2 h for
// f = 4 h, the head's 2 s h V; with full recomputation this is equation (3) of Narayanan et al.,
// arXiv:2104.04473. As there, attention is counted whole although a causal mask makes half of it
// void, unless it is of the flash type and `causal`.
//
// Activations kept for backward are those of Korthikanti et al., arXiv:2205.05198, equation (2):
// s h (10 + 24/t + 5 a s/(h t)) bytes a layer with 16-bit data under tensor parallelism of degree
// t, dropout masks of one byte an element included; without what is recomputed selectively
// s h (10 + 24/t). Embedding and head follow section 4.3 there without sequence parallelism (logits
// kept in fp32); token numbers are not counted.
//
// Latent attention (DeepSeek-V2, arXiv:2405.04434, section 2.1, equations (37) to (47)) is made as
// it is trained: keys and values of every head come out of the latent vector. With heads a, widths
// d of keys without position, r with it and v of values, and ranks q and c, it has h (q + c + r) +
// q a (d + r)
// + c a (d + v) + a v h weights beside the two norms. The small products into the latent vectors
// are whole on every shard (cut along the tokens with sequence parallelism), and so is the part of
// the key that all heads share; each head keeps a copy of it beside its own part, as the attention
// kernels of frameworks take it.
//
// Norms of queries and keys (Dehghani et al., arXiv:2302.05442, section 2; Qwen3 technical report,
// arXiv:2505.09388, section 2) are of each head's vectors behind the product that makes them, with
// one gain for all heads of a layer. Deviation: shards of a tensor group keep a part of the gains,
// where each has all of them, 2 head_width elements a layer, and do not add up their gradients.
//
// Local layers (Beltagy et al., Longformer, arXiv:2004.05150; Mistral 7B, arXiv:2310.06825) see a
// window of w tokens, w s - w (w - 1) / 2 pairs for s >= w.
//
// State-space layers are those of Mamba-2 (Dao and Gu, arXiv:2405.21060, section 6 and listing 1):
// in chunks of Q tokens a layer of H heads of P channels, G groups and N elements of state
// multiplies 2 s Q (G N + H P) + 4 s N H P FLOPs forward beside its projections, whole blocks
// although half of each is masked. What is kept are the inputs of each operator; scores and states
// of chunks are made again backward, as by the published kernels. Masks of decays are part of the
// products.
//
// Mixture of experts (Lepikhin et al., GShard, arXiv:2006.16668; Fedus et al., Switch Transformer,
// arXiv:2101.03961): a router on every token; each of E experts works on ceil(s k c / E) copies of
// tokens, its capacity for top-k routing and capacity factor c (equation (3) of the latter), full
// or not, or on those that come; copies travel to the experts after `dispatch` and back after
// `expert_down`.
//
// Deviations: the three small fp32 all-reduces of a cut cross-entropy (maximum, sum of
// exponentials, logit of the target) are one of 3 s elements of the workload's data type; the
// load-balancing loss costs nothing; a masked-language-model head works on all tokens, as in
// Megatron-LM; every decoder layer keeps the encoder's output for its cross attention.
#pragma once

#include <cstdint>
#include <vector>

#include "operators.hpp"
#include "tessera/workload/transformer/model.hpp"
#include "tessera/workload/transformer/transformer.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::workload {

// Copies of tokens that an expert has room for: ceil(tokens * top_k * capacity factor / experts).
std::uint64_t expert_capacity(const ExpertShape& experts, std::uint64_t tokens);

// Of rotary positions: two products and a sum for each element turned; backward alike (Su et al.,
// RoFormer, arXiv:2104.09864, equation (34)).
inline constexpr VectorCost rotary_cost{3, 3, 0};

// Latent attention from the residual stream back to it, the sum with that apart.
std::vector<Operator> latent_operators(const TransformerShape& shape, std::uint64_t tokens,
                                       bool causal);

// Columns of what goes into an MLP of `width`: with a gate twice as many.
std::vector<ColumnBlock> up_blocks(Activation activation, std::uint64_t width);

// A state-space layer, likewise.
std::vector<Operator> ssm_operators(const TransformerShape& shape, std::uint64_t tokens);

// What each expert of a layer works on where it is not padded: with shares as given or drawn, and
// no more than its capacity where what is beyond is dropped.
std::vector<std::uint64_t> expert_copies(const ExpertShape& experts, std::uint64_t tokens,
                                         std::uint64_t layer);

// The router on so many tokens, and its softmax.
std::vector<Operator> router_operators(const TransformerShape& shape, std::uint64_t tokens);

// The operators of an MLP whose tokens are spread over experts, from the router to the sum.
std::vector<Operator> expert_operators(const TransformerShape& shape, std::uint64_t tokens,
                                       std::uint64_t layer);

}  // namespace tessera::workload
