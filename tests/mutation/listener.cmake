# Included at the end of tests/CMakeLists.txt of a mutated tree. Links listener.cpp, which records the sites that each
# test reaches, into every GoogleTest program.
add_library(mutant_listener OBJECT ${CMAKE_CURRENT_LIST_DIR}/listener.cpp)
target_link_libraries(mutant_listener PRIVATE GTest::gtest)
target_compile_options(mutant_listener PRIVATE -w)

function(listen_in folder)
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target ${targets})
    get_target_property(libraries ${target} LINK_LIBRARIES)
    if("GTest::gtest_main" IN_LIST libraries)
      target_link_libraries(${target} PRIVATE mutant_listener)
    endif()
  endforeach()
  get_property(below DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(folder ${below})
    listen_in(${folder})
  endforeach()
endfunction()

listen_in(${CMAKE_CURRENT_SOURCE_DIR})
