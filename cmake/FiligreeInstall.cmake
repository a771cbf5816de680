# Installs the program, the libraries with their headers, and a package for find_package(filigree).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(libraries GLOBAL PROPERTY FILIGREE_LIBRARIES)
install(TARGETS ${libraries} filigree_options filigree_torch EXPORT filigree
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET filigree_cli_program)
  install(TARGETS filigree_cli_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/filigree DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h" PATTERN "*-inl.h" EXCLUDE PATTERN "cli" EXCLUDE)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/filigree)
install(EXPORT filigree NAMESPACE filigree:: DESTINATION ${package_dir} FILE filigreeTargets.cmake)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/filigreeConfig.cmake.in
  ${PROJECT_BINARY_DIR}/filigreeConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/filigreeConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/filigreeConfig.cmake ${PROJECT_BINARY_DIR}/filigreeConfigVersion.cmake
  DESTINATION ${package_dir})
