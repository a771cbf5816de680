// α over the training of a model, from its metrics.jsonl.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

namespace filigree::inspect {

/// {"steps": […], "alpha": {"encoder": [layer][head][step], …}}, or null when the directory has no
/// metrics.jsonl or that holds no α. At most a few hundred steps are kept. A line that was cut
/// short is passed over.
nlohmann::ordered_json alpha_history(const std::filesystem::path& model_directory);

}  // namespace filigree::inspect
