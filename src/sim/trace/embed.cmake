# Makes OUTPUT, a source with the files of FOLDER as strings. A compiler need not take a literal of more than 64 KiB, so
# that each line is one of its own.
set(text "// Made from ${FOLDER} by embed.cmake.\n#include \"sim/trace/page.h\"\n\nnamespace heddle::sim::trace {\n\n")
foreach(part IN ITEMS Html Css Js)
  string(TOLOWER "${part}" extension)
  file(READ "${FOLDER}/page.${extension}" content)
  # CMake takes semicolons and brackets for its own: quote what C++ would read, and cut at the ends of lines.
  string(REPLACE "\\" "\\\\" content "${content}")
  string(REPLACE "\"" "\\\"" content "${content}")
  string(REPLACE "\n" "\\n\"\n    \"" content "${content}")
  string(APPEND text "const std::string_view kPage${part} =\n    \"${content}\";\n\n")
endforeach()
string(APPEND text "}  // namespace heddle::sim::trace\n")
file(WRITE "${OUTPUT}" "${text}")
