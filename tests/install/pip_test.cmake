# Installs with pip, without a network, from the operators that BUILD holds. Arguments: SOURCE of the
# project, BUILD folder, WORK folder (made anew), PYTHON.
file(REMOVE_RECURSE ${WORK})

function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

run(${PYTHON} -m pip install --no-index --no-deps --disable-pip-version-check
  --config-settings build-dir=${BUILD} --target ${WORK} ${SOURCE})
run(${CMAKE_COMMAND} -E env PYTHONPATH=${WORK}
  ${PYTHON} ${SOURCE}/tests/install/check_package.py ${WORK})
