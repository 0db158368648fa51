# Compiler settings that every target shares.

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

# Planner decisions are integers; where floating point prints, contraction must not differ by machine.
add_compile_options(-Wall -Wextra -Wshadow -Wnon-virtual-dtor -ffp-contract=off)

# Sanitized code at -O2 with full debug information takes three times as long to compile.
if(TRANSLOAD_SANITIZE)
  set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1 -DNDEBUG")
  add_compile_options(-fsanitize=${TRANSLOAD_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${TRANSLOAD_SANITIZE})
endif()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  # Two checkouts share what they have in common.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
                                  ${CCACHE_PROGRAM})
endif()

# transload_room(NAME [EXCEPT folder | ONLY folder] [LINKS lib...]): the library of one room, all
# sources below its folder, or but for, or only, those below one folder in it.
function(transload_room name)
  cmake_parse_arguments(ROOM "" "EXCEPT;ONLY" "LINKS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  if(ROOM_EXCEPT)
    list(FILTER sources EXCLUDE REGEX "^${CMAKE_CURRENT_SOURCE_DIR}/${ROOM_EXCEPT}/")
  elseif(ROOM_ONLY)
    list(FILTER sources INCLUDE REGEX "^${CMAKE_CURRENT_SOURCE_DIR}/${ROOM_ONLY}/")
  endif()
  add_library(transload_${name} STATIC ${sources})
  target_include_directories(transload_${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(transload_${name} PUBLIC ${ROOM_LINKS})
endfunction()
