# Installs the headers and what find_package(plait) reads.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/plait)
install(TARGETS plait EXPORT plait-targets FILE_SET HEADERS)
install(EXPORT plait-targets NAMESPACE plait:: DESTINATION ${package_dir})

configure_package_config_file(
    ${CMAKE_CURRENT_LIST_DIR}/plait-config.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/plait-config.cmake
    INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(
    ${CMAKE_CURRENT_BINARY_DIR}/plait-config-version.cmake COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/plait-config.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/plait-config-version.cmake
              ${CMAKE_CURRENT_LIST_DIR}/plait-compiler.cmake
              ${CMAKE_CURRENT_LIST_DIR}/plait-nccl.cmake
              ${CMAKE_CURRENT_LIST_DIR}/plait-openblas.cmake
              ${CMAKE_CURRENT_LIST_DIR}/plait-cuda.cmake
        DESTINATION ${package_dir})
