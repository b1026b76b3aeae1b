# cmake -DALLOMON=command -DGZIP=gzip -DFOLDER=folder -P write_command_texts.cmake
#
# Writes man1/ and completions/, by asking the command, and `written` at the end.
file(REMOVE_RECURSE "${FOLDER}")
file(MAKE_DIRECTORY "${FOLDER}/man1" "${FOLDER}/completions")

function(write_text file)
  execute_process(COMMAND "${ALLOMON}" help ${ARGN} OUTPUT_FILE "${FOLDER}/${file}"
    COMMAND_ERROR_IS_FATAL ANY)
endfunction()

execute_process(COMMAND "${ALLOMON}" help --names OUTPUT_VARIABLE commands
  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE "\n" ";" commands "${commands}")
write_text(man1/allomon.1 --man)
foreach(command IN LISTS commands)
  write_text(man1/allomon-${command}.1 --man ${command})
endforeach()
foreach(shell IN ITEMS bash zsh fish)
  write_text(completions/${shell} --completion=${shell})
endforeach()

# Debian wants pages compressed, without a name or a time in the file.
if(GZIP)
  file(GLOB pages "${FOLDER}/man1/*.1")
  execute_process(COMMAND "${GZIP}" -9n ${pages} COMMAND_ERROR_IS_FATAL ANY)
endif()
file(TOUCH "${FOLDER}/written")
