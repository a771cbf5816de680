// Tensors for the tests of the operators, and what is said about them.
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace filigree {

/// Normal numbers, the same for the same seed.
inline at::Tensor normal(at::IntArrayRef shape, int64_t seed = 1,
                         at::ScalarType type = at::kDouble) {
  at::Generator generator = at::detail::createCPUGenerator(static_cast<uint64_t>(seed));
  return at::randn(shape, generator, at::dtype(at::kDouble)).to(type);
}

inline at::Tensor values(const std::vector<double>& list) {
  return at::tensor(list, at::dtype(at::kDouble));
}

/// Shape, dtype, and values within this absolute plus relative tolerance; a NaN equals a NaN.
inline void expect_close(const at::Tensor& a, const at::Tensor& b, double tolerance,
                         const char* what = "") {
  ASSERT_EQ(a.sizes(), b.sizes());
  ASSERT_EQ(a.scalar_type(), b.scalar_type());
  EXPECT_TRUE(at::allclose(a, b, tolerance, tolerance, /*equal_nan=*/true))
      << what << ": largest difference " << (a - b).abs().max().item<double>() << " at "
      << (a - b).abs().argmax().item<int64_t>();
}

/// What a call that must fail says.
inline std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  }
  return "no error";
}

}  // namespace filigree
