// SPDX-License-Identifier: Apache-2.0
//
// Epilogues: what a matmul does to its sums on their way out. An epilogue is a type with `Params` and a function
// of a fragment, which is what one thread has of the output: numbers, with the row and the column of each. The
// same text works on wgmma's registers and on rows that come out of tensor memory.
//
//   struct LeakyRelu {
//     struct Params { float slope; };
//     template <class Out, class Fragment>
//     HEDDLE_DEVICE static void apply(const Params& params, Fragment& f) {
//       HEDDLE_UNROLL
//       for (std::uint32_t i = 0; i < f.count; ++i) f[i] = f[i] > 0.0f ? f[i] : params.slope * f[i];
//     }
//   };
//   using Mine = EpilogueChain<Scale, AddBias<bf16>, LeakyRelu>;       // one after the other
//   using Kernel = MatmulSm90<config, bf16, Mine>;
//   Mine::params(Scale::Params{2.0f}, AddBias<bf16>::Params{bias}, LeakyRelu::Params{0.1f});
//
// What a fragment has: `count` numbers f[i]; f.row(i) and f.col(i); f.has(i), false outside the output, where
// nothing must be loaded. f[2 * i] and f[2 * i + 1] are neighbours in a row; f.has_next(2 * i) says of one that
// exists whether the second does. f.offset(i, pitch) is where it is in a matrix in memory, in a form that leaves
// constants to the address. A thread has parts of f.rows rows, and f.row_of(i) says of which. An epilogue may
// also have
//
//   using Output = e4m3;                                    // the type that is stored; otherwise the host says
//   static constexpr std::uint32_t folds = 2;               // columns of the sums for one of the output, and
//   static float fold(const Params&, float a, float b);     // what becomes of them: see SwiGlu
#pragma once

#include <heddle/isa/math.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/sreg.h>
#include <heddle/isa/target.h>
#include <heddle/isa/warp.h>
#include <heddle/tile/convert.h>

#include <type_traits>

namespace heddle::inline HEDDLE_TARGET {

// Of a panel of wgmma's sums, from number `first` of a thread's on: pairs of neighbours, in turn of a row and of
// the eighth below it. PTX: Register Fragments for wgmma.mma_async.
template <std::uint32_t first, std::uint32_t numbers, class Sums>
class WgmmaPanel {
 public:
  static constexpr std::uint32_t count = numbers;
  static constexpr std::uint32_t cols = 2 * numbers;  // of the panel
  static constexpr std::uint32_t rows = 2;

  // `row` and `col` are those of the first number, `m` and `n` of the whole output.
  HEDDLE_DEVICE WgmmaPanel(Sums& sums, std::uint32_t row, std::uint32_t col, std::uint32_t m, std::uint32_t n)
      : sums_(sums), row_(row), col_(col), m_(m), n_(n) {}

  HEDDLE_DEVICE float& operator[](std::uint32_t i) const { return sums_[first + i]; }
  HEDDLE_HOST_DEVICE static constexpr std::uint32_t row_of(std::uint32_t i) { return i / 2 % 2; }
  HEDDLE_DEVICE std::uint32_t row(std::uint32_t i) const { return row_ + row_of(i) * 8; }
  HEDDLE_DEVICE std::uint32_t col(std::uint32_t i) const { return col_ + i / 4 * 8 + i % 2; }
  HEDDLE_DEVICE bool has(std::uint32_t i) const { return row(i) < m_ && col(i) < n_; }
  HEDDLE_DEVICE bool has_next(std::uint32_t i) const { return col(i) + 1 < n_; }
  HEDDLE_DEVICE std::uint64_t offset(std::uint32_t i, std::uint64_t pitch) const {
    return row(i) * pitch + col_ + i / 4 * 8 + i % 2;
  }
  HEDDLE_DEVICE std::uint32_t n() const { return n_; }

  // One of the four threads that share a row; and joins what each of them has of it.
  HEDDLE_DEVICE bool is_first_of_row() const { return isa::laneid() % 4 == 0; }
  template <class Join>
  HEDDLE_DEVICE static float join_row(float value, const Join& join, CallSite site = CallSite::here()) {
    HEDDLE_UNROLL
    for (std::uint32_t lanes = 1; lanes <= 2; lanes *= 2) {
      const std::uint32_t other =
          isa::shfl_sync_bfly(__builtin_bit_cast(std::uint32_t, value), lanes, isa::kFullMask, site);
      value = join(value, __builtin_bit_cast(float, other));
    }
    return value;
  }

 private:
  Sums& sums_;
  std::uint32_t row_;
  std::uint32_t col_;
  std::uint32_t m_;
  std::uint32_t n_;
};

// Neighbours of one row, as a lane has them that reads tensor memory. With `lanes` 2, lane t + 16 has the rest of
// the row of lane t.
template <std::uint32_t numbers, std::uint32_t lanes = 1>
class RowPart {
 public:
  static constexpr std::uint32_t count = numbers;
  static constexpr std::uint32_t cols = numbers * lanes;
  static constexpr std::uint32_t rows = 1;

  HEDDLE_DEVICE RowPart(float (&values)[numbers], std::uint32_t row, std::uint32_t col, std::uint32_t m,
                        std::uint32_t n)
      : values_(values), row_(row), col_(col), m_(m), n_(n) {}

  HEDDLE_DEVICE float& operator[](std::uint32_t i) const { return values_[i]; }
  HEDDLE_HOST_DEVICE static constexpr std::uint32_t row_of(std::uint32_t) { return 0; }
  HEDDLE_DEVICE std::uint32_t row(std::uint32_t) const { return row_; }
  HEDDLE_DEVICE std::uint32_t col(std::uint32_t i) const { return col_ + i; }
  HEDDLE_DEVICE bool has(std::uint32_t i) const { return row_ < m_ && col(i) < n_; }
  HEDDLE_DEVICE bool has_next(std::uint32_t i) const { return col(i) + 1 < n_; }
  HEDDLE_DEVICE std::uint64_t offset(std::uint32_t i, std::uint64_t pitch) const {
    return row_ * pitch + col_ + i;
  }
  HEDDLE_DEVICE std::uint32_t n() const { return n_; }

  HEDDLE_DEVICE bool is_first_of_row() const { return lanes == 1 || isa::laneid() < 16; }
  template <class Join>
  HEDDLE_DEVICE static float join_row(float value, const Join& join, CallSite site = CallSite::here()) {
    if constexpr (lanes == 1) return value;
    const std::uint32_t other =
        isa::shfl_sync_bfly(__builtin_bit_cast(std::uint32_t, value), 16, isa::kFullMask, site);
    return join(value, __builtin_bit_cast(float, other));
  }

 private:
  float (&values_)[numbers];
  std::uint32_t row_;
  std::uint32_t col_;
  std::uint32_t m_;
  std::uint32_t n_;
};

// x times a sigmoid of linear * x + cubic * x^3.
HEDDLE_DEVICE float times_sigmoid(float x, float linear, float cubic) {
  constexpr float log2_e = 1.4426950408889634f;
  return x * isa::rcp_approx_f32(1.0f + isa::ex2_approx_f32(-log2_e * x * (linear + cubic * x * x)));
}

// The usual approximation of gelu, by a hyperbolic tangent, is such a product too.
inline constexpr float kGeluLinear = 1.5957691216057308f;
inline constexpr float kGeluCubic = 0.0713548162726009f;

// Calls body(i, at) for the pairs of neighbours of a fragment that begin inside of the output: the index of the
// first, and where it is in a matrix in memory, whose numbers take a One each; pitch 0: the same row, a bias, for
// every one. A row's address is computed once.
template <class One, class Fragment, class Body>
HEDDLE_DEVICE void for_each_pair(One* matrix, std::uint64_t pitch, const Fragment& f, const Body& body) {
  One* row[Fragment::rows];
  HEDDLE_UNROLL
  for (std::uint32_t i = f.count; i > 0; i -= 2) row[f.row_of(i - 2)] = matrix + f.offset(i - 2, pitch);
  HEDDLE_UNROLL
  for (std::uint32_t i = 0; i < f.count; i += 2) {
    if (f.has(i)) body(i, row[f.row_of(i)] + (f.col(i) - f.col(0)));
  }
}

// What a matrix in global memory has where a fragment is, in the bits of its numbers, which take a One each. What
// is outside of the output counts as 0. Neighbours are loaded together where their addresses allow it.
template <class One, class Fragment>
class PairsOfMatrix {
 public:
  // Pitch 0: the same row, a bias, for every one.
  HEDDLE_DEVICE PairsOfMatrix(const void* from, std::uint64_t pitch, const Fragment& f) {
    const One* const matrix = static_cast<const One*>(from);
    HEDDLE_UNROLL
    for (std::uint32_t i = 0; i < kPairs; ++i) pair_[i] = 0;
    if ((pitch | f.n()) % 2 == 0 && reinterpret_cast<std::uintptr_t>(from) % sizeof(Pair) == 0) {
      for_each_pair(matrix, pitch, f, [&](std::uint32_t i, const One* at) {
        pair_[i / 2] = isa::ld_global(reinterpret_cast<const Pair*>(at));
      });
    } else {
      for_each_pair(matrix, pitch, f, [&](std::uint32_t i, const One* at) {
        pair_[i / 2] = isa::ld_global(at);
        if (f.has_next(i)) pair_[i / 2] |= static_cast<Pair>(isa::ld_global(at + 1)) << 8 * sizeof(One);
      });
    }
  }

  // Adds them to the fragment, times a factor.
  template <class T>
  requires(sizeof(T) == sizeof(One)) HEDDLE_DEVICE void add(float factor, Fragment& f) const {
    HEDDLE_UNROLL
    for (std::uint32_t i = 0; i < 2 * kPairs; ++i) f[i] += factor * element_of<T>(pair_[i / 2], i % 2);
  }

 private:
  static constexpr std::uint32_t kPairs = Fragment::count / 2;
  using Pair = std::conditional_t<sizeof(One) == 2, std::uint32_t, std::uint64_t>;

  Pair pair_[kPairs];
};

// Adds a matrix in global memory, times a factor; pitch 0: the same row, a bias, to every one.
template <class T, class Fragment>
HEDDLE_DEVICE void add_matrix(const void* from, std::uint64_t pitch, float factor, Fragment& f) {
  using One = std::conditional_t<sizeof(T) == 2, std::uint16_t, std::uint32_t>;
  PairsOfMatrix<One, Fragment>(from, pitch, f).template add<T>(factor, f);
}

// The sums as they are.
struct PlainEpilogue {
  static constexpr bool is_plain = true;
  struct Params {};
  template <class Out, class Fragment>
  HEDDLE_DEVICE static void apply(const Params&, Fragment&) {}
};

// factor * x
struct Scale {
  struct Params {
    float factor = 1;
  };
  template <class Out, class Fragment>
  HEDDLE_DEVICE static void apply(const Params& params, Fragment& f) {
    HEDDLE_UNROLL
    for (std::uint32_t i = 0; i < f.count; ++i) f[i] *= params.factor;
  }
};

// x + bias[column]
template <OutputElement T>
struct AddBias {
  struct Params {
    const T* bias = nullptr;
  };
  template <class Out, class Fragment>
  HEDDLE_DEVICE static void apply(const Params& params, Fragment& f) {
    add_matrix<T>(params.bias, 0, 1.0f, f);
  }
};

// x + factor * matrix[row][column]: a residual, or what the output held.
template <OutputElement T>
struct AddMatrix {
  struct Params {
    const T* matrix = nullptr;
    std::uint64_t pitch = 0;  // elements
    float factor = 1;
  };
  template <class Out, class Fragment>
  HEDDLE_DEVICE static void apply(const Params& params, Fragment& f) {
    add_matrix<T>(params.matrix, params.pitch, params.factor, f);
  }
};

// Activations: a function of each number.
template <class Function>
struct Activate {
  struct Params {};
  template <class Out, class Fragment>
  HEDDLE_DEVICE static void apply(const Params&, Fragment& f) {
    HEDDLE_UNROLL
    for (std::uint32_t i = 0; i < f.count; ++i) f[i] = Function::of(f[i]);
  }
};
struct Relu : Activate<Relu> {
  HEDDLE_DEVICE static float of(float x) { return x > 0.0f ? x : 0.0f; }
};
struct Gelu : Activate<Gelu> {
  HEDDLE_DEVICE static float of(float x) { return times_sigmoid(x, kGeluLinear, kGeluCubic); }
};
struct Silu : Activate<Silu> {
  HEDDLE_DEVICE static float of(float x) { return times_sigmoid(x, 1.0f, 0.0f); }
};

// silu(gate) * up, of two accumulators. B holds both, eight columns of the gate before eight of the other, in
// turn, so that a thread has what belongs together; the output has half as many columns.
struct SwiGlu {
  static constexpr std::uint32_t folds = 2;
  struct Params {};
  HEDDLE_DEVICE static float fold(const Params&, float gate, float up) { return Silu::of(gate) * up; }
  template <class Out, class Fragment>
  HEDDLE_DEVICE static void apply(const Params&, Fragment&) {}
};

// Numbers of 8 bits, with a scale for 128 columns of each row: stored times scale is what they were.
template <OutputElement T>
requires(sizeof(T) == 1) struct QuantiseRows {
  using Output = T;
  static constexpr std::uint32_t block_cols = 128;
  struct Params {
    float* scales = nullptr;  // [row][column / 128]
    std::uint64_t pitch = 0;
  };
  template <class Out, class Fragment>
  HEDDLE_DEVICE static void apply(const Params& params, Fragment& f) {
    static_assert(Fragment::cols == block_cols, "a scale is of 128 columns: make tile_n a multiple of 128");
    constexpr float most = std::is_same_v<T, e4m3> ? 448.0f : 57344.0f;
    HEDDLE_UNROLL
    for (std::uint32_t row = 0; row < f.rows; ++row) {
      float largest = 0.0f;
      std::uint32_t first = f.count;
      HEDDLE_UNROLL
      for (std::uint32_t i = f.count; i-- > 0;) {
        if (f.row_of(i) != row) continue;
        first = i;
        if (f.has(i)) largest = __builtin_fmaxf(largest, __builtin_fabsf(f[i]));
      }
      largest = f.join_row(largest, [](float a, float b) { return __builtin_fmaxf(a, b); });
      const float scale = largest > 0.0f ? largest * (1.0f / most) : 1.0f;
      const float inverse = 1.0f / scale;
      HEDDLE_UNROLL
      for (std::uint32_t i = 0; i < f.count; ++i) {
        if (f.row_of(i) == row) f[i] *= inverse;
      }
      if (f.is_first_of_row() && f.has(first)) {
        isa::st_global(params.scales + f.row(first) * params.pitch + f.col(first) / block_cols, scale);
      }
    }
  }
};

namespace detail {

// One after the other, whatever their types.
template <class... Ops>
struct ChainParams {};
template <class First, class... Rest>
struct ChainParams<First, Rest...> {
  typename First::Params first;
  ChainParams<Rest...> rest;
};

template <class... Ops>
struct ChainOutput {};
template <class First, class... Rest>
struct ChainOutput<First, Rest...> : ChainOutput<Rest...> {};
template <class Last>
requires requires { typename Last::Output; }
struct ChainOutput<Last> {
  using Output = typename Last::Output;
};

}  // namespace detail

// How many columns of the sums make one of the output.
template <class Epilogue>
HEDDLE_HOST_DEVICE constexpr std::uint32_t folds_of() {
  if constexpr (requires { Epilogue::folds; }) {
    return Epilogue::folds;
  } else {
    return 1;
  }
}

// Epilogues one after the other. Only the first may fold columns, and only the last say what is stored.
template <class First, class... Rest>
struct EpilogueChain : detail::ChainOutput<First, Rest...> {
  static_assert(((folds_of<Rest>() == 1) && ...), "columns are folded before anything else: make it the first");
  static constexpr std::uint32_t folds = folds_of<First>();
  using Params = detail::ChainParams<First, Rest...>;

  HEDDLE_HOST_DEVICE static constexpr Params params(const typename First::Params& first,
                                                    const typename Rest::Params&... rest) {
    if constexpr (sizeof...(Rest) == 0) {
      return {first, {}};
    } else {
      return {first, EpilogueChain<Rest...>::params(rest...)};
    }
  }

  template <class Out, class Fragment>
  HEDDLE_DEVICE static void apply(const Params& params, Fragment& f) {
    First::template apply<Out>(params.first, f);
    if constexpr (sizeof...(Rest) > 0) EpilogueChain<Rest...>::template apply<Out>(params.rest, f);
  }
  HEDDLE_DEVICE static float fold(const Params& params, float first, float second) requires(folds > 1) {
    return First::fold(params.first, first, second);
  }
};

template <class Epilogue>
inline constexpr bool is_plain_epilogue = requires {
  requires Epilogue::is_plain;
};

// Of columns in eights, in turn of the first and of the second kind: what becomes of each two. `count` numbers of
// `to` come of twice as many of `from`; both may be the same registers. `per_eight` is how many of eight columns
// the thread has.
template <class Epilogue, std::uint32_t count, std::uint32_t per_eight, class From, class To>
HEDDLE_DEVICE void fold_columns(const typename Epilogue::Params& params, const From& from, To& to) {
  HEDDLE_UNROLL
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t at = i / per_eight * 2 * per_eight + i % per_eight;
    to[i] = Epilogue::fold(params, from[at], from[at + per_eight]);
  }
}

}  // namespace heddle::inline HEDDLE_TARGET
