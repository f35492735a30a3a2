# Several sources as one, which parse headers and instantiate templates once: such targets build in a half to two thirds of the time.
# A change compiles the neighbours of its file as well, so preset dev has none. The sources of such a target must not use a name twice, not even in
# unnamed namespaces.
option(POPRT_UNITY "Compile several sources of a target as one" OFF)

# poprt_unity(TARGET SOURCES): so many of its sources are one: as many as do not use a name twice, sixteen at the most.
function(poprt_unity target sources)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${POPRT_UNITY} UNITY_BUILD_BATCH_SIZE ${sources})
endfunction()
