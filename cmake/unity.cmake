# Several sources as one, which parse headers and instantiate templates once: half the time of a clean build. A change compiles
# the neighbours of its file as well, so preset dev has none. The sources of such a target must not use a name twice, not
# even in unnamed namespaces.
option(POPRT_UNITY "Compile several sources of a target as one" OFF)

# poprt_unity(TARGET [SOURCES_AT_ONCE])
function(poprt_unity target)
  if(POPRT_UNITY)
    set(batch 8)
    if(ARGC GREATER 1)
      set(batch ${ARGV1})
    endif()
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${batch})
  endif()
endfunction()
