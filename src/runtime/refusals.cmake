# Included with NAMES, the lists of calls, OUTPUT and ALIASES set. OUTPUT gets a function for every call of the real libraries, which says that the call is not there; each is weak, so
# that a call which is there takes its place. ALIASES gets the linker's options for the variants of calls that take
# the default stream of each thread (_ptsz, _ptds): here there is no difference.
set(functions "")
set(table "")
set(aliases "")
set(all "")
foreach(file IN LISTS NAMES)
  file(STRINGS "${file}" names)
  list(APPEND all ${names})
endforeach()
foreach(name IN LISTS all)
  if(name MATCHES "^(.*)(_ptsz|_ptds)$" AND CMAKE_MATCH_1 IN_LIST all)
    string(APPEND aliases "-Wl,--defsym=${name}=${CMAKE_MATCH_1}\n")
  else()
    string(APPEND functions "HEDDLE_REFUSAL int ${name}() { return heddle::runtime::refuse(\"${name}\"); }\n")
    string(APPEND table "    {\"${name}\", reinterpret_cast<const void*>(&${name})},\n")
  endif()
endforeach()
file(CONFIGURE OUTPUT "${OUTPUT}" @ONLY CONTENT "// Made by refusals.cmake from the lists of calls.
#include \"runtime/refuse.h\"

@functions@
namespace heddle::runtime {

extern const KnownCall kKnownCalls[] = {
@table@};
extern const unsigned kKnownCallCount = sizeof(kKnownCalls) / sizeof(kKnownCalls[0]);

}  // namespace heddle::runtime
")
file(CONFIGURE OUTPUT "${ALIASES}" @ONLY CONTENT "@aliases@")
