# An overlay port, which builds the sources that it lies in. In a registry, vcpkg_download_distfile and
# vcpkg_extract_source_archive give SOURCE_PATH.
get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../../.." ABSOLUTE)

vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS -DKOLK_BUILD_CLI=OFF -DKOLK_BUILD_ADAPTERS=OFF -DKOLK_BUILD_MALLOC=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/kolk)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
