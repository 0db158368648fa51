# Everything here is a Debian 12 / Ubuntu 24.04 package that ./quickstart installs.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(Boost REQUIRED)  # headers: Boost.Graph
find_package(pugixml REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)

if(NOT TRANSLOAD_PLANNER_ONLY)
  find_package(CLI11 REQUIRED)

  # SimGrid 3.32 ships a .pc file whose version text pkg-config rejects on some systems, so look directly.
  find_path(SIMGRID_INCLUDE_DIR simgrid/version.h REQUIRED)
  find_library(SIMGRID_LIBRARY simgrid REQUIRED)
  add_library(simgrid_imported INTERFACE)
  target_include_directories(simgrid_imported SYSTEM INTERFACE ${SIMGRID_INCLUDE_DIR})
  target_link_libraries(simgrid_imported INTERFACE ${SIMGRID_LIBRARY})
endif()

# MPI is optional: transload-mpi needs it.
if(NOT TRANSLOAD_PLANNER_ONLY)
  set(MPI_CXX_SKIP_MPICXX ON)  # the C interface only
  find_package(MPI COMPONENTS CXX)
endif()

# CUDA is optional: without it every back end but cuda is complete.
include(CheckLanguage)
check_language(CUDA)
if(CMAKE_CUDA_COMPILER)
  set(TRANSLOAD_HAVE_CUDA ON)
else()
  set(TRANSLOAD_HAVE_CUDA OFF)
endif()
message(STATUS "CUDA compiler: ${CMAKE_CUDA_COMPILER}")

# YAML::YAML before 0.8 is a plain target name.
if(TARGET yaml-cpp::yaml-cpp)
  set(YAML_TARGET yaml-cpp::yaml-cpp)
else()
  set(YAML_TARGET yaml-cpp)
endif()
