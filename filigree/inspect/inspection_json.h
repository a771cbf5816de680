// An inspection as JSON: the numbers of the report, the same that it draws.
#pragma once

#include <nlohmann/json.hpp>

#include "filigree/inspect/inspection.h"

namespace filigree::inspect {

/// Everything but the sentences. Numbers have six significant digits; what was not counted is null.
nlohmann::ordered_json to_json(const Inspection& inspection);

}  // namespace filigree::inspect
