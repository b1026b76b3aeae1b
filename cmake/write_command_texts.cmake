# cmake -DALLOMON=command -DMLPROF=command -DPROF=command -DGZIP=gzip -DFOLDER=folder
#   [-DEMULATOR=command;argument...] -P write_command_texts.cmake
#
# Writes man1/ and completions/, by asking the commands, and `written` at the end.
file(REMOVE_RECURSE "${FOLDER}")
file(MAKE_DIRECTORY "${FOLDER}/man1" "${FOLDER}/completions")

function(write_text file)
  execute_process(COMMAND ${EMULATOR} "${ALLOMON}" help ${ARGN} OUTPUT_FILE "${FOLDER}/${file}"
    COMMAND_ERROR_IS_FATAL ANY)
endfunction()

execute_process(COMMAND ${EMULATOR} "${ALLOMON}" help --names OUTPUT_VARIABLE commands
  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE "\n" ";" commands "${commands}")
write_text(man1/allomon.1 --man)
foreach(command IN LISTS commands)
  write_text(man1/allomon-${command}.1 --man ${command})
endforeach()
foreach(shell IN ITEMS bash zsh fish)
  write_text(completions/${shell} --completion=${shell})
endforeach()

# MLton's command and System V's have no pages of their own: what --help says is one.
function(write_help_page command name summary)
  execute_process(COMMAND ${EMULATOR} "${command}" --help OUTPUT_VARIABLE text
    COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\\" "\\e" text "${text}")
  string(REPLACE "-" "\\-" text "${text}")
  # A line that begins with a dot or a quote would be a request of roff's.
  string(REPLACE "\n." "\n\\&." text "${text}")
  string(REPLACE "\n'" "\n\\&'" text "${text}")
  string(TOUPPER "${name}" title)
  file(WRITE "${FOLDER}/man1/${name}.1" ".TH ${title} 1\n.SH NAME\n${name} \\- ${summary}\n"
    ".SH SYNOPSIS\n.nf\n${text}.fi\n.SH SEE ALSO\n.BR allomon (1)\n")
endfunction()
write_help_page("${MLPROF}" mlprof "show what mlmon.out says, as MLton's command does")
write_help_page("${PROF}" prof "show what mon.out says, as System V's command does")

# Debian wants pages compressed, without a name or a time in the file.
if(GZIP)
  file(GLOB pages "${FOLDER}/man1/*.1")
  execute_process(COMMAND "${GZIP}" -9n ${pages} COMMAND_ERROR_IS_FATAL ANY)
endif()
file(TOUCH "${FOLDER}/written")
