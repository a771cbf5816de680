# cmake -DOUTPUT=FILE.cpp "-DFILES=A|B" -P EmbedFiles.cmake
# Writes a C++ file with embedded_files(): the name of each file and its bytes.
string(REPLACE "|" ";" files "${FILES}")
set(entries "")
foreach(file IN LISTS files)
  get_filename_component(name "${file}" NAME)
  file(READ "${file}" hex HEX)
  file(SIZE "${file}" size)
  string(REGEX REPLACE "(..)" "\\\\x\\1" bytes "${hex}")
  string(APPEND entries "      {\"${name}\", {\"${bytes}\", ${size}}},\n")
endforeach()
file(WRITE "${OUTPUT}" "#include \"filigree/inspect/embedded_files.h\"

namespace filigree::inspect {

const std::map<std::string, std::string_view>& embedded_files() {
  static const std::map<std::string, std::string_view> kFiles = {
${entries}  };
  return kFiles;
}

}  // namespace filigree::inspect
")
