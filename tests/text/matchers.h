// What a failing call must throw.
#pragma once

#include <gmock/gmock.h>

#include "filigree/base/error.h"

/// `statement` throws exactly `type` with exactly this message.
#define EXPECT_THROWS(statement, type, message)                            \
  EXPECT_THAT([&] { statement; }, testing::Throws<type>(testing::Property( \
                                      &std::exception::what, testing::StrEq(message))))
