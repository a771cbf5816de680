#include "filigree/base/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <memory>

#include "filigree/base/error.h"

namespace filigree {
namespace {

// Prints "warning: " and the like only where there is something to warn about.
class LevelFlag : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& out) override {
    if (message.level < spdlog::level::warn) return;
    const std::string name = message.level == spdlog::level::warn ? "warning: " : "error: ";
    out.append(name.data(), name.data() + name.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<LevelFlag>();
  }
};

}  // namespace

void set_up_logging(const std::string& level) {
  const auto parsed = spdlog::level::from_str(level);
  if (parsed == spdlog::level::off && level != "off") {
    throw UsageError("--log-level {}: expected trace, debug, info, warn, error or off", level);
  }
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<LevelFlag>('*').set_pattern("[%H:%M:%S] %*%v");
  auto logger = std::make_shared<spdlog::logger>("filigree",
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_formatter(std::move(formatter));
  logger->set_level(parsed);
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace filigree
