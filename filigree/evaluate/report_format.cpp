// A Report as text and as JSON.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "filigree/base/error.h"
#include "filigree/evaluate/report.h"
#include "filigree/evaluate/unicode.h"

namespace filigree::evaluate {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kSignificant = 0.05;

std::string decimal(double value, const ReportFormat& format) {
  return fmt::format("{:.{}f}", value, format.width);
}

double rounded(double value, const ReportFormat& format) {
  return std::stod(decimal(value, format));
}

std::string confidence_text(const ConfidenceInterval& confidence, const ReportFormat& format) {
  return fmt::format("μ = {} ± {}", decimal(confidence.mean, format),
                     decimal(confidence.half_width(), format));
}

// "71.28 (μ = 71.20 ± 2.10)"
std::string score_text(const MetricResult& result, const ReportFormat& format) {
  std::string text = decimal(result.score, format);
  if (result.confidence) text += " (" + confidence_text(*result.confidence, format) + ")";
  return text;
}

// Padding counts code points, since μ and ± are two bytes each.
size_t width_of(const std::string& text) { return decode_utf8(text).size(); }
std::string pad(const std::string& text, size_t width) {
  return text + std::string(width - std::min(width, width_of(text)), ' ');
}

// One line per metric, aligned at the equals sign.
std::string one_system_text(const SystemResult& system, const ReportFormat& format) {
  std::vector<std::string> names;
  size_t width = 0;
  for (const auto& metric : system.metrics) {
    names.push_back(metric.name + '|' + signature_text(metric.signature));
    width = std::max(width, names.back().size());
  }
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    const MetricResult& metric = system.metrics[i];
    text += fmt::format("{:>{}} = {}{}{}\n", names[i], width, score_text(metric, format),
                        metric.details.empty() ? "" : " ", metric.details);
  }
  return text;
}

// One row per system, a column of its names and one per metric.
std::string comparison_text(const Report& report, const ReportFormat& format) {
  std::vector<std::vector<std::string>> rows{{"System"}};
  for (const auto& metric : report.systems[0].metrics) rows[0].push_back(metric.name);
  for (const auto& system : report.systems) {
    const bool is_baseline = &system == &report.systems.front();
    rows.push_back({(is_baseline ? "Baseline: " : "") + system.system});
    for (const auto& metric : system.metrics) {
      std::string cell = score_text(metric, format);
      if (metric.p_value) {
        cell += fmt::format(" p = {:.4f}{}", *metric.p_value,
                            *metric.p_value < kSignificant ? "*" : "");
      }
      rows.back().push_back(cell);
    }
  }
  std::vector<size_t> widths(rows[0].size(), 0);
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::string text;
  for (const auto& row : rows) {
    for (size_t i = 0; i + 1 < row.size(); ++i) text += pad(row[i], widths[i]) + "  ";
    text += row.back() + '\n';
  }
  text += fmt::format(
      "\nμ ± half of the 95% confidence interval; p: paired bootstrap test against the baseline,\n"
      "* where p < {}, a difference that chance hardly explains.\n\n",
      kSignificant);
  for (const auto& metric : report.systems[0].metrics) {
    text += metric.name + '|' + signature_text(metric.signature) + '\n';
  }
  return text;
}

Json metric_json(const MetricResult& result, const ReportFormat& format) {
  Json json{{"name", result.name},
            {"score", rounded(result.score, format)},
            {"signature", signature_text(result.signature)}};
  if (result.confidence) {
    json["confidence_mean"] = rounded(result.confidence->mean, format);
    json["confidence_var"] = rounded(result.confidence->half_width(), format);
    json["confidence"] = confidence_text(*result.confidence, format);
  }
  if (!result.details.empty()) json["verbose_score"] = result.details;
  for (const auto& [key, value] : result.signature) json[key] = value;
  return json;
}

Json comparison_json(const SystemResult& system) {
  Json json{{"system", system.system}};
  for (const auto& metric : system.metrics) {
    Json& values = json[metric.name] = Json{{"score", metric.score}};
    values["p_value"] = metric.p_value ? Json(*metric.p_value) : Json();
    values["mean"] = metric.confidence ? Json(metric.confidence->mean) : Json();
    values["ci"] = metric.confidence ? Json(metric.confidence->half_width()) : Json();
    values["signature"] = signature_text(metric.signature);
  }
  return json;
}

// A system's name is a path, which need not be UTF-8.
std::string dump(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace

std::string to_text(const Report& report, const ReportFormat& format) {
  if (!format.score_only) {
    return report.systems.size() == 1 ? one_system_text(report.systems[0], format)
                                      : comparison_text(report, format);
  }
  std::string text;
  for (const auto& system : report.systems) {
    // A line per metric for one system, a line per system for several.
    const char separator = report.systems.size() == 1 ? '\n' : '\t';
    for (const auto& metric : system.metrics) {
      text += score_text(metric, format);
      text += &metric == &system.metrics.back() ? '\n' : separator;
    }
  }
  return text;
}

std::string to_text(const SentenceReport& report, const ReportFormat& format) {
  std::string text;
  for (const auto& scores : report.scores) {
    for (size_t i = 0; i < scores.size(); ++i) {
      text += decimal(scores[i], format);
      text += i + 1 < scores.size() ? '\t' : '\n';
    }
  }
  return text;
}

std::string to_json(const Report& report, const ReportFormat& format) {
  Json json = Json::array();
  if (report.systems.size() == 1) {
    for (const auto& metric : report.systems[0].metrics)
      json.push_back(metric_json(metric, format));
  } else {
    for (const auto& system : report.systems) json.push_back(comparison_json(system));
  }
  return dump(json, 1);
}

std::string to_json(const SentenceReport& report, const ReportFormat& format) {
  std::string text;
  for (const auto& scores : report.scores) {
    Json json;
    for (size_t i = 0; i < scores.size(); ++i) json[report.names[i]] = rounded(scores[i], format);
    text += dump(json, -1);
  }
  return text;
}

}  // namespace filigree::evaluate
