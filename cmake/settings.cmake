# Compiler settings that every target shares.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2")  # checks stay on: SKUA_DCHECK is for debug builds only
add_compile_definitions($<$<CONFIG:Release>:NDEBUG>)

set(SKUA_SANITIZE "" CACHE STRING "Sanitizers to build with, for example address,undefined or thread")
if(SKUA_SANITIZE)
  set(CMAKE_CXX_FLAGS_RELEASE "-O1")  # half the compile time of -O2
endif()
option(SKUA_FUZZ "Build the fuzz targets with libFuzzer (needs clang)" OFF)
option(SKUA_TESTS "Build the tests" ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)

# -ffp-contract=off: a fused multiply-add happens only where it is written (DESIGN: rounding contract).
set(skua_host_options -Wall -Wextra -Wno-missing-field-initializers -Wshadow -Wnon-virtual-dtor -Werror -ffp-contract=off -fno-math-errno)
add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:${skua_host_options}>")
add_compile_options("$<$<COMPILE_LANGUAGE:CUDA>:-fmad=false;-Werror=all-warnings;-Xcompiler=-Wall,-Wextra,-Werror,-ffp-contract=off>")
if(SKUA_SANITIZE)
  add_compile_options(-fsanitize=${SKUA_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${SKUA_SANITIZE})
endif()

# Decided when a build folder is made: a launcher or linker that appears later would build everything again.
if(NOT DEFINED SKUA_CCACHE)
  find_program(SKUA_CCACHE ccache)
  find_program(SKUA_MOLD mold)
endif()
if(SKUA_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${SKUA_CCACHE})
endif()
if(SKUA_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

# skua_library(NAME folder/a.cc ... DEPS other ...): the static library of one src/ folder.
function(skua_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;PRIVATE_DEPS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${name} PUBLIC ${ARG_DEPS} PRIVATE ${ARG_PRIVATE_DEPS})
endfunction()
