# poprt_discover_tests(TARGET PREFIX TIMEOUT) adds the tests of a GoogleTest program to CTest. Their names begin with PREFIX. All
# cases of a test with parameters or types are one test, because starting a process for each of thousands of cases takes longer
# than the cases.
function(poprt_discover_tests target prefix timeout)
  if(POPRT_SANITIZE)  # takes several times as long
    math(EXPR timeout "3 * ${timeout}")
  endif()
  if(CMAKE_CROSSCOMPILING)  # an emulator runs the tests
    math(EXPR timeout "10 * ${timeout}")
  endif()
  set(tests ${CMAKE_CURRENT_BINARY_DIR}/${target}_tests.cmake)
  set(included ${CMAKE_CURRENT_BINARY_DIR}/${target}_include.cmake)
  set(script ${PROJECT_SOURCE_DIR}/tests/support/list_tests.cmake)
  add_custom_command(TARGET ${target} POST_BUILD BYPRODUCTS ${tests} VERBATIM
    COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:${target}> "-DEMULATOR=${CMAKE_CROSSCOMPILING_EMULATOR}" -DPREFIX=${prefix} -DTIMEOUT=${timeout}
      -DOUTPUT=${tests} -P ${script})
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${script})
  file(CONFIGURE OUTPUT ${included} @ONLY CONTENT [[
if(EXISTS "@tests@")
  include("@tests@")
else()
  add_test(@target@_NOT_BUILT @target@_NOT_BUILT)
endif()
]])
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${included})
endfunction()
