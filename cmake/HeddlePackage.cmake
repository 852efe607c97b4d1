# A Debian package of the program, what it loads, and the Python package: `cmake --preset debian`, build, `cpack`.
# It installs and runs on a machine without a compiler and without CUDA.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME heddle)
set(CPACK_PACKAGE_CONTACT "heddle's maintainers")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "simulated Hopper and Blackwell GPUs that explain hangs and races")
set(CPACK_PACKAGE_DESCRIPTION "heddle runs CUDA programs, Triton scripts and PTX on a simulated SM, without a GPU,
 and explains every hang, race and wild access of their kernels.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL program)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME heddle)
set(CPACK_DEBIAN_PROGRAM_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION devel)
# Of the libraries that it links dynamically, which are those of the compiler.
find_program(HEDDLE_SHLIBDEPS dpkg-shlibdeps)
mark_as_advanced(HEDDLE_SHLIBDEPS)
if(HEDDLE_SHLIBDEPS)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS
    "${PROJECT_BINARY_DIR}/${CMAKE_INSTALL_LIBDIR}/heddle/cuda12" "${PROJECT_BINARY_DIR}/${CMAKE_INSTALL_LIBDIR}/heddle/cuda13")
else()
  set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6, libstdc++6, libgcc-s1")
endif()
set(CPACK_DEBIAN_PACKAGE_SUGGESTS python3)
include(CPack)
