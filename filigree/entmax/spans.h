// The kernels of kernels.h over spans that check their sizes: α-entmax for C++ programs without
// LibTorch. A span holds one row or several of `size` entries, one after the other.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>

#include "filigree/entmax/kernels.h"

namespace filigree::entmax_kernels {

namespace spans {

inline Rows check(std::size_t entries, std::size_t size, double alpha) {
  if (!(alpha >= 1 && std::isfinite(alpha))) {
    throw std::invalid_argument("entmax: alpha must be at least 1, but it is " +
                                std::to_string(alpha));
  }
  if (size == 0 ? entries != 0 : entries % size != 0) {
    throw std::invalid_argument("entmax: " + std::to_string(entries) +
                                " entries are not whole rows of " + std::to_string(size));
  }
  const auto row = static_cast<int64_t>(size);
  return {size == 0 ? 0 : static_cast<int64_t>(entries / size), row, row};
}

inline void check_size(const char* name, std::size_t actual, std::size_t expected) {
  if (actual == expected) return;
  throw std::invalid_argument(std::string("entmax: ") + name + " has " + std::to_string(actual) +
                              " entries where " + std::to_string(expected) + " are needed");
}

}  // namespace spans

/// p = α-entmax(z) of every row of `size` entries; T is float or double. p may be z.
/// Throws std::invalid_argument on sizes that do not fit and on α below 1; never on scores.
template <typename T>
void forward(std::span<const T> z, std::size_t size, double alpha, std::span<T> p) {
  const Rows rows = spans::check(z.size(), size, alpha);
  spans::check_size("p", p.size(), z.size());
  forward(rows, z.data(), alpha, p.data());
}

/// dz, the gradient with respect to the scores, from p and its cotangent dp; dz may be dp. dalpha,
/// unless empty, receives the derivative with respect to α of every row.
template <typename T>
void backward(std::span<const T> p, std::span<const T> dp, std::size_t size, double alpha,
              std::span<T> dz, std::span<double> dalpha = {}) {
  const Rows rows = spans::check(p.size(), size, alpha);
  spans::check_size("dp", dp.size(), p.size());
  spans::check_size("dz", dz.size(), p.size());
  if (!dalpha.empty()) {
    spans::check_size("dalpha", dalpha.size(), static_cast<std::size_t>(rows.rows));
  }
  backward(rows, p.data(), dp.data(), alpha, dz.data(), dalpha.empty() ? nullptr : dalpha.data());
}

}  // namespace filigree::entmax_kernels
