# Writes the op table from the file names of src/ops/*.cpp: NAME.cpp defines `ops::NAME_op`.
# The list is sorted by name; a duplicate or a missing symbol is a link error.
function(heddle_op_table out)
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/ops/*.cpp)
  list(FILTER files EXCLUDE REGEX "_(test|fuzz)\\.cpp$")
  list(SORT files)
  set(declared "")
  set(listed "")
  foreach(file ${files})
    get_filename_component(name ${file} NAME_WE)
    string(APPEND declared "extern const graph::OpDef ${name}_op;\n")
    string(APPEND listed "    &${name}_op,\n")
  endforeach()
  file(CONFIGURE OUTPUT ${out} @ONLY CONTENT
"// Written by the build from the file names of src/ops. Do not edit.
#include \"graph/op.h\"
#include \"ops/ops.h\"
namespace ops {
@declared@
graph::OpTable table() {
  static const graph::OpDef* const list[] = {
@listed@  };
  return list;
}
}  // namespace ops
")
endfunction()
