// SPDX-License-Identifier: Apache-2.0
//
// cublasLt for comparison, loaded at run time: a machine without it runs the benchmark of heddle alone.
#pragma once

#include <cublasLt.h>
#include <dlfcn.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace heddle::bench {

class CublasLt {
 public:
  // Null if the library cannot be loaded.
  static std::unique_ptr<CublasLt> load() {
    void* library = dlopen("libcublasLt.so.13", RTLD_NOW);
    if (library == nullptr) library = dlopen("libcublasLt.so", RTLD_NOW);
    if (library == nullptr) return nullptr;
    return std::unique_ptr<CublasLt>(new CublasLt(library));
  }

  std::size_t version() const { return get_version_(); }

  struct Problem {
    cublasLtMatmulDesc_t operation = nullptr;
    cublasLtMatrixLayout_t a = nullptr;
    cublasLtMatrixLayout_t b = nullptr;
    cublasLtMatrixLayout_t c = nullptr;
    std::vector<cublasLtMatmulHeuristicResult_t> algorithms;
  };

  // out [m, n] = a [m, k] * b [n, k], row-major bf16: in cuBLAS's column-major terms, out^T = b^T^T * a^T.
  Problem make_problem(std::uint64_t m, std::uint64_t n, std::uint64_t k, int most) const {
    return make_problem(m, n, k, most, CUDA_R_16BF, [](const auto&) {});
  }

  // How e4m3 is scaled: by one number of each operand, or blockwise, 1 x 128 of a and 128 x 128 of b.
  struct Fp8 {
    const float* a_scales;
    const float* b_scales;
    bool is_blockwise;
    bool is_fast;  // adds up in the tensor cores alone
  };
  Problem make_problem(std::uint64_t m, std::uint64_t n, std::uint64_t k, int most, const Fp8& fp8) const {
    return make_problem(m, n, k, most, CUDA_R_8F_E4M3, [&](const auto& set) {
      // Its a is our b.
      set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, fp8.b_scales);
      set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, fp8.a_scales);
      if (fp8.is_blockwise) {
        set(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F);
        set(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F);
      }
      set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, static_cast<std::int8_t>(fp8.is_fast ? 1 : 0));
    });
  }

  void run(const Problem& p, std::size_t algorithm, const void* a, const void* b, void* out, void* workspace,
           cudaStream_t stream) const {
    const float one = 1;
    const float zero = 0;
    check(matmul_(handle_, p.operation, &one, b, p.b, a, p.a, &zero, out, p.c, out, p.c,
                  &p.algorithms[algorithm].algo, workspace, kWorkspaceBytes, stream));
  }

  static constexpr std::size_t kWorkspaceBytes = std::size_t{32} << 20;

  // A choice, with the numbers that cublasLt.h has for what it is: cublasLtMatmulTile_t and so on.
  std::string name(const Problem& p, std::size_t algorithm) const {
    const auto number = [&](cublasLtMatmulAlgoConfigAttributes_t what) {
      std::uint32_t value = 0;
      std::uint16_t narrow = 0;
      std::size_t written = 0;
      const cublasLtMatmulAlgo_t* const algo = &p.algorithms[algorithm].algo;
      if (get_config_(algo, what, &value, sizeof value, &written) == CUBLAS_STATUS_SUCCESS) return value;
      if (get_config_(algo, what, &narrow, sizeof narrow, &written) == CUBLAS_STATUS_SUCCESS) {
        return std::uint32_t{narrow};
      }
      return ~std::uint32_t{0};
    };
    return "cublasLt " + std::to_string(algorithm) + " (kind " + std::to_string(number(CUBLASLT_ALGO_CONFIG_ID)) +
           ", tile " + std::to_string(number(CUBLASLT_ALGO_CONFIG_TILE_ID)) + ", stages " +
           std::to_string(number(CUBLASLT_ALGO_CONFIG_STAGES_ID)) + ", cluster " +
           std::to_string(number(CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID)) + ", parts " +
           std::to_string(number(CUBLASLT_ALGO_CONFIG_SPLITK_NUM)) + ")";
  }

 private:
  template <class SetUp>
  Problem make_problem(std::uint64_t m, std::uint64_t n, std::uint64_t k, int most, cudaDataType_t type,
                       const SetUp& set_up) const {
    Problem p;
    check(create_operation_(&p.operation, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    set_up([&](cublasLtMatmulDescAttributes_t what, const auto& value) {
      check(set_operation_(p.operation, what, &value, sizeof value));
    });
    const cublasOperation_t transposed = CUBLAS_OP_T;
    const cublasOperation_t plain = CUBLAS_OP_N;
    check(set_operation_(p.operation, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed));
    check(set_operation_(p.operation, CUBLASLT_MATMUL_DESC_TRANSB, &plain, sizeof plain));
    check(create_layout_(&p.b, type, k, n, static_cast<std::int64_t>(k)));
    check(create_layout_(&p.a, type, k, m, static_cast<std::int64_t>(k)));
    check(create_layout_(&p.c, CUDA_R_16BF, n, m, static_cast<std::int64_t>(n)));
    cublasLtMatmulPreference_t preference = nullptr;
    check(create_preference_(&preference));
    const std::size_t bytes = kWorkspaceBytes;
    check(set_preference_(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, sizeof bytes));
    p.algorithms.resize(static_cast<std::size_t>(most));
    int found = 0;
    check(find_algorithms_(handle_, p.operation, p.b, p.a, p.c, p.c, preference, most, p.algorithms.data(),
                           &found));
    destroy_preference_(preference);
    p.algorithms.resize(static_cast<std::size_t>(found));
    return p;
  }

  explicit CublasLt(void* library) {
    const auto find = [&]<class F>(F*& function, const char* name) {
      function = reinterpret_cast<F*>(dlsym(library, name));
      if (function == nullptr) throw std::runtime_error(std::string("cublasLt has no function ") + name);
    };
    find(get_version_, "cublasLtGetVersion");
    find(create_, "cublasLtCreate");
    find(create_operation_, "cublasLtMatmulDescCreate");
    find(set_operation_, "cublasLtMatmulDescSetAttribute");
    find(create_layout_, "cublasLtMatrixLayoutCreate");
    find(create_preference_, "cublasLtMatmulPreferenceCreate");
    find(destroy_preference_, "cublasLtMatmulPreferenceDestroy");
    find(set_preference_, "cublasLtMatmulPreferenceSetAttribute");
    find(find_algorithms_, "cublasLtMatmulAlgoGetHeuristic");
    find(get_config_, "cublasLtMatmulAlgoConfigGetAttribute");
    find(matmul_, "cublasLtMatmul");
    check(create_(&handle_));
  }

  static void check(cublasStatus_t status) {
    if (status != CUBLAS_STATUS_SUCCESS) {
      throw std::runtime_error("cublasLt failed with status " + std::to_string(static_cast<int>(status)));
    }
  }

  cublasLtHandle_t handle_ = nullptr;
  decltype(cublasLtGetVersion)* get_version_ = nullptr;
  decltype(cublasLtCreate)* create_ = nullptr;
  decltype(cublasLtMatmulDescCreate)* create_operation_ = nullptr;
  decltype(cublasLtMatmulDescSetAttribute)* set_operation_ = nullptr;
  decltype(cublasLtMatrixLayoutCreate)* create_layout_ = nullptr;
  decltype(cublasLtMatmulPreferenceCreate)* create_preference_ = nullptr;
  decltype(cublasLtMatmulPreferenceDestroy)* destroy_preference_ = nullptr;
  decltype(cublasLtMatmulPreferenceSetAttribute)* set_preference_ = nullptr;
  decltype(cublasLtMatmulAlgoGetHeuristic)* find_algorithms_ = nullptr;
  decltype(cublasLtMatmulAlgoConfigGetAttribute)* get_config_ = nullptr;
  decltype(cublasLtMatmul)* matmul_ = nullptr;
};

}  // namespace heddle::bench
