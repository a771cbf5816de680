#include "filigree/entmax/kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace filigree::entmax {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// log p of an entry: log1p(ε(t − θ)) / ε, which tends to t − θ as ε → 0; −inf off the support.
double log_p(double t, double theta, double epsilon) {
  if (epsilon == 0) return t - theta;
  const double x = epsilon * (t - theta);
  return x > -1 ? std::log1p(x) / epsilon : -kInfinity;
}

template <typename T>
void forward_row(const T* z, int64_t n, double epsilon, T* p, double* tau, int64_t* support) {
  double max = -kInfinity;
  bool nan = false;
  for (int64_t i = 0; i < n; ++i) {
    nan |= std::isnan(z[i]);
    max = std::max<double>(max, z[i]);
  }
  if (nan || max == -kInfinity) {
    std::fill(p, p + n, nan ? std::numeric_limits<T>::quiet_NaN() : T(0));
    *tau = nan ? std::nan("") : kInfinity;
    *support = nan ? n : 0;
    return;
  }
  auto shifted = [&](int64_t i) { return z[i] == max ? 0 : z[i] - max; };
  double low = 0, high = epsilon == 0 ? std::log(n) : -std::expm1(-epsilon * std::log(n)) / epsilon;
  for (int step = 0; step < 200 && low < high; ++step) {
    const double middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) break;
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += std::exp(log_p(shifted(i), middle, epsilon));
    (sum >= 1 ? low : high) = middle;
  }
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += std::exp(log_p(shifted(i), low, epsilon));
  *support = 0;
  const double theta = low + max;
  for (int64_t i = 0; i < n; ++i) {
    p[i] = std::exp(log_p(shifted(i), low, epsilon)) / sum;
    *support += p[i] > 0;
  }
  *tau = epsilon == 0 ? theta : epsilon * theta - 1;
}

template <typename T>
double backward_row(const T* p, const T* dp, int64_t n, double epsilon, T* dz, bool with_alpha) {
  double weight = 0, product = 0;
  auto s = [&](int64_t i) { return p[i] > 0 ? std::pow(double(p[i]), 1 - epsilon) : 0; };
  for (int64_t i = 0; i < n; ++i) {
    weight += s(i);
    product += p[i] == 0 ? 0 : s(i) * dp[i];
  }
  const double mean = weight > 0 ? product / weight : 0;
  double dalpha = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double centred = p[i] == 0 ? 0 : dp[i] - mean;
    if (with_alpha && p[i] > 0) {
      const double l = -std::log(double(p[i])), x = epsilon * l;
      double phi = 0;
      if (x < 1) {
        double term = 0.5;
        for (int k = 3; k < 22; term *= x / k++) phi += term;
      } else {
        phi = (std::expm1(x) - x) / (x * x);
      }
      dalpha -= p[i] * l * l * phi * centred;
    }
    dz[i] = std::isnan(p[i]) ? p[i] : s(i) * centred;
  }
  return dalpha;
}

template <typename T>
void forward_rows(Rows shape, const T* z, double alpha, T* p, T* tau, int64_t* support) {
  for (int64_t r = 0; r < shape.rows; ++r) {
    const int64_t n = shape.lengths ? shape.lengths[r] : shape.size;
    double threshold;
    int64_t count;
    T* out = p + r * shape.stride;
    forward_row(z + r * shape.stride, n, alpha - 1, out, &threshold, &count);
    std::fill(out + n, out + shape.size, T(0));
    if (tau) tau[r] = threshold;
    if (support) support[r] = count;
  }
}

template <typename T>
void backward_rows(Rows shape, const T* p, const T* dp, double alpha, T* dz, double* dalpha) {
  for (int64_t r = 0; r < shape.rows; ++r) {
    const int64_t n = shape.lengths ? shape.lengths[r] : shape.size, at = r * shape.stride;
    const double gradient = backward_row(p + at, dp + at, n, alpha - 1, dz + at, dalpha);
    std::fill(dz + at + n, dz + at + shape.size, T(0));
    if (dalpha) dalpha[r] = gradient;
  }
}

}  // namespace

void forward(Rows shape, const float* z, double alpha, float* p, float* tau, int64_t* support) {
  forward_rows(shape, z, alpha, p, tau, support);
}
void forward(Rows shape, const double* z, double alpha, double* p, double* tau, int64_t* support) {
  forward_rows(shape, z, alpha, p, tau, support);
}
void backward(Rows shape, const float* p, const float* dp, double alpha, float* dz,
              double* dalpha) {
  backward_rows(shape, p, dp, alpha, dz, dalpha);
}
void backward(Rows shape, const double* p, const double* dp, double alpha, double* dz,
              double* dalpha) {
  backward_rows(shape, p, dp, alpha, dz, dalpha);
}

}  // namespace filigree::entmax
