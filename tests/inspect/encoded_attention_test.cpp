#include "filigree/inspect/encoded_attention.h"

#include <gtest/gtest.h>

#include <cmath>

#include "filigree/base/random.h"

namespace filigree::inspect {
namespace {

double from_half(uint16_t half) {
  const int exponent = half >> 10, fraction = half & 1023;
  return exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
}

TEST(EncodedAttention, HalfPrecisionIsNearestAndKeepsSmallWeightsAboveZero) {
  EXPECT_EQ(to_half(0), 0);
  EXPECT_EQ(to_half(1), 0x3c00);
  EXPECT_EQ(to_half(0.5f), 0x3800);
  EXPECT_EQ(to_half(1e-12f), 1);
  Random random(1);
  for (int i = 0; i < 10000; ++i) {
    const auto weight = static_cast<float>(std::exp2(-20 * random.uniform()));
    const uint16_t half = to_half(weight);
    const double error = std::abs(from_half(half) - weight);
    EXPECT_LE(error, std::abs(from_half(half + 1) - weight)) << weight;
    EXPECT_LE(error, std::abs(from_half(half - 1) - weight)) << weight;
  }
}

TEST(EncodedAttention, Base64IsThatOfTheStandard) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("foob"), "Zm9vYg==");
  EXPECT_EQ(base64("\xff\xfe"), "//4=");
}

}  // namespace
}  // namespace filigree::inspect
