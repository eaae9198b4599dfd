# kolk_program, at the end of this file, builds each program of tests/ and fuzz/. The needs of a program depend on
#  - its folder: programs of tests/cli get the files of cli/, those of tests/pq, sqlite and tcp get the adapter, and all others
#    get the library;
#  - its functions: a function called __wrap_X takes the place of X (ld's --wrap), in the program and in the library. It may be in
#    a header that the program includes by a path from its own folder;
#  - this table: a program with a row, and the whole library that it is linked with, are compiled with these definitions.
#    (KOLK_NO_FUTEX changes one file, so the program has that file, and the library is the usual one.) Options are for the program
#    only.
set(kolk_definitions
  "fuzz_pool                       KOLK_GENERATION_MAX=7"
  "fuzz_slotmap                    KOLK_GENERATION_MAX=7"
  "test_cancel_portable            KOLK_NO_FUTEX=1"
  "test_debug_quarantine           KOLK_GENERATION_MAX=3"
  "test_exact_slot                 -O2 -fwrapv"
  "test_heap_forks                 KOLK_CHAOS=1"
  "test_heap_nursery_forks         KOLK_CHAOS=1"
  "test_heap_guarded_forks         KOLK_CHAOS=1"
  "test_heap_large_steps           KOLK_CHAOS=1"
  "test_heap_many_threads          KOLK_CHAOS=1"
  "test_heap_schedules             KOLK_SCHEDULED=1"
  "test_no_diagnostics             KOLK_NO_DIAGNOSTICS=1 KOLK_GENERATION_MAX=7"
  "test_pool_exhaustive_worn       KOLK_GENERATION_MAX=1"
  "test_pool_generations           KOLK_GENERATION_MAX=7"
  "test_pool_model_small           KOLK_NO_DIAGNOSTICS=1 KOLK_GENERATION_MAX=7"
  "test_pool_model_worn            KOLK_GENERATION_MAX=3"
  "test_pool_snapshot_worn         KOLK_GENERATION_MAX=7"
  "test_pool_static_small          KOLK_NO_DIAGNOSTICS=1 KOLK_GENERATION_MAX=7"
  "test_queue_histories_chaos      KOLK_CHAOS=1"
  "test_queue_schedules            KOLK_SCHEDULED=1"
  "test_queue_threads_chaos        KOLK_CHAOS=1"
  "test_resource_forks             KOLK_CHAOS=1"
  "test_resource_makers_schedules  KOLK_SCHEDULED=1"
  "test_resource_schedules         KOLK_SCHEDULED=1"
  "test_resource_threads_chaos     KOLK_CHAOS=1"
  "test_schedule                   KOLK_SCHEDULED=1"
  "test_shared_death_chaos         KOLK_CHAOS=1"
  "test_shared_debug_forks         KOLK_CHAOS=1"
  "test_shared_debug_threads_chaos KOLK_CHAOS=1"
  "test_shared_forks               KOLK_CHAOS=1"
  "test_shared_histories_chaos     KOLK_CHAOS=1"
  "test_shared_hooks_forks         KOLK_CHAOS=1"
  "test_shared_hooks_threads_chaos KOLK_CHAOS=1"
  "test_shared_later_schedules     KOLK_SCHEDULED=1"
  "test_shared_schedules           KOLK_SCHEDULED=1"
  "test_shared_threads_chaos       KOLK_CHAOS=1"
  "test_shared_wait_schedules      KOLK_SCHEDULED=1"
  "test_shared_wait_threads_chaos  KOLK_CHAOS=1"
  "test_slotmap_exhaustive_worn    KOLK_GENERATION_MAX=1"
  "test_slotmap_model_small        KOLK_NO_DIAGNOSTICS=1 KOLK_GENERATION_MAX=7"
  "test_slotmap_model_worn         KOLK_GENERATION_MAX=3"
  "test_slotmap_snapshot_worn      KOLK_GENERATION_MAX=7"
  "test_wait_portable              KOLK_NO_FUTEX=1"
)
foreach(row IN LISTS kolk_definitions)
  string(REGEX REPLACE " .*" "" name "${row}")
  file(GLOB found "${PROJECT_SOURCE_DIR}/tests/*/${name}.c" "${PROJECT_SOURCE_DIR}/fuzz/${name}.c")
  if(NOT found)
    message(SEND_ERROR "tests/programs.cmake has a row for ${name}, and there is no such file.")
  endif()
endforeach()

# make test leaves these to make matrix, because they take long, or need what few machines have: devices, browsers and emscripten;
# headers alone, kolk.hpp, the two files and the manuals' programs in many dialects, and Microsoft's compiler; threads that are
# interrupted at random, and races; sanitizers and memcheck; mistakes, each compiled or run; all states of the model; a long soak; the
# doctor with tools that hang; advice; faults of PostgreSQL, and TLS; servers, forks, limits and glibc's tests under kolk's malloc;
# packages, and what an installation has; other languages; gdb.
set(kolk_long "_chaos$|^build_(abi|device.*|cxx|two_files|printed|manuals|msvc|sites|stacks|unity|freestanding|headers|mistakes|copies|unload|gdb)$|^web_")
string(APPEND kolk_long "|^cli_(page|doctor|advise.*|heaptrack|bench|soak|completion)$|^record_advice$|^test_cli_doctor$")
string(APPEND kolk_long "|^tools_|^misuse$|^model_|^test_pq_(faults|tls)$|^preload_(run|sandbox|servers|glibc|forks|limits)$|^packaging_|^bindings_|^example_metrics")

# Is the test of this name left out? Writes down those that make test leaves to make matrix.
function(kolk_leaves_out result name)
  set(${result} OFF PARENT_SCOPE)
  if(name MATCHES "${KOLK_TESTS_WITHOUT}" OR (KOLK_TESTS STREQUAL long AND NOT name MATCHES "${kolk_long}"))
    set(${result} ON PARENT_SCOPE)
  elseif(KOLK_TESTS STREQUAL short AND name MATCHES "${kolk_long}")
    set(${result} ON PARENT_SCOPE)
    set_property(GLOBAL APPEND PROPERTY kolk_left ${name})
  endif()
endfunction()

# Returns the X of all functions __wrap_X in the FILES, in the files that they include by a path from their own folder, and so on.
# Files whose names end in _windows.h or _posix.h are read only where they are included.
function(kolk_replaced result)
  set(elsewhere "_windows\\.h$")
  if(WIN32)
    set(elsewhere "_posix\\.h$")
  endif()
  set(files ${ARGN})
  set(known)
  set(names)
  while(files)
    list(POP_FRONT files at)
    list(APPEND known "${at}")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${at}")
    cmake_path(GET at PARENT_PATH folder)
    file(READ "${at}" text)
    string(REGEX MATCHALL "__wrap_[A-Za-z0-9_]+" wraps "${text}")
    list(APPEND names ${wraps})
    string(REGEX MATCHALL "#include \"[^\"]+" includes "${text}")
    foreach(path IN LISTS includes)
      string(REPLACE "#include \"" "" path "${path}")
      cmake_path(ABSOLUTE_PATH path BASE_DIRECTORY "${folder}" NORMALIZE)
      if(EXISTS "${path}" AND NOT path IN_LIST known AND NOT path MATCHES "${elsewhere}")
        list(APPEND files "${path}")
      endif()
    endforeach()
    list(REMOVE_DUPLICATES files)
  endwhile()
  list(REMOVE_DUPLICATES names)
  list(TRANSFORM names REPLACE "^__wrap_" "")
  set(${result} ${names} PARENT_SCOPE)
endfunction()

# Returns those of the given functions that only the library's own files call: no header of include/ has them.
file(GLOB kolk_headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/kolk/*.h")
set(kolk_declared)
foreach(header IN LISTS kolk_headers)
  file(READ "${header}" text)
  string(APPEND kolk_declared "${text}")
endforeach()
function(kolk_inside result)
  set(inside)
  foreach(name IN LISTS ARGN)
    string(FIND "${kolk_declared}" "${name}(" at)
    if(name MATCHES "^kolk_" AND (at EQUAL -1 OR name STREQUAL "kolk_stack_text")) # kolk itself calls this one as well
      list(APPEND inside ${name})
    endif()
  endforeach()
  set(${result} ${inside} PARENT_SCOPE)
endfunction()

# The library, compiled with definitions, as one file, which takes half the time. With KOLK_TWO_FILES, the file is kolk.c;
# otherwise, or with from_src, it is one that includes src/. Programs that replace functions within the library need those
# functions in separate files, and base.c as well, which emits what other files only use.
function(kolk_library_with definitions from_src options result)
  if(KOLK_TWO_FILES AND NOT from_src)
    string(MAKE_C_IDENTIFIER "kolk-with-two-files-${definitions}" library)
  else()
    string(MAKE_C_IDENTIFIER "kolk-with-${definitions}" library)
  endif()
  set(${result} ${library} PARENT_SCOPE)
  if(TARGET ${library})
    return()
  endif()
  if(library MATCHES "two_files")
    add_library(${library} STATIC EXCLUDE_FROM_ALL ${kolk_compiled})
    target_include_directories(${library} PUBLIC "${kolk_includes}")
    target_compile_options(${library} PRIVATE ${kolk_weak_sites})
  else()
    add_library(${library} STATIC EXCLUDE_FROM_ALL ${kolk_sources})
    target_include_directories(${library} PUBLIC "${PROJECT_SOURCE_DIR}/include")
    target_compile_options(${library} PRIVATE -Wno-shadow)
    set_target_properties(${library} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
    set(apart os/memory.c os/thread.c)
    if(KOLK_TWO_FILES) # then this also serves programs that otherwise have a library of single files
      file(GLOB apart CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/src/os/*.c")
      list(APPEND apart core/tools.c)
    endif()
    list(TRANSFORM apart PREPEND "${PROJECT_SOURCE_DIR}/src/")
    set_source_files_properties("${PROJECT_SOURCE_DIR}/src/base/base.c" "${PROJECT_SOURCE_DIR}/src/watch/sites.c" ${apart}
      PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
  if(definitions MATCHES "KOLK_GENERATION_MAX")
    target_compile_options(${library} PRIVATE "SHELL:-include \"${PROJECT_SOURCE_DIR}/tests/help/generations.h\"")
    list(REMOVE_ITEM definitions KOLK_GENERATION_MAX)
  endif()
  target_compile_definitions(${library} PUBLIC KOLK_BUILD ${definitions} PRIVATE _GNU_SOURCE _FILE_OFFSET_BITS=64)
  target_compile_options(${library} PRIVATE ${options})
endfunction()

# Makes the program NAME of the SOURCES and a LIBRARY: kolk-static, kolk-cli or an adapter. The program is left out where that
# library can't be built, and if its test is left out.
function(kolk_program name library)
  kolk_leaves_out(out ${name})
  if(out OR NOT TARGET ${library})
    return()
  endif()
  set(sources ${ARGN})
  set(definitions ${kolk_definitions})
  list(FILTER definitions INCLUDE REGEX "^${name} ")
  string(REGEX REPLACE "^${name} +" "" definitions "${definitions}")
  separate_arguments(definitions)
  set(own_options ${definitions})
  list(FILTER own_options INCLUDE REGEX "^-")
  list(FILTER definitions EXCLUDE REGEX "^-")
  kolk_replaced(replaced ${sources})
  set(options ${replaced})
  list(TRANSFORM options PREPEND "-Wl,--wrap=")

  # The compiler sees the two files as one: programs that replace functions within the library are built with that of src/.
  set(from_src OFF)
  if(KOLK_TWO_FILES AND library STREQUAL "kolk-static")
    kolk_inside(inside ${replaced})
    if(definitions MATCHES "KOLK_SCHEDULED|KOLK_CHAOS") # some of these replace functions: one library is enough for all
      set(from_src ON)
    elseif("kolk_stack_text" IN_LIST inside)
      list(REMOVE_ITEM inside kolk_stack_text)
      list(APPEND options -Wl,--defsym=kolk_stack_text=__wrap_kolk_stack_text)
    endif()
    if(inside)
      message(STATUS "${name} has the library from src/, not from the two files, as it replaces within: ${inside}")
      set(from_src ON)
    endif()
    list(GET sources 0 first)
    file(STRINGS "${first}" reads_within REGEX "^#define KOLK_BASE_INLINE")
    if(reads_within)
      message(STATUS "${name} has the library from src/, not from the two files: with KOLK_EXTERN, kolk.h lacks what src/ includes")
      set(from_src ON)
    endif()
  endif()

  set(library_definitions ${definitions})
  if(definitions MATCHES "KOLK_GENERATION_MAX=([0-9]+)") # the library asks the program for the number, so one library serves all
    file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/generations/${CMAKE_MATCH_1}.c"
      CONTENT "#include \"${PROJECT_SOURCE_DIR}/tests/help/generations.h\"\nconst unsigned kolk_generation_max = ${CMAKE_MATCH_1};\n")
    list(APPEND sources "${PROJECT_BINARY_DIR}/generations/${CMAKE_MATCH_1}.c")
    list(TRANSFORM library_definitions REPLACE "^KOLK_GENERATION_MAX=.*" KOLK_GENERATION_MAX)
  endif()
  if(definitions MATCHES "KOLK_NO_FUTEX")
    list(APPEND sources "${PROJECT_SOURCE_DIR}/src/os/sleep.c")
    set(library_definitions)
    set(from_src ${KOLK_TWO_FILES})
  endif()
  if(library_definitions OR from_src)
    kolk_library_with("${library_definitions}" ${from_src} "${KOLK_TEST_OPTIONS}" library)
  endif()
  add_executable(${name} ${sources})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/src")
  target_compile_definitions(${name} PRIVATE ${definitions})
  target_compile_options(${name} PRIVATE ${KOLK_TEST_OPTIONS} ${own_options})
  if(definitions MATCHES "KOLK_SCHEDULED") # it contains the scheduler, which takes millions of steps
    target_compile_options(${name} PRIVATE -O2)
  endif()
  target_link_options(${name} PRIVATE ${options})
  target_link_libraries(${name} PRIVATE ${library})
  if(WIN32) # for what it has of POSIX
    target_link_libraries(${name} PRIVATE kolk-cmocka)
  endif()
endfunction()
