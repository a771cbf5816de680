#include "filigree/train/new_directory.h"

#include "filigree/base/error.h"
#include "filigree/base/files.h"

namespace filigree::train {

namespace fs = std::filesystem;

fs::path without_slash(const fs::path& path) {
  const fs::path normal = path.lexically_normal();
  return normal.has_filename() ? normal : normal.parent_path();
}

void require_new(const fs::path& place, const std::string& option) {
  std::error_code error;
  if (fs::exists(place, error) && !(fs::is_directory(place, error) && fs::is_empty(place, error))) {
    throw Error("{}: exists already; remove it, or give another {}", place.string(), option);
  }
}

void write_new_directory(const fs::path& place, const model::Transformer& transformer,
                         const model::Tokenizers& tokenizers,
                         const translate::GenerationConfig& generation, const at::Tensor& values) {
  std::error_code error;
  const fs::path unfinished = place.string() + ".tmp";
  fs::remove_all(unfinished, error);
  make_writable_folder(unfinished);
  try {
    model::save_parameters(unfinished / model::kWeightsFile, transformer.parameters(), values);
    write_file(unfinished / "generation_config.json", translate::to_json(generation));
    model::save_model_files(unfinished, transformer.config(), tokenizers);
    fs::rename(unfinished, place, error);
    if (error) throw Error("{}: cannot write: {}", place.string(), error.message());
  } catch (...) {
    fs::remove_all(unfinished, error);
    throw;
  }
  sync_folder(place.has_parent_path() ? place.parent_path() : ".");
}

}  // namespace filigree::train
