# What heddle::sim links. The build includes this file, and so does the installed package.
#
# Archives are taken before shared libraries: a program built here then runs on a machine that has neither.
# Sets heddle_missing to a list of sentences, one per dependency that was not found.

set(heddle_missing "")

if(NOT TARGET Boost::context)
  set(_heddle_boost_use_static_libs "${Boost_USE_STATIC_LIBS}")
  set(Boost_USE_STATIC_LIBS ON)
  find_package(Boost 1.74 QUIET CONFIG COMPONENTS context)
  set(Boost_USE_STATIC_LIBS "${_heddle_boost_use_static_libs}")
  unset(_heddle_boost_use_static_libs)
  if(NOT TARGET Boost::context)
    find_package(Boost 1.74 QUIET CONFIG COMPONENTS context)
  endif()
endif()
if(NOT TARGET Boost::context)
  list(APPEND heddle_missing "Boost.Context 1.74 or later (Debian package: libboost-context-dev)")
endif()

if(NOT TARGET fmt::fmt)
  find_package(fmt 9 QUIET CONFIG)
endif()
if(NOT TARGET fmt::fmt)
  list(APPEND heddle_missing "{fmt} 9 or later (Debian package: libfmt-dev)")
else()
  # Where the distribution has no archive of {fmt}, its headers alone do.
  get_target_property(_heddle_fmt_type fmt::fmt TYPE)
  if(_heddle_fmt_type STREQUAL "SHARED_LIBRARY" AND TARGET fmt::fmt-header-only)
    set(heddle_fmt fmt::fmt-header-only)
  else()
    set(heddle_fmt fmt::fmt)
  endif()
  unset(_heddle_fmt_type)
endif()
