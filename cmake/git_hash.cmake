# Writes OUTPUT with the abbreviated commit of SOURCE_DIR as a string literal: the last one that changed
# more than documents, pages of results and tests that no page runs, so that pages which a program made can
# be committed, and others made beside them, by the program of the same commit. (The two pages that count what
# unit tests notice name these apart.) With -dirty where such files differ from it or are not in git at all,
# unless it ignores them.
set(program_files -- . ":(exclude)*.md" ":(exclude)results" ":(exclude).github" ":(exclude)scripts/tessera_site")
foreach(tests browser compile_fail consumer docs fuzz/corpus house package scripts unit)
  list(APPEND program_files ":(exclude)tests/${tests}")
endforeach()
execute_process(COMMAND git log -1 --format=%H ${program_files}
  WORKING_DIRECTORY ${SOURCE_DIR} OUTPUT_VARIABLE hash ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
if(hash)
  string(SUBSTRING ${hash} 0 12 hash)
  # Without optional locks it may run beside another git.
  execute_process(COMMAND git --no-optional-locks status --porcelain --untracked-files=normal ${program_files}
    WORKING_DIRECTORY ${SOURCE_DIR} RESULT_VARIABLE failed OUTPUT_VARIABLE changed ERROR_QUIET)
  if(failed OR changed)
    string(APPEND hash "-dirty")
  endif()
else()
  set(hash unknown)
endif()
set(text "\"${hash}\"\n")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} old)
endif()
if(NOT "${text}" STREQUAL "${old}")
  file(WRITE ${OUTPUT} "${text}")
endif()
