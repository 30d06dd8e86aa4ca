# cuda_wheel_add_module(
#   TARGET name                     the name of the CMake target, and the last part of the module's dotted name
#   DESTINATION pkg/kernels         the installation folder, which gives the first parts of the dotted name
#   SOURCES file.cu ...             also .ll, .bc, .ptx, .ltoir, .cubin, .fatbin, .o, .a; several sources need LINK
#   [ARCHITECTURES 80-real 90 ...]  default: CMAKE_CUDA_ARCHITECTURES, then pyproject.toml, then "default"; CUDAARCHS
#                                   replaces all but the a and f targets that are listed here
#   [INCLUDE_DIRECTORIES dir ...] [DEFINES NAME[=VALUE] ...] [OPTIONS option ...] [STD c++17]
#   [SYSTEM_INCLUDE_DIRECTORIES dir ...] [MISSING_HEADERS "Eigen/*" ...]
#   [INSTANTIATE "gemm<float, 16>" ...] [INSTANCES "*<float*" ...] [LINK lto|ptx] [HOST_CODE leave-out]
#   [EXTERN function ...] [EXTERN_DEFAULT file.cu ...] [RELOCATABLE])
#
# Compile a CUDA module to NAME.fatbin and NAME.fatbin.json, and install both. The defaults of the settings come from
# [tool.cuda-wheel] in the pyproject.toml of the nearest parent folder. The project need not enable any CMake language. If
# the first source is in a package whose __init__.py attaches the kernels, the package's type stub is installed too, with a
# py.typed. A table of tuned choices beside the first source, NAME.tuned.json, is checked and installed.

include_guard(GLOBAL)
cmake_policy(PUSH)
cmake_policy(VERSION 3.20...3.31)

function(cuda_wheel_add_module)
  set(one TARGET DESTINATION STD LINK HOST_CODE)
  set(many SOURCES ARCHITECTURES INCLUDE_DIRECTORIES SYSTEM_INCLUDE_DIRECTORIES MISSING_HEADERS DEFINES OPTIONS INSTANTIATE
    INSTANCES EXTERN EXTERN_DEFAULT)
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
  if(root MATCHES ";")
    message(FATAL_ERROR "cuda_wheel_add_module: CMake splits the path ${root} at the ';'. Build in another folder.")
  endif()
  set(sources)
  foreach(source IN LISTS arg_SOURCES arg_EXTERN_DEFAULT)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
    if(NOT EXISTS "${source}")
      message(FATAL_ERROR "cuda_wheel_add_module(TARGET ${arg_TARGET}): the source ${source} does not exist.")
    endif()
    list(APPEND sources "${source}")
  endforeach()
  foreach(folder IN LISTS arg_INCLUDE_DIRECTORIES)
    cmake_path(ABSOLUTE_PATH folder BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
    if(NOT IS_DIRECTORY "${folder}")
      message(FATAL_ERROR "cuda_wheel_add_module(TARGET ${arg_TARGET}): the folder ${folder} does not exist.")
    endif()
  endforeach()
  _cuda_wheel_relative(relative_sources "${root}" ${arg_SOURCES})
  _cuda_wheel_relative(relative_defaults "${root}" ${arg_EXTERN_DEFAULT})
  _cuda_wheel_relative(include_dirs "${root}" ${arg_INCLUDE_DIRECTORIES})
  # "$NAME/include" stays as it is: the build expands environment variables.
  set(system_dirs)
  foreach(folder IN LISTS arg_SYSTEM_INCLUDE_DIRECTORIES)
    if(NOT folder MATCHES "^[$]" AND NOT IS_ABSOLUTE "${folder}")
      _cuda_wheel_relative(folder "${root}" "${folder}")
    endif()
    list(APPEND system_dirs "${folder}")
  endforeach()
  string(REGEX REPLACE "/+$" "" destination "${arg_DESTINATION}")
  string(REPLACE "/" "." package "${destination}")
  set(stem "${CMAKE_CURRENT_BINARY_DIR}/cuda-wheel/${destination}/${arg_TARGET}")

  set(table)
  _cuda_wheel_member(table name STRING "${package}.${arg_TARGET}")
  _cuda_wheel_member(table sources LIST "${relative_sources}")
  _cuda_wheel_member(table include-dirs LIST "${include_dirs}")
  _cuda_wheel_member(table system-include-dirs LIST "${system_dirs}")
  _cuda_wheel_member(table missing-headers LIST "${arg_MISSING_HEADERS}")
  _cuda_wheel_member(table architectures LIST "${arg_ARCHITECTURES}")
  _cuda_wheel_member(table defines DEFINES "${arg_DEFINES}")
  _cuda_wheel_member(table options LIST "${arg_OPTIONS}")
  _cuda_wheel_member(table instantiate LIST "${arg_INSTANTIATE}")
  _cuda_wheel_member(table instances LIST "${arg_INSTANCES}")
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
  _cuda_wheel_member(settings file STRING "${CMAKE_CURRENT_LIST_FILE}")
  _cuda_wheel_member(settings output STRING "${CMAKE_CURRENT_BINARY_DIR}/cuda-wheel")
  _cuda_wheel_member(settings depfile STRING "${stem}.d")
  list(JOIN table ",\n  " table)
  list(APPEND settings "\"module\": {\n  ${table}\n }")
  list(JOIN settings ",\n " settings)
  # The file is written only if its content changes, so that configuring again does not recompile anything.
  set(recorded "${stem}.cuda-wheel.json")
  file(CONFIGURE OUTPUT "${recorded}" CONTENT "{\n ${settings}\n}\n" @ONLY)
  if(SKBUILD_STATE STREQUAL "editable")
    # An editable installation compiles the module on load, with these settings.
    add_custom_target("${arg_TARGET}")
    install(FILES "${recorded}" DESTINATION "${destination}")
    return()
  endif()

  string(TOLOWER "${package}.${arg_TARGET}" folded)
  get_property(other GLOBAL PROPERTY "cuda_wheel_name_${folded}")
  if(other AND NOT other STREQUAL "${package}.${arg_TARGET}")
    message(FATAL_ERROR "cuda_wheel_add_module: ${package}.${arg_TARGET} and ${other} would be the same file on a "
      "case-insensitive file system, as on Windows and macOS: rename one of them.")
  endif()
  set_property(GLOBAL PROPERTY "cuda_wheel_name_${folded}" "${package}.${arg_TARGET}")

  set(built "${CMAKE_CURRENT_BINARY_DIR}/cuda-wheel")
  set(outputs "${stem}.fatbin" "${stem}.fatbin.json")
  set(part "${stem}.cdx.json")
  list(GET sources 0 first)
  cmake_path(REPLACE_FILENAME first "${arg_TARGET}.tuned.json" OUTPUT_VARIABLE tuned)
  # So that CMake configures again once there is a table, or no longer is.
  file(GLOB ignored CONFIGURE_DEPENDS "${tuned}")
  if(EXISTS "${tuned}")
    list(APPEND outputs "${stem}.tuned.json")
  else()
    set(tuned)
  endif()
  set(pyproject)
  if(EXISTS "${root}/pyproject.toml")
    set(pyproject "${root}/pyproject.toml")
  endif()
  add_custom_command(
    OUTPUT ${outputs} "${part}"
    COMMAND "${Python_EXECUTABLE}" -m cuda_wheel.cmake build "${recorded}"
    DEPENDS "${recorded}" ${sources} ${pyproject} ${tuned}
    DEPFILE "${stem}.d"
    # Python imports modules from its working directory first. This folder contains only images, whereas the build folder
    # may be the project's folder.
    WORKING_DIRECTORY "${built}"
    COMMENT "Compiling CUDA module ${package}.${arg_TARGET}"
    VERBATIM)
  add_custom_target("${arg_TARGET}" ALL DEPENDS ${outputs})
  install(FILES ${outputs} DESTINATION "${destination}")
  # A package that attaches its kernels gets a type stub, which is written at install time, after all modules are built.
  cmake_path(REPLACE_FILENAME first "__init__.py" OUTPUT_VARIABLE init)
  if(EXISTS "${init}")
    set_property(GLOBAL APPEND PROPERTY "cuda_wheel_${package}" "${package}.${arg_TARGET}")
    get_property(names GLOBAL PROPERTY "cuda_wheel_${package}")
    list(JOIN names " " names)
    install(CODE "execute_process(COMMAND [==[${Python_EXECUTABLE}]==] -m cuda_wheel.cmake stub [==[${root}]==]
      [==[${built}]==] [==[${init}]==] ${names} WORKING_DIRECTORY [==[${built}]==] COMMAND_ERROR_IS_FATAL ANY)
    # The stub of a package with several modules is installed again for each. CMake takes files for equal whose times
    # differ by less than a second.
    if(EXISTS [==[${built}/${destination}/__init__.pyi]==])
      file(REMOVE \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${destination}/__init__.pyi\")
    endif()")
    install(FILES "${built}/${destination}/__init__.pyi" "${built}/${destination}/py.typed" DESTINATION "${destination}"
      OPTIONAL)
  endif()
  # With loader = "vendor" the package contains the loader too.
  string(REGEX REPLACE "/.*" "" top "${destination}")
  install(DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/cuda-wheel/${top}/_cuda_wheel" DESTINATION "${top}" OPTIONAL
    FILES_MATCHING PATTERN "*.py" PATTERN "py.typed")
  # scikit-build-core provides a folder for the wheel's metadata. One SBOM of all modules is installed there.
  if(SKBUILD_METADATA_DIR)
    get_property(parts GLOBAL PROPERTY cuda_wheel_parts)
    if(NOT parts)
      cmake_language(DEFER DIRECTORY "${CMAKE_SOURCE_DIR}" CALL _cuda_wheel_install_sbom)
      set_property(GLOBAL PROPERTY cuda_wheel_sbom "[==[${Python_EXECUTABLE}]==] -m cuda_wheel.cmake sbom [==[${root}]==]")
      set_property(GLOBAL PROPERTY cuda_wheel_built "${built}")
    endif()
    set_property(GLOBAL APPEND PROPERTY cuda_wheel_parts "${part}")
  endif()
endfunction()

function(_cuda_wheel_install_sbom)
  get_property(command GLOBAL PROPERTY cuda_wheel_sbom)
  get_property(parts GLOBAL PROPERTY cuda_wheel_parts)
  get_property(built GLOBAL PROPERTY cuda_wheel_built)
  list(JOIN parts "\n" lines)
  file(WRITE "${built}/parts.txt" "${lines}")
  install(CODE "execute_process(COMMAND ${command} [==[${built}/parts.txt]==] [==[${SKBUILD_METADATA_DIR}/sboms]==]
    WORKING_DIRECTORY [==[${built}]==] COMMAND_ERROR_IS_FATAL ANY)")
endfunction()

# Set `out` to the nearest parent folder that contains a pyproject.toml (the current folder included), or else to the top
# folder of the CMake project.
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

# Append `"key": value` as JSON to the list `out`, unless the value is empty.
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
