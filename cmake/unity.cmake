# Several sources as one, which parse headers and instantiate templates once: such targets build in a half to two thirds of the time.
# A change compiles the neighbours of its file as well, so preset dev has none. The sources of such a target must not use a name twice, not even in
# unnamed namespaces.
option(POPRT_UNITY "Compile several sources of a target as one" OFF)

# For what runs seldom (commands, logs, drawing): clang inlines only what is hardly longer than a call, and takes four fifths of the
# time to compile it.
set(POPRT_INLINE_LESS
  "$<$<AND:$<CONFIG:Release>,$<COMPILE_LANG_AND_ID:CXX,Clang>>:SHELL:-mllvm -inline-threshold=25>")

# poprt_unity(TARGET): 64 of its sources are one. The largest such takes half a minute of a processor and 1 GB of memory.
function(poprt_unity target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${POPRT_UNITY} UNITY_BUILD_BATCH_SIZE 64)
  if(POPRT_UNITY)  # see poprt_name_no_folder
    target_compile_options(${target} PRIVATE -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)
  endif()
endfunction()
