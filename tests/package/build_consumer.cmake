# Builds and runs the consumer in the folder WORK, with heddle taken the way that WAY says. As a subdirectory it is
# compiled as this build is, so that where both have the same options an object serves both.
cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "status ${status} from: ${command}")
  endif()
endfunction()

file(REMOVE_RECURSE "${WORK}/prefix")
if(WAY STREQUAL "find_package")
  set(prefix "${WORK}/prefix")
  run("${CMAKE_COMMAND}" --install "${HEDDLE_BUILD}" --prefix "${prefix}")
  set(heddle_from "-DCMAKE_PREFIX_PATH=${prefix}")

  # Warnings are this project's own affair, and paths of this machine are nobody else's.
  file(GLOB_RECURSE package_files "${prefix}/*.cmake")
  foreach(package_file IN LISTS package_files)
    file(STRINGS "${package_file}" leaks REGEX "heddle_warnings|heddle_device")
    file(STRINGS "${package_file}" paths)
    list(FILTER paths INCLUDE REGEX "${HEDDLE_SOURCE}/include|${HEDDLE_BUILD}/src")
    if(leaks OR paths)
      message(FATAL_ERROR "${package_file} must not mention: ${leaks} ${paths}")
    endif()
  endforeach()
  set(options -DCMAKE_BUILD_TYPE=Release)
else()
  set(heddle_from "-DHEDDLE_SOURCE=${HEDDLE_SOURCE}")
  set(options "-DCMAKE_BUILD_TYPE=${BUILD_TYPE}" "-DCMAKE_CXX_FLAGS_${BUILD_TYPE_UPPER}=${BUILD_TYPE_FLAGS}"
    "-DCMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CURRENT_LIST_DIR}/reuse_object.py")
  set(ENV{HEDDLE_OBJECTS_FROM} "${HEDDLE_BUILD}")
endif()

run("${CMAKE_COMMAND}" --fresh -S "${CMAKE_CURRENT_LIST_DIR}/consumer" -B "${WORK}/build" -G "${GENERATOR}"
  "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_CXX_FLAGS=${FLAGS}" ${options} "${heddle_from}")
run("${CMAKE_COMMAND}" --build "${WORK}/build" --parallel 2)
run("${WORK}/build/consumer")
if(WAY STREQUAL "find_package")
  run("${WORK}/build/multiply")
  run("${WORK}/build/load_plugin")
else()
  # What a project installs is its own choice: as a part of it, heddle adds nothing.
  run("${CMAKE_COMMAND}" --install "${WORK}/build" --prefix "${WORK}/prefix")
  file(GLOB_RECURSE installed "${WORK}/prefix/*")
  if(installed)
    message(FATAL_ERROR "installed with the consumer: ${installed}")
  endif()
endif()
