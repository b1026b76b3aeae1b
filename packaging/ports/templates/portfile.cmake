# A port of Allomon for vcpkg.  fill.py has made this file from a template.
vcpkg_download_distfile(allomon_archive URLS "@URL@/@ALLOMON_FILE@"
  FILENAME "@ALLOMON_FILE@" SHA512 @ALLOMON_SHA512@)
vcpkg_download_distfile(mimalloc_archive URLS "@URL@/@MIMALLOC_FILE@"
  FILENAME "@MIMALLOC_FILE@" SHA512 @MIMALLOC_SHA512@)
vcpkg_download_distfile(httplib_archive URLS "@URL@/@HTTPLIB_FILE@"
  FILENAME "@HTTPLIB_FILE@" SHA512 @HTTPLIB_SHA512@)
vcpkg_extract_source_archive(SOURCE_PATH ARCHIVE "${allomon_archive}")
vcpkg_extract_source_archive(mimalloc_source ARCHIVE "${mimalloc_archive}")
vcpkg_extract_source_archive(httplib_source ARCHIVE "${httplib_archive}")

vcpkg_check_features(OUT_FEATURE_OPTIONS feature_options FEATURES tools ALLOMON_BUILD_TOOLS)

# What is preloaded is a shared library in each triplet.
set(VCPKG_POLICY_DLLS_IN_STATIC_LIBRARY enabled)
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}" OPTIONS ${feature_options}
  "-DALLOMON_MIMALLOC_SOURCE=${mimalloc_source}" "-DALLOMON_HTTPLIB_SOURCE=${httplib_source}")
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME Allomon CONFIG_PATH lib/cmake/Allomon)
vcpkg_fixup_pkgconfig()
if("tools" IN_LIST FEATURES)
  vcpkg_copy_tools(TOOL_NAMES allomon mlprof prof AUTO_CLEAN)
endif()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share"
  "${CURRENT_PACKAGES_DIR}/lib/python3" "${CURRENT_PACKAGES_DIR}/debug/lib/python3")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
