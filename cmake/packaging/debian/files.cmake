# Run by CPack before it packs: what Debian wants otherwise than `cmake --install` leaves it.
if(NOT CPACK_GENERATOR STREQUAL DEB)
  return()
endif()

# compress(FILE): in place, without a name or time in it.
function(compress file)
  execute_process(COMMAND gzip -9 -n ${file} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(GLOB pages ${CPACK_TEMPORARY_DIRECTORY}/program/usr/share/man/man1/*.1)
foreach(page IN LISTS pages)
  compress(${page})
endforeach()

# That of the commit, which scripts/package says.
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
set(names program:tessera development:tessera-dev)
foreach(name IN LISTS names)
  string(REPLACE ":" ";" name ${name})
  list(POP_FRONT name component package)
  set(documents ${CPACK_TEMPORARY_DIRECTORY}/${component}/usr/share/doc/${package})
  file(MAKE_DIRECTORY ${documents})
  file(COPY ${CMAKE_CURRENT_LIST_DIR}/copyright DESTINATION ${documents})
  file(WRITE ${documents}/changelog
    "tessera (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium\n\n"
    "  * /usr/share/doc/tessera/CHANGELOG.md has what is new.\n\n"
    " -- ${CPACK_PACKAGE_CONTACT}  ${date}\n")
  compress(${documents}/changelog)
  file(REMOVE ${documents}/LICENSE)  # `copyright` says it
endforeach()
