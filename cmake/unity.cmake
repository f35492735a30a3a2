# Compiles several sources as one, so that headers are parsed and templates instantiated once. Such targets build in a
# half to two thirds of the time. A change also recompiles the neighbours of its file, so preset dev does not use it.
# The sources of such a target must not use a name twice, even in unnamed namespaces.
option(POPRT_UNITY "Compile several sources of a target as one" OFF)

# For code that runs rarely (commands, logs, drawing): clang only inlines functions that are about as short as a call,
# which reduces compile time to four fifths.
set(POPRT_INLINE_LESS
  "$<$<AND:$<CONFIG:Release>,$<COMPILE_LANG_AND_ID:CXX,Clang>>:SHELL:-mllvm -inline-threshold=25>")

# poprt_unity(TARGET) compiles 64 sources of the target as one if POPRT_UNITY is on. The largest such unit takes half a
# minute of a processor and 1 GB of memory.
function(poprt_unity target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${POPRT_UNITY} UNITY_BUILD_BATCH_SIZE 64)
  if(POPRT_UNITY)  # see poprt_name_no_folder
    target_compile_options(${target} PRIVATE -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)
  endif()
endfunction()
