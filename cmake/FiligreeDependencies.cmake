# Every library the project uses, found as installed packages; nothing is downloaded here.
# scripts/install-deps.sh installs them on Debian and Ubuntu.

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_program(FILIGREE_CCACHE ccache)
if(FILIGREE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # The sloppiness lets ccache serve files that use the precompiled header.
  set(CMAKE_CXX_COMPILER_LAUNCHER
    ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
    ${FILIGREE_CCACHE})
endif()

find_package(HWY REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(Torch REQUIRED)
if(FILIGREE_OPERATORS_ONLY)
  return()
endif()

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(ZLIB REQUIRED)
find_package(ICU REQUIRED COMPONENTS i18n uc data)
find_package(CLI11 REQUIRED)
# LibTorch's collectives on the CPU have Gloo's headers in theirs.
find_path(FILIGREE_GLOO_HEADERS gloo/context.h REQUIRED)

# D3 draws the figures of reports, which carry it in themselves.
find_file(FILIGREE_D3 d3.min.js PATHS /usr/share/nodejs/d3/dist NO_DEFAULT_PATH REQUIRED)

find_package(PkgConfig REQUIRED)
pkg_check_modules(sentencepiece REQUIRED IMPORTED_TARGET sentencepiece)
pkg_check_modules(openblas REQUIRED IMPORTED_TARGET openblas)
