#include "filigree/base/blas.h"

#include <dlfcn.h>

#include <cstdlib>
#include <mutex>
#include <string_view>

namespace filigree {
namespace {

template <typename Function>
Function* find(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

// The name OpenBLAS gives to its kernels for this processor's vectors, or null when it has none
// that are better than its fallback.
const char* widest_kernels() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    return "SkylakeX";
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "Haswell";
#endif
  return nullptr;
}

void choose_kernels() {
  constexpr const char* kVariable = "OPENBLAS_CORETYPE";
  auto* const name = find<char*()>("openblas_get_corename");
  auto* const quit = find<void()>("gotoblas_dynamic_quit");
  auto* const init = find<void()>("gotoblas_dynamic_init");
  if (std::getenv(kVariable) || !name || !quit || !init) return;
  const std::string_view chosen = name();
  const char* const better = widest_kernels();
  if (!better || (chosen != "Prescott" && chosen != "Core2" && chosen != "Nehalem")) return;
  setenv(kVariable, better, 1);
  quit();
  init();
}

}  // namespace

void use_fast_blas_kernels() {
  static std::once_flag once;
  std::call_once(once, choose_kernels);
}

void set_blas_threads(int threads) {
  use_fast_blas_kernels();
  if (auto* const set = find<void(int)>("openblas_set_num_threads")) set(threads);
}

}  // namespace filigree
