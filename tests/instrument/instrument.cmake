# Instruments TO/NAME.cpp, a copy of FROM/NAME.cpp, and makes TO/NAME_asked.cpp of it. A file that would
# not change keeps its time, so that it is not compiled again.
# STATUS: the exit status that is expected, 0 unless it says otherwise; 5 where the sources raise questions.
if(NOT DEFINED STATUS)
  set(STATUS 0)
endif()
set(work ${TO}/${NAME}.work)
file(MAKE_DIRECTORY ${work})
file(COPY ${FROM}/${NAME}.cpp DESTINATION ${work} NO_SOURCE_PERMISSIONS)
execute_process(
  COMMAND ${FLOR} --home ${work}/home instrument --apply ${NAME}.cpp
  WORKING_DIRECTORY ${work}
  ERROR_VARIABLE said
  RESULT_VARIABLE status)
if(NOT status EQUAL STATUS)
  message(FATAL_ERROR "flor instrument --apply ${NAME}.cpp: ${status}\n${said}")
endif()
execute_process(
  COMMAND sed -E "s|// here: (.*)|flor::log(\"asked\", \\1);|" ${work}/${NAME}.cpp
  OUTPUT_FILE ${work}/${NAME}_asked.cpp COMMAND_ERROR_IS_FATAL ANY)
foreach(file ${NAME}.cpp ${NAME}_asked.cpp)
  execute_process(COMMAND ${CMAKE_COMMAND} -E copy_if_different ${work}/${file} ${TO}/${file}
                  COMMAND_ERROR_IS_FATAL ANY)
endforeach()
file(TOUCH ${TO}/${NAME}.stamp)
