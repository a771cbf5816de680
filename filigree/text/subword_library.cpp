#include "filigree/text/subword_library.h"

#include <dlfcn.h>

#include <filesystem>

#include "filigree/base/error.h"

namespace filigree::text {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> places() {
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  return {program, program.parent_path() / FILIGREE_MODULE_SUBFOLDER, FILIGREE_MODULE_INSTALLED,
          FILIGREE_MODULE_BUILT};
}

// Address sanitizer refuses deep binding; its builds live with the mixture.
int open_flags() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return RTLD_NOW | RTLD_LOCAL;
#else
  return RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND;
#endif
}

const SubwordLibrary& open_library() {
  for (const fs::path& place : places()) {
    const fs::path file = place / FILIGREE_MODULE_NAME;
    std::error_code ignored;
    if (!fs::exists(file, ignored)) continue;
    void* const handle = dlopen(file.c_str(), open_flags());
    if (!handle) throw Error("{}: cannot load: {}", file.string(), dlerror());
    const void* const library = dlsym(handle, "filigree_subword_library");
    if (!library)
      throw Error("{}: is not Filigree's module; install Filigree again", file.string());
    return *static_cast<const SubwordLibrary*>(library);
  }
  throw Error("{}: not found beside the program nor in {}; install Filigree again",
              FILIGREE_MODULE_NAME, FILIGREE_MODULE_INSTALLED);
}

}  // namespace

const SubwordLibrary& subword_library() {
  static const SubwordLibrary& library = open_library();
  return library;
}

}  // namespace filigree::text
