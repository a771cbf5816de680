# One function per kind of target, so that each folder's CMakeLists.txt is a list of its sources.

# Flags that every translation unit shares. -fPIC goes everywhere by hand: with CMake's
# POSITION_INDEPENDENT_CODE programs would get -fPIE, and a precompiled header shared between
# -fPIC and -fPIE units is silently ignored by g++.
add_library(filigree_options INTERFACE)
target_compile_features(filigree_options INTERFACE cxx_std_20)
target_compile_options(filigree_options INTERFACE
  $<BUILD_INTERFACE:-fPIC -Wall -Wextra -Wno-unused-parameter -Werror=invalid-pch>
  $<BUILD_INTERFACE:$<$<BOOL:${FILIGREE_WERROR}>:-Werror>>)
if(FILIGREE_SANITIZE)
  target_compile_options(filigree_options INTERFACE
    $<BUILD_INTERFACE:-fsanitize=${FILIGREE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=undefined>)
  target_link_options(filigree_options INTERFACE $<BUILD_INTERFACE:-fsanitize=${FILIGREE_SANITIZE}>)
endif()
if(FILIGREE_COVERAGE)
  target_compile_options(filigree_options INTERFACE $<BUILD_INTERFACE:--coverage -fprofile-update=atomic>)
  target_link_options(filigree_options INTERFACE $<BUILD_INTERFACE:--coverage>)
endif()

# For sources that hold little but vector code: checks for undefined behaviour at each of its inlined
# loads, and for the use of each of its inlined variables after its scope, take many minutes to
# compile. The other checks stay.
function(filigree_vector_sources)
  if(FILIGREE_SANITIZE MATCHES undefined)
    set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS -fno-sanitize=undefined)
  endif()
  if(FILIGREE_SANITIZE MATCHES address)
    set_property(
      SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS -fno-sanitize-address-use-after-scope)
  endif()
endfunction()

# LibTorch as one target: its headers are not ours to warn about, and it is fixed to one C++ ABI.
add_library(filigree_torch INTERFACE)
target_link_libraries(filigree_torch INTERFACE ${TORCH_LIBRARIES})
target_include_directories(filigree_torch SYSTEM INTERFACE ${TORCH_INCLUDE_DIRS})

# filigree_add_library(NAME SOURCES ... DEPENDS ... PRIVATE_DEPENDS ...)
# A static library filigree_NAME, also known as filigree::NAME, built from files beside the caller.
function(filigree_add_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  add_library(filigree_${name} STATIC ${ARG_SOURCES})
  add_library(filigree::${name} ALIAS filigree_${name})
  set_target_properties(filigree_${name} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(filigree_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:include>)
  target_link_libraries(filigree_${name} PUBLIC filigree_options ${ARG_DEPENDS} PRIVATE ${ARG_PRIVATE_DEPENDS})
  set_property(GLOBAL APPEND PROPERTY FILIGREE_LIBRARIES filigree_${name})
endfunction()

# The precompiled header (torch/torch.h) belongs to the first target that asks for it; every other
# user of LibTorch's large headers borrows it.
function(filigree_use_torch_headers target)
  if(NOT TARGET filigree_torch_pch)
    file(WRITE ${PROJECT_BINARY_DIR}/torch_pch.cpp "// Only carries the precompiled header.\n")
    add_library(filigree_torch_pch OBJECT ${PROJECT_BINARY_DIR}/torch_pch.cpp)
    target_link_libraries(filigree_torch_pch PRIVATE filigree_options filigree_torch OpenMP::OpenMP_CXX)
    target_precompile_headers(filigree_torch_pch PRIVATE <torch/torch.h>)
  endif()
  target_precompile_headers(${target} REUSE_FROM filigree_torch_pch)
  # Flags must equal those of the header; OpenMP also makes at::parallel_for parallel in this target.
  target_link_libraries(${target} PRIVATE OpenMP::OpenMP_CXX)
endfunction()
