# cmake -DOUT=FILE -DFILES=A;B;... -P texts.cmake: the files' texts as C++, by their names.
set(table "")
foreach(file IN LISTS FILES)
  get_filename_component(name ${file} NAME)
  file(READ ${file} text)
  string(APPEND table "{\"${name}\", R\"~~(${text})~~\"},\n")
endforeach()
file(WRITE ${OUT} "#include <map>
#include <string_view>

namespace prenorm::harness {
extern const std::map<std::string_view, std::string_view> page_templates;
const std::map<std::string_view, std::string_view> page_templates{
${table}};
}  // namespace prenorm::harness
")
