# heddle_room(NAME USES room... LIBS library...): src/NAME/*.cpp becomes the static library NAME,
# src/NAME/*_test.cpp the test program NAME_test. USES must agree with the table in src/README.md,
# which `./dev rooms` checks against the includes. A test may use more than its room does.
function(heddle_room name)
  cmake_parse_arguments(ROOM "" "" "USES;LIBS;TEST_USES;TEST_LIBS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cpp)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "(_test|_fuzz)\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  if(sources)
    add_library(${name} STATIC ${sources})
    target_include_directories(${name} PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
    target_link_libraries(${name} PUBLIC ${ROOM_USES} PRIVATE ${ROOM_LIBS})
  else()
    add_library(${name} INTERFACE)
    target_include_directories(${name} INTERFACE ${CMAKE_CURRENT_SOURCE_DIR})
    target_link_libraries(${name} INTERFACE ${ROOM_USES})
  endif()
  if(tests)
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE ${name} ${ROOM_TEST_USES} ${ROOM_TEST_LIBS}
                                               GTest::gtest GTest::gtest_main)
    target_compile_definitions(${name}_test PRIVATE
      HEDDLE_SOURCE_DIR="${PROJECT_SOURCE_DIR}" HEDDLE_BINARY_DIR="${PROJECT_BINARY_DIR}")
    add_test(NAME ${name} COMMAND ${name}_test)
  endif()
endfunction()
