// The report: one HTML file that needs nothing else.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "filigree/inspect/inspection.h"

namespace filigree::inspect {

/// numbers: to_json(inspection). The sentences are those that the inspection shows.
std::string report_html(const Inspection& inspection, const nlohmann::ordered_json& numbers);

}  // namespace filigree::inspect
