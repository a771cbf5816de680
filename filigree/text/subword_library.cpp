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

const SubwordLibrary& open_library() {
  for (const fs::path& place : places()) {
    const fs::path file = place / FILIGREE_MODULE_NAME;
    std::error_code ignored;
    if (!fs::exists(file, ignored)) continue;
    // In the namespace of the program this is dlopen(), but for the sanitizers: those forbid deep
    // binding in dlopen() since a library would find malloc() in libc before theirs. This module
    // was linked with them, in front of libc.
    void* const handle = dlmopen(LM_ID_BASE, file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
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
