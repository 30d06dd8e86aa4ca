# cuda_wheel_add_module(
#   TARGET name                     the module's last name, and the target's
#   DESTINATION pkg/kernels         where it is installed; with the target's name, its dotted name
#   SOURCES file.cu ...             and .ll, .bc, .ptx, .ltoir, .cubin, .fatbin, .o, .a, which several need LINK for
#   [ARCHITECTURES 80-real 90 ...]  else CMAKE_CUDA_ARCHITECTURES, else the table's; CUDAARCHS goes before all
#   [INCLUDE_DIRECTORIES dir ...] [DEFINES NAME[=VALUE] ...] [OPTIONS option ...] [STD c++17]
#   [INSTANTIATE "gemm<float, 16>" ...] [LINK lto|ptx] [HOST_CODE auto]
#   [EXTERN function ...] [EXTERN_DEFAULT file.cu ...] [RELOCATABLE])
#
# Compiles a CUDA module to NAME.fatbin and NAME.fatbin.json, and installs both. What is not given here is as
# [tool.cuda-wheel] in the pyproject.toml nearest above says. No language needs to be enabled. Where the source lies in
# a package whose __init__.py attaches the kernels, its stub is installed too.

include_guard(GLOBAL)
cmake_policy(PUSH)
cmake_policy(VERSION 3.20...3.31)

function(cuda_wheel_add_module)
  set(one TARGET DESTINATION STD LINK HOST_CODE)
  set(many SOURCES ARCHITECTURES INCLUDE_DIRECTORIES DEFINES OPTIONS INSTANTIATE EXTERN EXTERN_DEFAULT)
  cmake_parse_arguments(PARSE_ARGV 0 arg "RELOCATABLE" "${one}" "${many}")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "cuda_wheel_add_module does not know: ${arg_UNPARSED_ARGUMENTS}. It knows ${one};${many};RELOCATABLE.")
  endif()
  foreach(needed TARGET DESTINATION SOURCES)
    if(NOT arg_${needed})
      message(FATAL_ERROR "cuda_wheel_add_module needs ${needed}.")
    endif()
  endforeach()
  if(NOT Python_EXECUTABLE)
    find_package(Python 3.10 REQUIRED COMPONENTS Interpreter)
  endif()
  if(NOT arg_ARCHITECTURES AND CMAKE_CUDA_ARCHITECTURES)
    set(arg_ARCHITECTURES ${CMAKE_CUDA_ARCHITECTURES})
  endif()

  _cuda_wheel_project_root(root)
  set(sources)
  foreach(source IN LISTS arg_SOURCES arg_EXTERN_DEFAULT)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
    if(NOT EXISTS "${source}")
      message(FATAL_ERROR "cuda_wheel_add_module(TARGET ${arg_TARGET}): there is no source ${source}.")
    endif()
    list(APPEND sources "${source}")
  endforeach()
  foreach(folder IN LISTS arg_INCLUDE_DIRECTORIES)
    cmake_path(ABSOLUTE_PATH folder BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
    if(NOT IS_DIRECTORY "${folder}")
      message(FATAL_ERROR "cuda_wheel_add_module(TARGET ${arg_TARGET}): there is no folder ${folder}.")
    endif()
  endforeach()
  _cuda_wheel_relative(relative_sources "${root}" ${arg_SOURCES})
  _cuda_wheel_relative(relative_defaults "${root}" ${arg_EXTERN_DEFAULT})
  _cuda_wheel_relative(include_dirs "${root}" ${arg_INCLUDE_DIRECTORIES})
  string(REGEX REPLACE "/+$" "" destination "${arg_DESTINATION}")
  string(REPLACE "/" "." package "${destination}")
  set(stem "${CMAKE_CURRENT_BINARY_DIR}/cuda-wheel/${destination}/${arg_TARGET}")

  set(table)
  _cuda_wheel_member(table name STRING "${package}.${arg_TARGET}")
  _cuda_wheel_member(table sources LIST "${relative_sources}")
  _cuda_wheel_member(table include-dirs LIST "${include_dirs}")
  _cuda_wheel_member(table architectures LIST "${arg_ARCHITECTURES}")
  _cuda_wheel_member(table defines DEFINES "${arg_DEFINES}")
  _cuda_wheel_member(table options LIST "${arg_OPTIONS}")
  _cuda_wheel_member(table instantiate LIST "${arg_INSTANTIATE}")
  _cuda_wheel_member(table std STRING "${arg_STD}")
  _cuda_wheel_member(table link STRING "${arg_LINK}")
  _cuda_wheel_member(table extern LIST "${arg_EXTERN}")
  _cuda_wheel_member(table extern-default LIST "${relative_defaults}")
  if(arg_RELOCATABLE)
    list(APPEND table "\"relocatable\": true")
  endif()
  _cuda_wheel_member(table host-code STRING "${arg_HOST_CODE}")
  set(settings)
  _cuda_wheel_member(settings root STRING "${root}")
  _cuda_wheel_member(settings output STRING "${CMAKE_CURRENT_BINARY_DIR}/cuda-wheel")
  _cuda_wheel_member(settings depfile STRING "${stem}.d")
  list(JOIN table ",\n  " table)
  list(APPEND settings "\"module\": {\n  ${table}\n }")
  list(JOIN settings ",\n " settings)
  # Written when it differs only, so that configuring again compiles nothing again.
  set(recorded "${stem}.cuda-wheel.json")
  file(CONFIGURE OUTPUT "${recorded}" CONTENT "{\n ${settings}\n}\n" @ONLY)
  if(SKBUILD_STATE STREQUAL "editable")
    # The module compiles when it is loaded, as these settings say.
    add_custom_target("${arg_TARGET}")
    install(FILES "${recorded}" DESTINATION "${destination}")
    return()
  endif()

  set(built "${CMAKE_CURRENT_BINARY_DIR}/cuda-wheel")
  set(outputs "${stem}.fatbin" "${stem}.fatbin.json")
  set(part "${stem}.cdx.json")
  set(pyproject)
  if(EXISTS "${root}/pyproject.toml")
    set(pyproject "${root}/pyproject.toml")
  endif()
  add_custom_command(
    OUTPUT ${outputs} "${part}"
    COMMAND "${Python_EXECUTABLE}" -m cuda_wheel.cmake.build_module "${recorded}"
    DEPENDS "${recorded}" ${sources} ${pyproject}
    DEPFILE "${stem}.d"
    # Python looks there first for what it imports: nothing but images is in it, and the build folder may be the project.
    WORKING_DIRECTORY "${built}"
    COMMENT "Compiling CUDA module ${package}.${arg_TARGET}"
    VERBATIM)
  add_custom_target("${arg_TARGET}" ALL DEPENDS ${outputs})
  install(FILES ${outputs} DESTINATION "${destination}")
  # A package that attaches its kernels gets a stub of them, when all are there.
  list(GET sources 0 first)
  cmake_path(REPLACE_FILENAME first "__init__.py" OUTPUT_VARIABLE init)
  if(EXISTS "${init}")
    set_property(GLOBAL APPEND PROPERTY "cuda_wheel_${package}" "${package}.${arg_TARGET}")
    get_property(names GLOBAL PROPERTY "cuda_wheel_${package}")
    list(JOIN names "\" \"" names)
    install(CODE "execute_process(COMMAND \"${Python_EXECUTABLE}\" -m cuda_wheel.cmake.stub \"${root}\" \"${built}\"
      \"${init}\" \"${names}\" WORKING_DIRECTORY \"${built}\" COMMAND_ERROR_IS_FATAL ANY)")
    install(FILES "${built}/${destination}/__init__.pyi" DESTINATION "${destination}" OPTIONAL)
  endif()
  # With loader = "vendor" the package carries the loader as well.
  string(REGEX REPLACE "/.*" "" top "${destination}")
  install(DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/cuda-wheel/${top}/_cuda_wheel" DESTINATION "${top}" OPTIONAL
    FILES_MATCHING PATTERN "*.py")
  # What scikit-build-core makes a wheel of has a folder for its metadata, and that one SBOM of all modules.
  if(SKBUILD_METADATA_DIR)
    get_property(parts GLOBAL PROPERTY cuda_wheel_parts)
    if(NOT parts)
      cmake_language(DEFER DIRECTORY "${CMAKE_SOURCE_DIR}" CALL _cuda_wheel_install_sbom)
      set_property(GLOBAL PROPERTY cuda_wheel_sbom "\"${Python_EXECUTABLE}\" -m cuda_wheel.cmake.sbom \"${root}\"")
    endif()
    set_property(GLOBAL APPEND PROPERTY cuda_wheel_parts "${part}")
  endif()
endfunction()

function(_cuda_wheel_install_sbom)
  get_property(command GLOBAL PROPERTY cuda_wheel_sbom)
  get_property(parts GLOBAL PROPERTY cuda_wheel_parts)
  list(JOIN parts "\n" lines)
  set(list "${CMAKE_BINARY_DIR}/cuda-wheel-parts.txt")
  file(CONFIGURE OUTPUT "${list}" CONTENT "${lines}" @ONLY)
  install(CODE "execute_process(COMMAND ${command} \"${list}\" \"${SKBUILD_METADATA_DIR}/sboms\"
    COMMAND_ERROR_IS_FATAL ANY)")
endfunction()

# The folder of the nearest pyproject.toml at or above the current one, else the top of the CMake project.
function(_cuda_wheel_project_root out)
  set(folder "${CMAKE_CURRENT_SOURCE_DIR}")
  while(NOT EXISTS "${folder}/pyproject.toml")
    cmake_path(GET folder PARENT_PATH parent)
    if(parent STREQUAL folder)
      set(folder "${CMAKE_SOURCE_DIR}")
      break()
    endif()
    set(folder "${parent}")
  endwhile()
  set(${out} "${folder}" PARENT_SCOPE)
endfunction()

function(_cuda_wheel_relative out root)
  set(paths)
  foreach(path IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH path BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
    cmake_path(RELATIVE_PATH path BASE_DIRECTORY "${root}")
    list(APPEND paths "${path}")
  endforeach()
  set(${out} "${paths}" PARENT_SCOPE)
endfunction()

# Append `"key": value` as JSON to the list `out`; nothing where there is no value.
function(_cuda_wheel_member out key kind value)
  if(value STREQUAL "")
    return()
  endif()
  set(quoted)
  foreach(item IN LISTS value)
    string(REPLACE "\\" "\\\\" item "${item}")
    string(REPLACE "\"" "\\\"" item "${item}")
    if(kind STREQUAL "DEFINES")
      if(item MATCHES "^([^=]+)=(.*)$")
        list(APPEND quoted "\"${CMAKE_MATCH_1}\": \"${CMAKE_MATCH_2}\"")
      else()
        list(APPEND quoted "\"${item}\": true")
      endif()
    else()
      list(APPEND quoted "\"${item}\"")
    endif()
  endforeach()
  list(JOIN quoted ", " quoted)
  if(kind STREQUAL "LIST")
    set(quoted "[${quoted}]")
  elseif(kind STREQUAL "DEFINES")
    set(quoted "{${quoted}}")
  endif()
  set(${out} ${${out}} "\"${key}\": ${quoted}" PARENT_SCOPE)
endfunction()

cmake_policy(POP)
