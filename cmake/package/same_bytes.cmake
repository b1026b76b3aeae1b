# cpack runs this after it has made the packages: the same contents become the same bytes.
execute_process(COMMAND "${CPACK_ALLOMON_PYTHON}" "${CMAKE_CURRENT_LIST_DIR}/same_bytes.py"
  ${CPACK_PACKAGE_FILES} RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "Allomon: the packages are not those of another build of the same source")
endif()
