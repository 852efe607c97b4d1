# Install and export: find_package(heddle) then gives heddle::heddle, heddle::sim, heddle::kernels and the function
# heddle_add_kernel; the library of kernels only where heddle is the top-level project and HEDDLE_KERNELS is on.
include(CMakePackageConfigHelpers)

set(libraries heddle heddle_sim)
if(PROJECT_IS_TOP_LEVEL AND HEDDLE_KERNELS)
  list(APPEND libraries heddle_kernels)
endif()

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/heddle")
install(TARGETS ${libraries} EXPORT heddle-targets
  FILE_SET HEADERS
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(EXPORT heddle-targets NAMESPACE heddle:: DESTINATION "${package_dir}")
configure_package_config_file(cmake/heddle-config.cmake.in "${PROJECT_BINARY_DIR}/heddle-config.cmake"
  INSTALL_DESTINATION "${package_dir}")
# Before 1.0 a minor version may break the interface.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/heddle-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/heddle-config.cmake"
  "${PROJECT_BINARY_DIR}/heddle-config-version.cmake"
  cmake/HeddleDependencies.cmake
  cmake/HeddleKernel.cmake
  cmake/check_ptxas.cmake
  DESTINATION "${package_dir}")
install(PROGRAMS cmake/keep_ptxas.sh DESTINATION "${package_dir}")
