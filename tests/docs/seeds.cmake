# docs/seeds.md lists every name of the seeds beside its C++ spelling and its test:
#
#   | name | C++ | test | difference |
#
# read_seeds sets `rows` to "section<TAB>name<TAB>C++<TAB>test" for each row of the tables under "## Types",
# "## Methods", "## Promises" and "## Inconsistencies". Backticks are dropped.
function(read_seeds file)
  file(STRINGS "${file}" lines)
  set(rows "")
  set(section "")
  foreach(line IN LISTS lines)
    if(line MATCHES "^## ([A-Za-z]+)")
      set(section "${CMAKE_MATCH_1}")
    elseif(section MATCHES "^(Types|Methods|Promises|Inconsistencies)$" AND
        line MATCHES "^\\| ([^|]+) \\| ([^|]*) \\| ([^|]+) \\|.*\\|$")
      set(name "${CMAKE_MATCH_1}")
      set(spelling "${CMAKE_MATCH_2}")
      set(test "${CMAKE_MATCH_3}")
      if(NOT name MATCHES "^(name|---)$")
        string(REPLACE "`" "" row "${section}\t${name}\t${spelling}\t${test}")
        list(APPEND rows "${row}")
      endif()
    endif()
  endforeach()
  set(rows "${rows}" PARENT_SCOPE)
endfunction()
